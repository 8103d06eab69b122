# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles the Java programs of tests, once for each content of their sources."""

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
LINT = "-Xlint:all,-classfile,-processing,-path,-serial"


def compiled_java(sources, class_path, name, version):
    """The folder of the classes, in build/NAME.  class_path: a function, which is called only if
    the classes are not there yet.  version: of what the class path has."""
    files = sorted(sources.rglob("*.java"))
    digest = hashlib.sha256(version.encode())
    for file in files:
        digest.update(file.read_bytes())
    home = REPOSITORY / "build" / name
    home.mkdir(parents=True, exist_ok=True)
    key = home / "key"
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not key.exists() or key.read_text() != digest.hexdigest():
            key.unlink(missing_ok=True)
            shutil.rmtree(home / "classes", ignore_errors=True)
            command = ["javac", LINT, "-Werror", "-d", home / "classes", "-cp", class_path()]
            subprocess.run([*command, *files], check=True)
            key.write_text(digest.hexdigest())
    return home / "classes"
