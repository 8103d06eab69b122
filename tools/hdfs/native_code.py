# SPDX-License-Identifier: GPL-2.0-or-later
"""Native code for HDFS that neither Debian nor Hadoop's Maven artifacts have.  Tests and benches
use it.

    libhadoop_dir()    folder with libhadoop.so, which short-circuit reads need; from a JAR of
                       Trino on Maven Central.  It is Hadoop 3.4.3's; see locks_memory()
    libhdfs_dir()      folder with libhdfs.so and hdfs.h, HDFS's C interface; built here from
                       Hadoop's sources in the Rust crate hdfs-sys
    pyarrow_dir()      folder to put on PYTHONPATH; from the wheel on PyPI

Each is fetched once into build/hadoop/native, by version and SHA-256.  After that no network is
needed.
"""

import contextlib
import fcntl
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

from tools.hdfs.artifacts import REPOSITORY
from tools.hdfs.errors import HdfsError

CACHE = REPOSITORY / "build" / "hadoop" / "native"
CENTRAL = "https://repo.maven.apache.org/maven2"
LIBHADOOP = "io/trino/hadoop/hadoop-apache/3.4.3-1/hadoop-apache-3.4.3-1.jar"
LIBHADOOP_SHA256 = "a154ec99659f376e9483e9786fdd623790f8900c58352c7044fd7a1cad3b1282"
LIBHADOOP_MEMBER = "nativelib/Linux-amd64/libhadoop.so"
CRATE = "https://static.crates.io/crates/hdfs-sys/hdfs-sys-0.3.0.crate"
CRATE_SHA256 = "33e2d5cefba2d51a26b44d2a493f963a32725a0f6593c91be4a610ad449c49cb"
CRATE_SOURCES = "hdfs-sys-0.3.0/libhdfs/"
LIBHDFS_VERSION = "hdfs_3_3"
PYARROW = "pyarrow==26.0.1"
PYARROW_SHA256 = "39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c"
DOWNLOAD_TIMEOUT = 120


# Hadoop 3.5.0 has moved native methods to other classes, where that library lacks them.
NOT_LOCKING = ("3.5.0",)


def locks_memory(version):
    """True if datanodes of this version lock memory with this libhadoop.so."""
    return version not in NOT_LOCKING


def libhadoop_dir():
    return _made_once(f"libhadoop-{LIBHADOOP_SHA256[:12]}", _unpack_libhadoop)


def libhdfs_dir():
    return _made_once(f"libhdfs-{CRATE_SHA256[:12]}", _build_libhdfs)


def pyarrow_dir():
    return _made_once(PYARROW.replace("==", "-"), _install_pyarrow)


def java_home():
    """The folder of the JDK whose javac is on the PATH."""
    java = shutil.which("javac")
    if not java:
        raise HdfsError("javac is not installed; run `make setup`")
    return Path(java).resolve().parents[1]


def _made_once(name, make):
    """The folder of that name in the cache, filled by make(); it is complete or absent."""
    CACHE.mkdir(parents=True, exist_ok=True)
    done = CACHE / name
    with _locked(CACHE / "lock"):
        if not done.is_dir():
            print(f"hadoop: fetching {name}", file=sys.stderr, flush=True)
            making = CACHE / f".{name}"
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir()
            make(making)
            making.rename(done)
    return done


def _unpack_libhadoop(directory):
    jar = _download(f"{CENTRAL}/{LIBHADOOP}", LIBHADOOP_SHA256)
    with zipfile.ZipFile(io.BytesIO(jar)) as archive:
        (directory / "libhadoop.so").write_bytes(archive.read(LIBHADOOP_MEMBER))


def _build_libhdfs(directory):
    sources = directory / "sources"
    with tarfile.open(fileobj=io.BytesIO(_download(CRATE, CRATE_SHA256))) as archive:
        for member in archive:
            if member.isfile() and member.name.startswith(CRATE_SOURCES):
                target = sources / member.name.removeprefix(CRATE_SOURCES)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.extractfile(member).read())
    version = sources / LIBHDFS_VERSION
    home = java_home()
    jvm = home / "lib" / "server"
    includes = [home / "include", home / "include/linux", sources, version, version / "include"]
    includes += [version / "os", version / "os/posix"]
    files = [*version.glob("*.c"), *(version / "os/posix").glob("*.c")]
    command = ["gcc", "-shared", "-fPIC", "-O2", "-fcommon", "-w", "-pthread"]
    command += [f"-I{path}" for path in includes]
    command += [*sorted(files), "-o", directory / "libhdfs.so"]
    _run([*command, f"-L{jvm}", "-ljvm", f"-Wl,-rpath,{jvm}"], "building libhdfs.so")
    shutil.copy(version / "include/hdfs/hdfs.h", directory)
    shutil.rmtree(sources)


def _install_pyarrow(directory):
    wanted = directory / "requirements.txt"
    wanted.write_text(f"{PYARROW} --hash=sha256:{PYARROW_SHA256}\n")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile"]
    _run([*command, "--target", directory, "-r", wanted], f"installing {PYARROW}")


def _run(command, what):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise HdfsError(f"{what} failed (exit {done.returncode}): {done.stderr.strip()[-2000:]}")


def _download(url, sha256):
    try:
        with urllib.request.urlopen(url, timeout=DOWNLOAD_TIMEOUT) as answer:
            content = answer.read()
    except (urllib.error.URLError, OSError) as error:
        raise HdfsError(f"{url}: {error}") from error
    if (found := hashlib.sha256(content).hexdigest()) != sha256:
        raise HdfsError(f"{url}: SHA-256 {found}, expected {sha256}")
    return content


@contextlib.contextmanager
def _locked(path):
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
