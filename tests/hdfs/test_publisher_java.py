# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the publisher's unit tests with the jars of each Hadoop version.  The class files are those
that are installed, compiled with the oldest version.  The unit tests also fail for methods of
Hadoop's interface that the publisher does not know yet."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.tiers import slow
from tools.hdfs import hadoop_class_path

pytestmark = pytest.mark.hadoop

REPOSITORY = Path(__file__).parents[2]
SOURCES = REPOSITORY / "hdfs-native/java/src/test/java"
TARGET = REPOSITORY / "build/java/target"
JUNIT = (
    "junit/junit/4.13.2/junit-4.13.2.jar",
    "org/hamcrest/hamcrest-core/1.3/hamcrest-core-1.3.jar",
)
TIMEOUT = 300


@pytest.fixture(scope="module")
def class_path():
    build = REPOSITORY / "hdfs-native/java/build.sh"
    subprocess.run([build, "test-compile"], check=True, timeout=TIMEOUT)
    maven = Path(os.environ.get("MAVEN_REPOSITORY", Path.home() / ".m2/repository"))
    return [TARGET / "test-classes", TARGET / "classes", *(maven / jar for jar in JUNIT)]


@pytest.mark.parametrize("version", [*slow("3.3.6"), "3.4.3", "3.5.0"])
def test_with(version, class_path):
    tests = [
        ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        for path in sorted((SOURCES / "io/vread/datanode").glob("*Test.java"))
    ]
    path = ":".join(map(str, [*class_path, f"{hadoop_class_path(version)}/*"]))
    done = subprocess.run(
        ["java", "-cp", path, "org.junit.runner.JUnitCore", *tests],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert int(re.search(r"^OK \((\d+) tests\)", done.stdout, re.MULTILINE)[1]) >= 50
