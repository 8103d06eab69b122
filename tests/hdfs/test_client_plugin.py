# SPDX-License-Identifier: GPL-2.0-or-later
"""The client plug-in in the stock FsShell, with different libraries and endpoints.

Each run is an `hdfs dfs -cat` of one file on a live image, in a JVM of its own.  The bytes must
always be right.  The statistics file must say which way the bytes came, and why.
"""

import hashlib
import json
import os
import shutil
import subprocess
import time
import zipfile

import pytest

from tools.hdfs import HdfsCluster, jvm
from tools.hdfs.demo_data import REPOSITORY
from tools.hdfs.plug_in import BUILDER_ALONE, READER
from tools.vreadd import Vreadd

pytestmark = pytest.mark.hadoop

JAR = REPOSITORY / "build/java/vread-hdfs.jar"
LIBRARY = REPOSITORY / "build/release/libvread_jni.so"
BLOCK_SIZE = 1 << 20
SIZE = 3 * BLOCK_SIZE + 12345
BLOCKS = 4
FS_SHELL = "org.apache.hadoop.fs.FsShell"
# Other complaints of -Xcheck:jni are about native code of Hadoop and of the JDK.
JNI_COMPLAINTS = ("WARNING in native method", "FATAL ERROR in native method")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    directory = tmp_path_factory.mktemp("plugin")
    with HdfsCluster(
        directory / "c", block_size=BLOCK_SIZE, live=True, disk_mib=256, class_path=[JAR]
    ) as running:
        (directory / "local").write_bytes(os.urandom(SIZE))
        running.put(directory / "local", "/file")
        running.sync()
        running.digest = hashlib.sha256((directory / "local").read_bytes()).hexdigest()
        yield running


@pytest.fixture(scope="module")
def vreadd(cluster):
    with Vreadd(cluster.served()) as daemon:
        yield daemon


class Run:
    """One `hdfs dfs -cat`.  The constructor checks that it printed the file."""

    def __init__(self, cluster, directory, conf, options=(), class_path=None, env=None):
        statistics = directory / f"statistics-{time.monotonic_ns()}"
        conf = {
            **READER,
            "io.vread.timeout.ms": 60_000,  # a busy machine is slow
            "io.vread.statistics.file": f"{statistics}-%p.json",
        } | conf
        words = [word for item in conf.items() for word in ("-D", "=".join(map(str, item)))]
        command = jvm.java_command(
            class_path or cluster.class_path,
            FS_SHELL,
            [*words, "-cat", "/file"],
            options=[*jvm.SHORT_LIVED, *options],
        )
        done = subprocess.run(
            command, capture_output=True, timeout=300, env=os.environ | (env or {})
        )
        self.said = done.stderr.decode(errors="replace")
        # -Xcheck:jni writes to standard output, after the program's bytes.
        self.jni = done.stdout[SIZE:].decode(errors="replace")
        assert done.returncode == 0, self.said
        assert hashlib.sha256(done.stdout[:SIZE]).hexdigest() == cluster.digest
        files = list(directory.glob(f"{statistics.name}-*.json"))
        self.statistics = json.loads(files[0].read_text()) if files else None

    def by_vread(self):
        assert self.statistics["fallback"] == {"blocks": 0, "reasons": {}}, self.said
        assert self.statistics["vread"]["bytes"] == SIZE == self.statistics["hdfs"]["bytes"]
        assert self.statistics["vread"]["opens"] == BLOCKS
        assert "WARN hdfs" not in self.said

    def by_tcp(self, reasons):
        assert self.statistics["vread"] == {
            "opens": 0,
            "reads": 0,
            "bytes": 0,
            "failures": 0,
            "reasons": {},
        }
        assert self.statistics["fallback"] == {"blocks": BLOCKS, "reasons": reasons}, self.said
        assert self.statistics["hdfs"]["bytes"] == SIZE


@pytest.fixture
def cat(cluster, vreadd, tmp_path):
    def run(conf=None, options=(), class_path=None, env=None):
        conf = {"io.vread.endpoint": vreadd.endpoint} | (conf or {})
        return Run(cluster, tmp_path, conf, options, class_path, env)

    return run


def test_out_of_the_jar_and_checked_by_the_jvm(cat):
    run = cat(options=["-Xcheck:jni"])
    run.by_vread()
    assert run.statistics["library"] == "jar:/native/linux-x86_64/libvread_jni.so"
    assert not any(complaint in run.jni + run.said for complaint in JNI_COMPLAINTS)


def test_under_address_sanitizer(cat):
    runtime = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    # The JVM handles SIGSEGV itself, and does not free everything at its end.
    options = "handle_segv=0:allow_user_segv_handler=1:detect_leaks=0"
    run = cat(
        {"io.vread.library.path": REPOSITORY / "build/asan"},
        env={"LD_PRELOAD": runtime, "ASAN_OPTIONS": options},
    )
    run.by_vread()
    assert run.statistics["library"] == str(REPOSITORY / "build/asan/libvread_jni.so")
    assert "Sanitizer" not in run.said and "runtime error" not in run.said


def test_temporary_copies_are_gone(cat, tmp_path):
    cat(options=[f"-Djava.io.tmpdir={tmp_path}"]).by_vread()
    assert not list(tmp_path.glob("libvread_jni*"))


def test_configured_library(cat, tmp_path):
    other = tmp_path / "renamed.so"
    shutil.copy(LIBRARY, other)
    for path, loaded in ((other, other), (LIBRARY.parent, LIBRARY)):
        run = cat({"io.vread.library.path": path})
        run.by_vread()
        assert run.statistics["library"] == str(loaded)


def test_library_of_the_java_library_path(cat):
    run = cat({"io.vread.library.path": "/nowhere"}, [f"-Djava.library.path=/tmp:{LIBRARY.parent}"])
    run.by_vread()
    assert run.statistics["library"] == str(LIBRARY)


def test_library_of_another_version(cat, tmp_path):
    (tmp_path / "other.c").write_text(
        "int Java_io_vread_NativeLibrary_version(void *e, void *c) { return e == c; }\n"
    )
    other = tmp_path / "libvread_jni.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", other, tmp_path / "other.c"], check=True)
    run = cat({"io.vread.library.path": tmp_path})
    run.by_tcp({"wrong-version": BLOCKS})
    assert run.said.count("WARN") - run.said.count("NativeCodeLoader") == 1
    assert f"{other} has interface version 0" in run.said


def test_no_library_at_all(cluster, vreadd, cat, tmp_path):
    (tmp_path / "libvread_jni.so").write_bytes(b"\x7fELF but not for long")
    bare = tmp_path / "bare.jar"
    with zipfile.ZipFile(JAR) as full, zipfile.ZipFile(bare, "w") as kept:
        for name in full.namelist():
            if not name.startswith("native/"):
                kept.writestr(name, full.read(name))
    class_path = cluster.class_path.replace(str(JAR), str(bare))
    run = cat({"io.vread.library.path": tmp_path}, class_path=class_path)
    run.by_tcp({"no-library": BLOCKS})
    assert run.said.count("cannot be loaded, blocks are read by TCP") == 1


def test_the_builder_alone(cat):
    """Without `fs.hdfs.impl` the NameNode is asked in another thread.  Until it has answered,
    blocks are read over TCP, and one warning says what to set."""
    run = cat(BUILDER_ALONE)
    reasons = run.statistics["fallback"]["reasons"]
    assert set(reasons) == {"no-locations"}
    assert run.statistics["vread"]["opens"] == BLOCKS - reasons["no-locations"]
    assert run.said.count("set fs.hdfs.impl to io.vread.hdfs.VreadFileSystem") == 1


def test_switched_off(cat):
    cat({"io.vread.enabled": "false"}).by_tcp({"disabled": BLOCKS})


def test_no_device(cat, tmp_path):
    run = cat({"io.vread.endpoint": tmp_path / "nothing"})
    run.by_tcp({"no-device": 1, "backoff": BLOCKS - 1})
    assert run.said.count("no-device; blocks are read by TCP") == 1


def test_hung_backend_costs_its_timeout_once(cluster, tmp_path):
    with Vreadd(cluster.served()) as daemon:
        conf = {"io.vread.endpoint": daemon.endpoint}
        usual = Run(cluster, tmp_path, conf)
        daemon.suspend()
        try:
            hung = Run(cluster, tmp_path, conf | {"io.vread.timeout.ms": 1500})
        finally:
            daemon.resume()
    usual.by_vread()
    hung.by_tcp({"ETIME": 1, "backoff": BLOCKS - 1})
    assert hung.said.count("ETIME; blocks are read by TCP") == 1
    assert "Failed to connect" not in hung.said
