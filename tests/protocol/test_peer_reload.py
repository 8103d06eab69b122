# SPDX-License-Identifier: GPL-2.0-or-later
"""[peer NAME] sections are added, removed and changed while hosts read from each other."""

import signal
from types import SimpleNamespace

import pytest

from tests.support.peers import at, free_address, read_all
from tests.support.reloading import Reader, changed
from tests.support.waiting import eventually
from tools.peers import peer
from tools.vreadd import stop_process

MIB = 1 << 20
ELSEWHERE = SimpleNamespace(path="/nonexistent", data_dirs=["/dfs/data"])  # another host has it


def answered(host):
    return host.status()["peers"]["peers"][0]["answered"]


@pytest.fixture
def stopped():
    """stopped(daemon): the daemon answers nothing until the test ends."""
    processes = []

    def stop(daemon):
        processes.append(daemon.process)
        stop_process(daemon.process.pid)

    yield stop
    for process in processes:
        process.send_signal(signal.SIGCONT)


def begin_reads(asker, handle, count=4):
    return [asker.begin_read(handle, n * MIB, MIB, n * MIB) for n in range(count)]


# ---- the host that asks ------------------------------------------------------------------------


def test_readers_of_other_peers_notice_nothing(start_host, start_daemon, authority, image, edit):
    host, address = start_host()
    section = authority.host("a", answer_timeout=60000)
    one = start_daemon(extra=section + at(address), serving=ELSEWHERE)
    with one.front(pool_pages=1100) as front:
        reader = Reader(front, image)
        assert reader.has_gone_on(one)
        c = peer("c", address=free_address(), storages="dn2/DS-2", allow_datanodes="dn1")
        edit(one, "[peer b]", c + "[peer b]")
        changed(one, "[peer c]: added")
        edit(one, "DS-2", "DS-3", "allow-datanodes = dn1\n[peer b]", "[peer b]")
        changed(one, "[peer c]: changed")
        edit(one, "[peer b]", "[peer b]\nallow-datanodes = dn1")
        changed(one, "[peer b]: changed")
        edit(one, c.replace("DS-2", "DS-3").replace("allow-datanodes = dn1\n", ""), "")
        changed(one, "[peer c]: removed")
        assert reader.has_gone_on(one)
        assert reader.stop() is None
    (seen,) = one.status()["peers"]["peers"]
    assert (seen["name"], seen["connects"], seen["asked"]["errors"]) == ("b", 1, {})
    assert answered(host)["opens"] == 1


def test_reads_of_a_removed_peer_fall_back(start_host, start_asker, image, stopped):
    block = image.blocks[0]
    (one, old), (_, new) = start_host(), start_host()
    asker = start_asker(at(old, allow_datanodes="*"))
    handle = asker.open(block)[0]
    stopped(one)
    under_way = [*begin_reads(asker, handle), asker.begin("stat", handle)]
    opening = asker.begin_open(block)
    eventually(lambda: asker.peer("b")["under_way"] == 6)
    assert asker.reload() == ["[peer b]: removed"]
    assert {asker.error(tag) for tag in under_way} == {"EAGAIN"}
    assert asker.error(opening) == "ENODEV"
    assert asker.status()["peers"] == []
    assert asker.error(asker.begin_read(handle, 0, 10)) == "EAGAIN"
    assert asker.error(asker.begin_open(block)) == "ENODEV"
    assert asker.reload() == []
    assert asker.reload(at(new)) == ["[peer b]: added"]
    assert asker.error(asker.begin_read(handle, 0, 10)) == "EAGAIN"  # its connection is gone
    assert read_all(asker, block) == image.contents[block.id]
    assert asker.peer("b")["failures"] == 0


def test_a_peer_at_another_address(start_host, start_asker, image, stopped):
    """Requests that wait for an answer end.  New requests, even at once, go to the new address."""
    block = image.blocks[0]
    (one, old), (two, new) = start_host(), start_host()
    asker = start_asker(at(old))
    handle = asker.open(block)[0]
    stopped(one)
    under_way = begin_reads(asker, handle)
    eventually(lambda: asker.peer("b")["under_way"] == 4)
    assert asker.reload(at(new)) == ["[peer b]: changed"]
    assert {asker.error(tag) for tag in under_way} == {"EAGAIN"}
    assert read_all(asker, block) == image.contents[block.id]
    assert answered(two)["bytes"] == block.length
    seen = asker.peer("b")
    assert (seen["address"], seen["connects"], seen["failures"]) == (new, 2, 0)


def test_a_peer_that_was_down_is_asked_at_its_new_address_at_once(
    start_host, start_asker, image, clock
):
    asker = start_asker(at(free_address()))

    def failures():
        assert asker.error(asker.begin_open(image.blocks[0])) == "ENODEV"
        return asker.peer("b")["failures"]

    clock.until(lambda: failures() == 4)  # the pause grows each time
    _, address = start_host()
    assert asker.reload(at(address)) == ["[peer b]: changed"]
    assert read_all(asker, image.blocks[1]) == image.contents[image.blocks[1].id]


def test_storages_come_and_go(start_host, start_asker, image):
    """A change of storages affects only their readers: the connection stays."""
    (_, address), (_, other) = start_host(), start_host(name="c")
    c = peer("c", address=other)
    asker = start_asker(at(address, storages="dn1/DS-1 dn1/DS-7"), c)
    block = image.blocks[0]
    handle = asker.open(block)[0]
    shared = asker.open(block, ["DS-1", "DS-7"])[0]
    assert asker.reload(at(address, storages="dn1/DS-1 dn1/DS-8"), c) == ["[peer b]: changed"]
    assert asker.read(handle, 0, 100) == image.contents[block.id][:100]
    assert asker.error(asker.begin_read(shared, 0, 100)) == "EAGAIN"
    assert asker.error(asker.begin_open(block, ["DS-7"])) == "ENODEV"
    assert asker.error(asker.begin_open(block, ["DS-8"])) == "ENODEV"  # b was asked, but lacks it
    moved = peer("c", address=other, storages="dn1/DS-1")
    assert asker.reload(at(address, storages="dn1/DS-8"), moved) == [
        "[peer b]: changed",
        "[peer c]: changed",
    ]
    assert asker.error(asker.begin_read(handle, 0, 100)) == "EAGAIN"
    assert read_all(asker, block) == image.contents[block.id]
    assert (asker.peer("b")["connects"], asker.peer("c")["asked"]["bytes"]) == (1, block.length)
    asker.move("DS-1", "b")  # the operator's last command counts ...
    assert asker.reload(at(address, storages=""), moved) == ["[peer b]: changed"]
    assert asker.peer("b")["storages"] == 1
    assert asker.reload(moved) == ["[peer b]: removed"]
    assert read_all(asker, block) == image.contents[block.id]  # ... as long as that peer exists


def test_what_a_peer_may_announce_changes(start_host, start_asker, image):
    _, address = start_host()
    block = image.blocks[0]

    def announces(patterns):
        return at(address, storages="dn1/DS-bait", datanodes=patterns)

    asker = start_asker(announces("dn*"))
    assert asker.error(asker.begin_open(block, ["DS-bait"])) == "ENODEV"  # it connects
    handle = asker.open(block)[0]
    assert asker.reload(announces("dn2")) == ["[peer b]: changed"]
    assert asker.error(asker.begin_read(handle, 0, 100)) == "EAGAIN"
    assert asker.error(asker.begin_open(block)) == "ENODEV"
    asker.error(asker.begin_open(block, ["DS-bait"]))
    eventually(lambda: asker.peer("b")["announcements_refused"] == 1)
    assert asker.error(asker.begin_open(block)) == "ENODEV"
    assert asker.reload(announces("dn2 dn1")) == ["[peer b]: changed"]
    asker.error(asker.begin_open(block, ["DS-bait"]))
    eventually(lambda: asker.peer("b")["announced"] == 2)
    assert read_all(asker, block) == image.contents[block.id]


def test_vreadd_learns_of_new_peers_by_itself(start_host, start_daemon, authority, edit, clock):
    _, address = start_host()
    one = start_daemon(extra=authority.host("a", answer_timeout=60000), serving=ELSEWHERE)
    edit(one, "[peers]", peer("b", address=address, datanodes="dn*") + "[peers]")
    changed(one, "[peer b]: added")
    clock.until(lambda: one.status()["peers"]["peers"][0]["storages"] == 1)


@pytest.mark.thorough
def test_names_are_bounded(start_asker):
    """A name that comes and goes takes one place; the number of places is limited."""
    asker = start_asker()
    for _ in range(5):
        crowd = [peer(f"n{n}") for n in range(1024)]
        assert len(asker.reload(*crowd)) == 1024
        assert len(asker.reload()) == 1024
    for first in range(1024, 4096, 1024):
        assert len(asker.reload(*(peer(f"n{n}") for n in range(first, first + 1024)))) >= 1024
    (told,) = asker.reload(*(peer(f"n{n}") for n in range(3072, 4095)), peer("more"))[1:]
    expected = "not added: there were too many names since vreadd was started; restart vreadd"
    assert told == f"[peer more]: {expected}"
    assert len(asker.status()["peers"]) == 1023


# ---- the host that answers -----------------------------------------------------------------------


@pytest.mark.parametrize("key", ["allow-datanodes = dn", "allow-pools = BP-"])
def test_what_is_not_allowed_any_more_is_not_read(start_host, start_asker, image, edit, key):
    """Under load: no byte is answered after the reload."""
    host, address = start_host()
    asker = start_asker(at(address))
    block = image.blocks[0]
    handles = [asker.open(block)[0] for _ in range(4)]
    under_way = [tag for handle in handles for tag in begin_reads(asker, handle, 8)]
    if key.startswith("allow-datanodes"):
        edit(host, f"[peer a]\n{key}1", f"[peer a]\n{key}2")
    else:
        edit(host, "[peer a]", f"[peer a]\n{key}2")
    changed(host, "[peer a]: changed")
    assert {asker.error(tag) for tag in under_way} <= {None, "EAGAIN"}
    before = answered(host)
    later = [asker.begin_read(handle, at, 4 * MIB) for handle in handles for at in (0, MIB)]
    later += [asker.begin("stat", handle) for handle in handles]
    assert {asker.error(tag) for tag in later} == {"EAGAIN"}
    assert asker.error(asker.begin_open(block)) == "EACCES"
    after = answered(host)
    assert after["bytes"] == before["bytes"]
    assert (after["connections"], asker.peer("b")["connects"]) == (1, 1)


def test_rights_that_stay_are_not_touched(start_host, start_asker, image, edit):
    host, address = start_host()
    asker = start_asker(at(address, storages="dn1/DS-bait", datanodes="dn*"))
    block = image.blocks[0]
    assert asker.error(asker.begin_open(block, ["DS-bait"])) == "ENODEV"
    handle = asker.open(block)[0]
    edit(host, "[peer a]\nallow-datanodes = dn1", "[peer a]\nallow-datanodes = dn1 dn2")
    changed(host, "[peer a]: changed")
    assert asker.read(handle, 0, MIB) == image.contents[block.id][:MIB]
    edit(host, "[peer a]\nallow-datanodes = dn1 dn2", "[peer a]\nallow-datanodes = dn2")
    changed(host, "[peer a]: changed")
    eventually(lambda: asker.peer("b")["storages"] == 1)  # the asker is told
    edit(host, "[peer a]\nallow-datanodes = dn2", "[peer a]\nallow-datanodes = *")
    changed(host, "[peer a]: changed")
    eventually(lambda: asker.peer("b")["storages"] == 2)
    assert read_all(asker, block) == image.contents[block.id]
    assert asker.peer("b")["connects"] == 1


def test_a_host_that_may_not_ask_any_more(start_host, start_asker, image, edit, clock):
    host, address = start_host(peers=peer("x") + peer("a", allow_datanodes="dn1"))
    asker = start_asker(at(address))
    block = image.blocks[0]
    handle = asker.open(block)[0]
    section = peer("a", allow_datanodes="dn1")
    edit(host, section, "")
    changed(host, "[peer a]: removed")
    eventually(lambda: host.status()["peers"]["server"]["connections"] == 0)
    server = host.status()["peers"]["server"]
    assert server["last_refused"].endswith("[peer a] is not configured any more")
    assert asker.error(asker.begin_read(handle, 0, 10)) == "EAGAIN"

    def refused():  # a link that has not noticed fails first, and is made again later
        assert asker.error(asker.begin_open(block)) == "ENODEV"
        return "certificate names no [peer]" in host.log()

    clock.until(refused)
    edit(host, "[peer x]", f"{section}[peer x]")
    changed(host, "[peer a]: added")
    clock.until(lambda: asker.error(asker.begin_open(block)) is None)
    assert [p["name"] for p in host.status()["peers"]["peers"]] == ["x", "a"]


# ---- what cannot be changed ----------------------------------------------------------------------


def test_what_needs_a_restart(start_host, edit):
    host, address = start_host()
    edit(host, address, "127.0.0.1:7867", "[peer a]", "workers = 2\nbuffers = 9\n[peer a]")
    changed(host, restart=["[peers] listen", "[peers] workers", "[peers] buffers"])
    text = host.config.read_text()
    host.config.write_text(text[: text.index("[peers]")])
    needed = ["listen", "name", "certificate", "key", "ca"]
    changed(host, "[peer a]: removed", restart=[f"[peers] {key}" for key in needed])
