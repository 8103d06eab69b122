# SPDX-License-Identifier: GPL-2.0-or-later
"""The native library of the plug-ins in a JVM that is short of something, its blocking calls while
the thread is interrupted, and endpoints that are no paths."""

import os
import signal
import subprocess
import zlib
from pathlib import Path

import pytest

from tests.support.hdfs_dir import DataDirectory
from tests.support.java_classes import compiled_java
from tools.hdfs import DEFAULT_VERSION, hadoop_class_path
from tools.images import make_datanode_image, write_layout
from tools.vreadd import Vreadd

pytestmark = pytest.mark.hadoop

REPOSITORY = Path(__file__).parents[2]
JAR = REPOSITORY / "build/java/vread-hdfs.jar"
LIBRARY = REPOSITORY / "build/release/libvread_jni.so"
SOURCES = REPOSITORY / "tests/hdfs/native"


@pytest.fixture(scope="module")
def class_path():
    path = f"{JAR}:{hadoop_class_path()}/*"
    version = f"{DEFAULT_VERSION} {os.stat(JAR).st_mtime_ns}"
    return f"{compiled_java(SOURCES, lambda: path, 'native-check', version)}:{path}"


def java(class_path, program, *arguments, prefix=()):
    command = [*prefix, "java", "-cp", class_path, f"io.vread.{program}", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_short_of_descriptors(class_path, tmp_path):
    """Without a descriptor the library cannot be loaded now.  With some, a later attempt loads
    it."""
    other = tmp_path / "other.so"
    other.write_bytes(b"not a library")
    limit = ["prlimit", "--nofile=1000:1000"]  # a JVM raises its soft limit
    lines = java(class_path, "ShortOfDescriptors", LIBRARY, other, prefix=limit)
    assert lines == [
        "no-library-now no-library-now no-library-now no-library-now",
        "no-library",
        "no-library-now",  # the next attempt is two seconds later
        f"true {LIBRARY}",
    ]


def test_endpoints(class_path, tmp_path):
    """A NUL in an endpoint does not end the path."""
    missing = tmp_path / "missing"
    assert java(class_path, "hdfs.read.Endpoints", LIBRARY, missing) == [
        "ENOENT",
        "EINVAL",
        "EINVAL",
    ]


CALLS = ("open", "read", "readDirect", "pread", "preadDirect")


def test_interrupts(class_path, tmp_path):
    """While vreadd is stopped, an interrupt ends each call that waits for it.  No call waits for
    its timeout, which is a week."""
    directory = DataDirectory(tmp_path / "data")
    block = directory.add(1073741825, 3_000_001)
    image = make_datanode_image([tmp_path / "data"], tmp_path / "dn.raw")
    write_layout(image, tmp_path / "layout.json")
    arguments = [block.pool, block.id, block.genstamp, block.storage]
    with Vreadd({"dn1": (image.path, tmp_path / "layout.json")}) as daemon:
        # The checks of the JVM would print a warning among the lines.
        command = ["java", "-Xcheck:jni", "-cp", class_path]
        command += ["io.vread.hdfs.read.InterruptedCalls", LIBRARY]
        command += [daemon.endpoint, *arguments]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            list(map(str, command)), stdin=pipe, stdout=pipe, stderr=pipe, text=True
        ) as program:
            assert program.stdout.readline() == "open\n", program.stderr.read()
            daemon.suspend()
            program.stdin.write("\n")
            program.stdin.flush()
            lines = [program.stdout.readline() for _ in range(2 * len(CALLS))]
            os.kill(daemon.pid, signal.SIGCONT)
            out, _ = program.communicate("\n")
    assert lines == [
        f"{call} {when}: EINTR true\n" for call in CALLS for when in ("before", "meanwhile")
    ]
    assert out == f"{zlib.crc32(block.content())}\n"
