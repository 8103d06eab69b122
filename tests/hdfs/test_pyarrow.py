# SPDX-License-Identifier: GPL-2.0-or-later
"""Python programs read HDFS through vRead by pyarrow, which loads libhdfs."""

import os
import sys
from pathlib import Path

import pytest

from tests.support.libhdfs import programs_on_a_live_image
from tests.support.tiers import slow
from tools.hdfs.native_code import pyarrow_dir
from tools.hdfs.plug_in import BUILDER_ALONE

pytestmark = pytest.mark.hadoop

CONTENT = os.urandom(3_500_000)
PROGRAM = Path(__file__).with_name("pyarrow_read.py")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    with programs_on_a_live_image(tmp_path_factory.mktemp("pyarrow"), CONTENT, "/file") as running:
        yield running


def read(programs, thread, how, vread=True, properties=None):
    command = ["env", f"PYTHONPATH={pyarrow_dir()}", sys.executable, PROGRAM, thread, how, "/file"]
    got = programs.run(command, vread=vread, properties=properties)
    assert got.content == CONTENT
    return got


def check_vread(got):
    statistics = got.statistics
    assert statistics, got.log
    assert statistics["vread"]["bytes"] == statistics["hdfs"]["bytes"] == len(CONTENT), statistics
    assert statistics["fallback"] == {"blocks": 0, "reasons": {}}


@pytest.mark.parametrize("how", ["sequential", *slow("positional", "threads")])
def test_same_bytes_as_stock(programs, how):
    assert read(programs, "main", how, vread=False).statistics is None
    check_vread(read(programs, "main", how))


def test_the_class_loader_trap(programs):
    before = programs.opens()
    trapped = read(programs, "other", "sequential", properties=BUILDER_ALONE)
    assert trapped.statistics is None
    assert "Unable to load io.vread.hdfs.VreadReplicaAccessorBuilder" in trapped.log
    assert programs.opens() == before


@pytest.mark.parametrize("how", [*slow("sequential", "positional"), "threads"])
def test_any_thread_may_make_the_file_system(programs, how):
    check_vread(read(programs, "other", how))
