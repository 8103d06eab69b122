# SPDX-License-Identifier: GPL-2.0-or-later
"""Hadoop's jars, resolved once by Maven into build/hadoop/<version>/lib.

The folder carries the key of what it was made from (the POM's content and the
version): while that agrees nothing is looked up, and no network is needed.
"""

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
COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
DOWNLOADED = re.compile(r"Downloaded from \S+: \S+/([^/\s]+\.jar) \(([^)]*)\)")


def hadoop_class_path(version=DEFAULT_VERSION, cache=None):
    """The folder of one Hadoop version's jars; resolved and cached if it is not there yet."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[A-Za-z0-9]+)?", version):
        raise HdfsError(f"Hadoop version {version!r}: expected something like {DEFAULT_VERSION}")
    home = Path(cache or REPOSITORY / "build" / "hadoop") / version
    key = hashlib.sha256(POM.read_bytes() + version.encode()).hexdigest()
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _stored_key(home) != key:
            _resolve(version, home)
            (home / "key").write_text(key + "\n")
    return home / "lib"


def _stored_key(home):
    try:
        return (home / "key").read_text().strip()
    except FileNotFoundError:
        return None


def _resolve(version, home):
    lib = home / "lib"
    (home / "key").unlink(missing_ok=True)
    shutil.rmtree(lib, ignore_errors=True)
    print(f"hadoop {version}: resolving jars with Maven", file=sys.stderr, flush=True)
    command = ["mvn", "-B", "-f", str(POM), f"-Dhadoop.version={version}"]
    command += [COPY_GOAL, f"-DoutputDirectory={lib}", "-DincludeScope=runtime"]
    lines = []
    with open(home / "maven.log", "w") as log:
        maven = _spawn_maven(command)
        jars = 0
        for line in maven.stdout:
            log.write(line)
            lines.append(line)
            if found := DOWNLOADED.search(line):
                jars += 1
                _progress(f"hadoop {version}: {jars} jars, {found[1]} {found[2]}")
        status = maven.wait()
    _progress("")
    if status != 0:
        tail = "".join([line for line in lines if "ERROR" in line][:8] or lines[-8:])
        raise HdfsError(
            f"Maven could not resolve Hadoop {version} (exit {status}); whole log: "
            f"{home / 'maven.log'}\n{tail}"
        )
    if not list(lib.glob(f"hadoop-hdfs-{version}.jar")):
        raise HdfsError(f"Maven succeeded but {lib} lacks hadoop-hdfs-{version}.jar")
    count = len(list(lib.glob("*.jar")))
    print(f"hadoop {version}: {count} jars in {lib}", file=sys.stderr, flush=True)


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
