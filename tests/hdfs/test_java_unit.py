# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the unit tests of the plug-ins' Maven module: token parsing, caches, back-off, failures,
JSON, loading of the library."""

import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

pytestmark = pytest.mark.hadoop

REPOSITORY = Path(__file__).parents[2]
REPORTS = REPOSITORY / "build/java/target/surefire-reports"
TIMEOUT = 900


def test_maven_module():
    """It takes a minute or two: Maven compiles the module, and its tests start JVMs."""
    for stale in REPORTS.glob("TEST-*.xml"):
        stale.unlink()
    build = REPOSITORY / "hdfs-native/java/build.sh"
    done = subprocess.run([build, "test"], capture_output=True, text=True, timeout=TIMEOUT)
    suites = {}
    for report in REPORTS.glob("TEST-*.xml"):
        suite = ElementTree.parse(report).getroot()
        suites[suite.get("name")] = int(suite.get("tests"))
    assert done.returncode == 0, done.stdout[-5000:]
    for name in (
        "read.Accessor",
        "read.Endpoint",
        "read.ReplicaCache",
        "read.PoolShare",
        "read.Backoff",
        "locations.BlockToken",
        "locations.BlockLocations",
        "locations.FileSystemContext",
        "locations.NameNodeCalls",
        "select.PathSelector",
        "select.PathProbe",
        "select.SlowRead",
        "metrics.Statistics",
        "HedgedRead",
        "Start",
    ):
        assert suites[f"io.vread.hdfs.{name}Test"] > 1
    for name in ("Publisher", "PublishingDataset", "KeyPublisher"):
        assert suites[f"io.vread.datanode.{name}Test"] > 1
    assert suites["io.vread.NativeLibraryTest"] > 1
