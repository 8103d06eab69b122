# SPDX-License-Identifier: GPL-2.0-or-later
"""The native library of the plug-ins in a JVM that is short of something, and its blocking calls
while the thread is interrupted."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.java_classes import compiled_java
from tools.hdfs import DEFAULT_VERSION, hadoop_class_path

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
