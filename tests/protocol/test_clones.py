# SPDX-License-Identifier: GPL-2.0-or-later
"""Two datanodes that look like clones of one cluster: status and doctor must say so, and name both,
the pool and the reason.  What is served does not change."""

import json
import os
import subprocess

import pytest

from tests.support.daemon import REPOSITORY
from tests.support.hdfs_dir import POOL, DataDirectory, meta_bytes
from tests.support.reloading import changed
from tools.images import make_datanode_image

FIRST, STAMP = 1073741825, 1001
XL_VREAD = REPOSITORY / "build" / "asan" / "xl-vread"


class Shown:
    """The image of a datanode.  blocks: {id: content}."""

    data_dirs = ("/dfs/data",)

    def __init__(self, folder, name, blocks, change=None, **options):
        options = {"storage": f"DS-{name}", "datanode": f"uuid-{name}"} | options
        directory = DataDirectory(folder / name, **options)
        for number, content in blocks.items():
            block = directory.add(number, 1)
            block.data.write_bytes(content)
            block.meta.write_bytes(meta_bytes(content))
        if change:
            change(directory)
        self.path = make_datanode_image([directory.path], folder / f"{name}.img", free_mib=24).path

    def section(self, name):
        return f"[datanode {name}]\nimage = {self.path}\ndata-dirs = /dfs/data\n"


@pytest.fixture
def start(start_daemon, tmp_path):
    """start(dn1, dn2): a vreadd that serves the two images as dn1 and dn2."""

    def begin(dn1, dn2):
        return start_daemon(tmp_path, serving=dn1, extra=dn2.section("dn2"), allow="*")

    return begin


def clones(daemon):
    return daemon.status()["clones"]


def await_notice(daemon):
    daemon.wait_until(lambda: clones(daemon))
    (notice,) = clones(daemon)
    assert notice["datanodes"] == ["dn1", "dn2"]
    assert notice["pool"] == POOL
    assert "serve each cluster by a vreadd of its own" in notice["remedy"]
    return notice


def read(daemon, storage, number):
    with daemon.front() as front:
        response = front.open(number, STAMP, POOL, [storage])
        assert response.status == 0, response
        return front.read(response.handle, 0, 100_000)


def findings(daemon):
    done = subprocess.run(
        [XL_VREAD, "doctor", "--json", "--socket", daemon.control, "--config", daemon.config],
        capture_output=True, text=True,
    )  # fmt: skip
    return [f for f in json.loads(done.stdout)["findings"] if f["check"] == "clones"]


def other_bytes():
    return {FIRST: b"before the cloning" * 100, FIRST + 1: os.urandom(5000)}


def test_other_checksums(start, tmp_path):
    one, other = other_bytes(), other_bytes()
    daemon = start(Shown(tmp_path, "one", one), Shown(tmp_path, "other", other))
    notice = await_notice(daemon)
    assert notice["because"] == "checksums"
    assert notice["problem"] == (
        f"their finalized replicas of block {FIRST + 1}, generation stamp {STAMP}, differ in "
        "checksums"
    )
    said = f"datanodes dn1 and dn2 look like clones of one cluster, pool {POOL}"
    (found,) = findings(daemon)
    assert (found["result"], found["remedy"]) == ("warning", notice["remedy"])
    assert found["found"] == f"{said}: {notice['problem']}"
    shown = subprocess.run(
        [XL_VREAD, "status", "--socket", daemon.control], capture_output=True, text=True
    ).stdout
    assert f"WARNING: {said}" in " ".join(shown.split())
    assert daemon.log().count("look like clones of one cluster") == 1
    # Both are served as before.
    assert read(daemon, "DS-one", FIRST + 1) == one[FIRST + 1]
    assert read(daemon, "DS-other", FIRST + 1) == other[FIRST + 1]


@pytest.mark.parametrize("longer", ["one", "other"])
def test_another_length(start, tmp_path, longer):
    """Only the one datanode has the block among its newest; either must find the difference."""
    old = {FIRST: bytes(2000)}
    new = {FIRST + 256 + n: os.urandom(700) for n in range(20)}
    one = Shown(tmp_path, "one", old | (new if longer == "one" else {}))
    other = Shown(tmp_path, "other", {FIRST: bytes(1000)} | (new if longer == "other" else {}))
    daemon = start(one, other)
    if longer == "one":
        assert await_notice(daemon)["because"] == "length"
    else:
        assert await_notice(daemon)["problem"].endswith("differ in length")


@pytest.mark.parametrize("storage", ["DS-other", "DS-one"])
def test_one_uuid(start, tmp_path, storage):
    """Also if the storage ids are equal, too, so that one of the two is not served."""
    blocks = other_bytes()
    one = Shown(tmp_path, "one", blocks, datanode="uuid-1")
    other = Shown(tmp_path, "other", blocks, datanode="uuid-1", storage=storage)
    notice = await_notice(start(one, other))
    assert notice["because"] == "datanode-uuid"
    assert notice["problem"] == "both have the datanodeUuid uuid-1"


def compared(daemon, name, replicas):
    return any(
        f"datanode {name}: compared with other datanodes: " in line
        and line.endswith(f" {replicas} replicas of both")
        for line in daemon.log().splitlines()
    )


def test_two_datanodes_of_one_cluster(start, tmp_path):
    """Replicas that are being written, that are not complete, or that only one has, say nothing."""
    shared = other_bytes()

    def own(first, length):
        def change(directory):
            directory.add(first, 3000)
            directory.add(FIRST + 2, length, finalized=False)
            directory.add(FIRST + 3, length)
            short = directory.add(FIRST + 4, 9000)
            os.truncate(short.data, length)  # its .meta is that of more bytes

        return change

    one = Shown(tmp_path, "one", shared, own(FIRST + 10, 3000))
    other = Shown(tmp_path, "other", shared, own(FIRST + 11, 3000))
    daemon = start(one, other)
    # Beside the shared ones, FIRST + 3 is the same on both.
    daemon.wait_until(lambda: compared(daemon, "dn1", 3) and compared(daemon, "dn2", 3))
    assert clones(daemon) == [] and findings(daemon) == []


def test_forgotten_with_the_datanode(start, edit, tmp_path):
    other = Shown(tmp_path, "other", other_bytes())
    daemon = start(Shown(tmp_path, "one", other_bytes()), other)
    await_notice(daemon)
    edit(daemon, other.section("dn2"), "")
    changed(daemon, "[datanode dn2]: removed")
    daemon.wait_until(lambda: clones(daemon) == [])
    with open(daemon.config, "a") as config:
        config.write(other.section("dn2"))
    changed(daemon, "[datanode dn2]: added")
    await_notice(daemon)
