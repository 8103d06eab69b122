# SPDX-License-Identifier: GPL-2.0-or-later
"""C programs read HDFS through vRead by libhdfs, Hadoop's own C interface."""

import os
from pathlib import Path

import pytest

from tests.support.libhdfs import build_c_program, programs_on_a_live_image
from tests.support.tiers import slow
from tools.hdfs.plug_in import BUILDER_ALONE

pytestmark = pytest.mark.hadoop

CONTENT = os.urandom(3_500_000)
SOURCE = Path(__file__).with_name("c") / "libhdfs_read.c"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    with programs_on_a_live_image(tmp_path_factory.mktemp("libhdfs"), CONTENT, "/file") as running:
        yield running


@pytest.fixture(scope="module")
def libhdfs_read(tmp_path_factory):
    return build_c_program(SOURCE, tmp_path_factory.mktemp("c"))


def all_through_vread(got):
    statistics = got.statistics
    return (
        statistics is not None
        and statistics["vread"]["bytes"] == statistics["hdfs"]["bytes"] == len(CONTENT)
        and statistics["fallback"] == {"blocks": 0, "reasons": {}}
    )


@pytest.mark.parametrize("how", ["sequential", *slow("positional")])
def test_same_bytes_as_stock(programs, libhdfs_read, how):
    stock = programs.run([libhdfs_read, "main", how, "/file"], vread=False)
    assert (stock.content == CONTENT, stock.statistics) == (True, None)
    ours = programs.run([libhdfs_read, "main", how, "/file"], vread=True)
    assert ours.content == stock.content
    assert all_through_vread(ours), (ours.statistics, ours.log)


def test_the_class_loader_trap(programs, libhdfs_read):
    """A thread without a context class loader makes a stock file system.  Hadoop then cannot load
    the builder: all bytes must come by TCP."""
    before = programs.opens()
    command = [libhdfs_read, "other", "sequential", "/file"]
    trapped = programs.run(command, vread=True, properties=BUILDER_ALONE)
    assert (trapped.content == CONTENT, trapped.statistics) == (True, None)
    assert "Unable to load io.vread.hdfs.VreadReplicaAccessorBuilder" in trapped.log
    assert programs.opens() == before


@pytest.mark.parametrize("how", [*slow("sequential"), "positional"])
def test_any_thread_may_make_the_file_system(programs, libhdfs_read, how):
    got = programs.run([libhdfs_read, "other", how, "/file"], vread=True)
    assert got.content == CONTENT
    assert all_through_vread(got), (got.statistics, got.log)
