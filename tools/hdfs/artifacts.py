# SPDX-License-Identifier: GPL-2.0-or-later
"""Hadoop's jars, resolved once by Maven into build/hadoop/<version>/lib, .../mapreduce, .../router,
.../upstream and .../shaded.  All of tools/hdfs, the lab, benches and tests take their class
paths from here.  Jars of applications are in build/applications/<name>.

A key file beside each folder is a hash of the POM's content and the version.  While the key agrees,
Maven does not run and no network is needed.
"""

import contextlib
import fcntl
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools.hdfs.errors import HdfsError

DEFAULT_VERSION = "3.4.3"
REPOSITORY = Path(__file__).resolve().parents[2]
POM = Path(__file__).with_name("runtime.pom.xml")
MAPREDUCE_POM = Path(__file__).with_name("mapreduce.pom.xml")
SHADED_POM = Path(__file__).with_name("shaded.pom.xml")
ROUTER_POM = Path(__file__).with_name("router.pom.xml")
UPSTREAM_POM = Path(__file__).with_name("upstream.pom.xml")
COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
DOWNLOADED = re.compile(r"Downloaded from \S+: \S+/([^/\s]+\.jar) \(([^)]*)\)")


def hadoop_class_path(version=DEFAULT_VERSION, cache=None):
    """The folder of one Hadoop version's jars; resolved and cached if it is not there yet."""
    with _home(version, cache) as home:
        lib = home / "lib"
        if _resolve(version, POM, lib, home / "key"):
            if not list(lib.glob(f"hadoop-hdfs-{version}.jar")):
                raise HdfsError(f"Maven succeeded but {lib} lacks hadoop-hdfs-{version}.jar")
            _tell(version, lib)
    return lib


def mapreduce_class_path(version=DEFAULT_VERSION, cache=None):
    """The folder of the further jars that MapReduce and its test programs need."""
    return _further(version, cache, MAPREDUCE_POM, "mapreduce")


def router_class_path(version, cache=None):
    """The folder of the further jars that a router of a federation needs."""
    return _further(version, cache, ROUTER_POM, "router")


def upstream_class_path(version=DEFAULT_VERSION, cache=None):
    """The folder of the further jars that Hadoop's own tests need, and the tests themselves."""
    return _further(version, cache, UPSTREAM_POM, "upstream")


def _further(version, cache, pom, name):
    """The folder of the POM's jars without those of hadoop_class_path()."""
    present = {jar.name for jar in hadoop_class_path(version, cache).iterdir()}
    with _home(version, cache) as home:
        lib = home / name
        if _resolve(version, pom, lib, home / f"{name}.key"):
            for jar in lib.iterdir():
                if jar.name in present:
                    jar.unlink()
            _tell(version, lib)
    return lib


def shaded_class_path(version, cache=None):
    """The folder of a version's shaded client jars, hadoop-client-api and hadoop-client-runtime."""
    with _home(version, cache) as home:
        lib = home / "shaded"
        if _resolve(version, SHADED_POM, lib, home / "shaded.key"):
            _tell(version, lib)
    return lib


def application_class_path(pom, cache=None):
    """The folder of the jars of an application.  pom: NAME.pom.xml, which has the versions."""
    home = Path(cache or REPOSITORY / "build" / "applications")
    with _locked(home):
        name = pom.name.removesuffix(".pom.xml")
        if _resolve("", pom, home / name, home / f"{name}.key"):
            _tell("", home / name)
    return home / name


@contextlib.contextmanager
def _home(version, cache):
    """Yields the folder of a version, locked against other processes that resolve jars."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[A-Za-z0-9]+)?", version):
        raise HdfsError(f"Hadoop version {version!r}: expected something like {DEFAULT_VERSION}")
    home = Path(cache or REPOSITORY / "build" / "hadoop") / version
    with _locked(home):
        yield home


@contextlib.contextmanager
def _locked(home):
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _resolve(version, pom, lib, stamp):
    """Fills `lib` with the POM's jars unless they are there; returns whether Maven ran."""
    key = hashlib.sha256(pom.read_bytes() + version.encode()).hexdigest()
    if stamp.exists() and stamp.read_text().strip() == key:
        return False
    stamp.unlink(missing_ok=True)
    shutil.rmtree(lib, ignore_errors=True)
    _copy_dependencies(version, pom, lib)
    stamp.write_text(key + "\n")
    return True


def _copy_dependencies(version, pom, lib):
    name = _name(version, lib)
    print(f"{name}: resolving jars with Maven", file=sys.stderr, flush=True)
    command = ["mvn", "-B", "-f", str(pom)]
    command += [f"-Dhadoop.version={version}"] if version else []
    command += [COPY_GOAL, f"-DoutputDirectory={lib}", "-DincludeScope=runtime"]
    lines = []
    log_path = lib.with_name(f"maven-{lib.name}.log")
    with open(log_path, "w") as log:
        maven = _spawn_maven(command)
        jars = 0
        for line in maven.stdout:
            log.write(line)
            lines.append(line)
            if found := DOWNLOADED.search(line):
                jars += 1
                _progress(f"{name}: {jars} jars, {found[1]} {found[2]}")
        status = maven.wait()
    _progress("")
    if status != 0:
        tail = "".join([line for line in lines if "ERROR" in line][:8] or lines[-8:])
        raise HdfsError(
            f"Maven could not resolve the jars of {name} (exit {status}); whole log: "
            f"{log_path}\n{tail}"
        )


def _name(version, lib):
    return f"hadoop {version}" if version else lib.name


def _tell(version, lib):
    count = len(list(lib.glob("*.jar")))
    print(f"{_name(version, lib)}: {count} jars in {lib}", file=sys.stderr, flush=True)


def _spawn_maven(command):
    try:
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
    except FileNotFoundError as error:
        raise HdfsError("mvn is not installed; run `make setup`") from error


def _progress(text):
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text[:100]}", end="", file=sys.stderr, flush=True)
