# SPDX-License-Identifier: GPL-2.0-or-later
"""How a host learns which storages others have: by announcements, and by asking when it must."""

import os

import pytest

from tests.support.hdfs_dir import DataDirectory
from tests.support.peers import at, free_address, read_all
from tools.images import make_datanode_image
from tools.peers import peer

BLOCK = 1073741900


@pytest.fixture
def later(tmp_path):
    """The path of a disk that does not exist yet, a function that makes it, and a block on it."""
    directory = DataDirectory(tmp_path / "later", storage="DS-2")
    block = directory.add(BLOCK, 50_000)
    place = tmp_path / "later.img"

    def make():
        made = make_datanode_image([directory.path], tmp_path / "made.img", free_mib=24)
        os.rename(made.path, place)

    return place, make, block


def test_storages_that_come_and_go_are_told(start_host, start_asker, later, clock):
    """A disk appears at the host that answers, and goes: both are told on the open connection."""
    disk, make, block = later
    _, address = start_host(
        peers=peer("a", allow_datanodes="*")
        + f"[datanode dn2]\nimage = {disk}\ndata-dirs = /dfs/data\n"
    )
    asker = start_asker(at(address, storages="dn1/DS-bait", datanodes="*"))
    assert asker.error(asker.begin_open(block, ["DS-bait"])) == "ENODEV"  # it connects
    assert asker.peer("b")["storages"] == 2  # DS-bait, DS-1

    def storages_once_looked():  # the host also looks without an OPEN, but less often
        asker.error(asker.begin_open(block, ["DS-bait"]))
        return asker.peer("b")["storages"]

    make()
    clock.until(lambda: storages_once_looked() == 3, step=0.5)
    handle = asker.open(block, ["DS-2"])[0]
    assert asker.read(handle, 0, 60_000) == block.content()

    disk.unlink()
    clock.until(lambda: storages_once_looked() == 2, step=0.5)
    assert asker.error(asker.begin_read(handle, 0, 10)) == "EAGAIN"
    assert asker.error(asker.begin_open(block, ["DS-2"])) == "ENODEV"
    assert asker.peer("b")["connects"] == 1


def test_a_wanted_storage_is_asked_of_those_who_were_not_heard(
    start_host, start_asker, image, clock
):
    address = free_address()
    asker = start_asker(
        peer("b", address=address, datanodes="dn*"),
        peer("c", address=free_address(), storages="dn1/DS-9"),  # it may announce nothing
        keys={"idle-timeout": 1},
    )
    block = image.blocks[0]
    start = clock.ms
    for _ in range(300):
        assert asker.error(asker.begin_open(block)) == "ENODEV"
        clock.advance(0.01)
    tries = asker.peer("b")["connects"]
    # The first pause is at least 75 ms; each pause is twice the one before.
    assert tries >= 1 and 75 * (2 ** (tries - 1) - 1) <= clock.ms - start
    assert not asker.peer("b")["heard"]

    start_host(address=address)
    clock.until(lambda: asker.error(asker.begin_open(block)) is None)
    assert asker.peer("b")["heard"]
    assert asker.peer("c")["connects"] == 0


def test_who_was_heard_is_asked_only_for_what_he_has(start_host, start_asker, image, clock):
    """Three hosts: two have announced their storages.  A read contacts one of the two, or none."""
    _, one = start_host(name="b")
    _, two = start_host(name="c", peers=peer("a", allow_datanodes="none"))
    asker = start_asker(
        peer("b", address=one, datanodes="*"),
        peer("c", address=two, datanodes="*"),
        keys={"idle-timeout": 2},
    )
    block = image.blocks[0]

    def counted():
        return {p["name"]: p["connects"] for p in asker.status()["peers"]}

    def quiet():
        return all(p["state"] == "idle" for p in asker.status()["peers"])

    assert asker.error(asker.begin_open(block, ["DS-unknown"])) == "ENODEV"
    clock.until(lambda: all(p["heard"] for p in asker.status()["peers"]))
    clock.until(quiet, step=0.5)
    before = counted()
    for _ in range(20):
        assert asker.error(asker.begin_open(block, ["DS-unknown"])) == "ENODEV"
        clock.advance(0.2)
    assert counted() == before
    assert read_all(asker, block) == image.contents[block.id]
    assert counted()["b"] > before["b"]
    assert counted()["c"] == before["c"]


@pytest.mark.thorough
def test_who_was_not_heard_is_tried_again_soon(start_host, start_daemon, authority, clock):
    """No guest reads.  One peer is up from the start, one comes later, one never."""
    late = free_address()
    _, early = start_host(name="b")
    here = start_daemon(
        extra=authority.host("a", **{"idle-timeout": 1})
        + peer("b", address=early, datanodes="*")
        + peer("c", address=late, datanodes="*")
        + peer("d", address=free_address(), datanodes="*")
    )

    def of(name):
        return next(p for p in here.status()["peers"]["peers"] if p["name"] == name)

    clock.until(lambda: of("b")["heard"] and of("c")["failures"] and of("d")["failures"])
    clock.until(lambda: of("d")["failures"] == 4, step=0.5)
    start_host(name="c", address=late)
    start = clock.ms
    clock.until(lambda: of("c")["heard"], step=0.5)
    assert clock.ms - start < 30_000

    tries = of("d")["connects"]
    clock.until(lambda: of("d")["connects"] >= tries + 2, step=0.5)
    # Who was heard is asked every five minutes only.
    assert [of(name)["connects"] for name in "bc"] == [1, of("c")["failures"] + 1]
    clock.until(lambda: of("b")["connects"] == 2, step=2)
    # A peer that stays away fills no log.
    assert of("d")["failures"] > 12
    assert here.log().count("warning: peer d: cannot connect") == 9
