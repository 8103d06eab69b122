# SPDX-License-Identifier: GPL-2.0-or-later
"""Which peer is asked for a storage: announcements, moves by the operator, and many peers."""

import errno
import json
import os
import signal
import struct
import subprocess
from types import SimpleNamespace

import pytest

from tests.support import peer_wire as wire
from tests.support.daemon import REPOSITORY
from tests.support.peers import at, free_address, read_all
from tests.support.waiting import eventually
from tools.peers import peer
from tools.vreadd import stop_process

MIB = 1 << 20
ELSEWHERE = SimpleNamespace(path="/nonexistent", data_dirs=["/dfs/data"])  # another host has it


def test_what_a_peer_announces_is_taken_as_far_as_configured(start_host, start_asker, image):
    _, address = start_host()
    block = image.blocks[0]
    for patterns, expected in (
        ("dn1", None),
        ("x* d?1", None),
        ("dn2 dn11", "ENODEV"),
        ("", "ENODEV"),
    ):
        keys = {"datanodes": patterns} if patterns else {}
        asker = start_asker(at(address, storages="dn1/DS-bait", **keys))
        assert asker.error(asker.begin_open(block, ["DS-bait"])) == "ENODEV"  # it connects
        assert asker.error(asker.begin_open(block)) == expected
        seen = asker.peer("b")
        assert (seen["announced"], seen["announcements_refused"]) == (
            (0, 1) if expected else (1, 0)
        )


def test_announcements_never_overrule_an_operator(start_host, start_asker, image):
    _, address = start_host()
    asker = start_asker(
        at(address, storages="dn1/DS-bait", datanodes="*"),
        peer("c", address=free_address(), storages="dn1/DS-1"),
    )
    block = image.blocks[0]
    assert asker.error(asker.begin_open(block, ["DS-bait"])) == "ENODEV"
    assert asker.peer("b")["announcements_refused"] == 1
    assert asker.error(asker.begin_open(block)) == "ENODEV"
    assert asker.peer("c")["connects"] >= 1


def test_a_peer_announces_only_what_may_be_read(start_host, start_asker, image):
    _, address = start_host(peers=peer("a", allow_datanodes="dn2"))
    asker = start_asker(at(address, storages="dn1/DS-bait", datanodes="*"))
    assert asker.error(asker.begin_open(image.blocks[0], ["DS-bait"])) == "EACCES"
    assert asker.peer("b")["announced"] == 0


def test_vreadd_learns_and_is_told(start_host, start_daemon, authority, clock):
    """Two vreadds: one learns which storages the other has, and its operator overrules this."""
    _, address = start_host()
    section = authority.host("a", answer_timeout=60000)
    section += peer("b", address=address, datanodes="dn*")
    one = start_daemon(extra=section, serving=ELSEWHERE)

    def storages():
        return one.status()["peers"]["peers"][0]["storages"]

    clock.until(lambda: storages() == 1)

    def move(**keys):
        return json.loads(one.ask(json.dumps({"command": "move", **keys}).encode() + b"\n"))

    assert move(storage="DS-1", host=None) == {}
    assert storages() == 0
    assert move(storage="DS-1", host="b") == {}
    assert storages() == 1
    assert "no such peer: expected a [peer NAME]" in move(storage="DS-1", host="nobody")["error"]
    assert "the datanode of this storage is not known" in move(storage="DS-7", host="b")["error"]
    assert move(storage="dn7/DS-7", host="b") == {}
    assert storages() == 2
    assert 'expected a string "storage"' in move(storage=1, host="b")["error"]
    assert 'expected a string "storage"' in move(storage="DS-1")["error"]


def test_the_operators_command_and_view(start_host, start_daemon, authority, image):
    _, address = start_host()
    one = start_daemon(extra=authority.host("a") + peer("b", address=address))

    def xl_vread(command, *arguments):
        program = REPOSITORY / "build" / "asan" / "xl-vread"
        return subprocess.run(
            [program, command, "--socket", one.control, *arguments], capture_output=True, text=True
        )

    done = xl_vread("datanode", "move", "dn2/DS-2", "b")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    shown = xl_vread("status").stdout
    assert "PEER" in shown
    row = next(line.split() for line in shown.splitlines() if line.startswith("b "))
    assert row[:4] == ["b", "idle", "-", "1"]
    assert xl_vread("datanode", "move", "DS-2", "-").returncode == 0
    assert one.status()["peers"]["peers"][0]["storages"] == 0
    done = xl_vread("datanode", "move", "DS-2", "nobody")
    assert done.returncode == 1
    assert "nobody: no such peer: expected a [peer NAME] of" in done.stderr


def test_two_hundred_peers_cost_nothing_until_they_are_asked(start_host, start_asker, image):
    """200 peers, 1,000 storages, and one read: one connection, one thread."""
    _, address = start_host()
    others = [
        peer(
            f"p{n}",
            address="127.0.0.1:9",
            storages=" ".join(f"dn1/DS-{n}-{k}" for k in range(5)),
            datanodes="dn1",
        )
        for n in range(199)
    ]
    asker = start_asker(*others, at(address, storages="dn1/DS-1 dn1/a dn1/b dn1/c dn1/d"))
    assert sum(p["storages"] for p in asker.status()["peers"]) == 1000
    process = f"/proc/{asker.process.pid}"
    fds, threads = len(os.listdir(f"{process}/fd")), len(os.listdir(f"{process}/task"))
    assert read_all(asker, image.blocks[1]) == image.contents[image.blocks[1].id]
    assert [p["name"] for p in asker.status()["peers"] if p["connects"]] == ["b"]
    assert len(os.listdir(f"{process}/task")) == threads + 1
    assert len(os.listdir(f"{process}/fd")) <= fds + 2  # a socket, an eventfd


def resident_kib(process):
    with open(f"/proc/{process.pid}/smaps_rollup") as text:
        return next(int(line.split()[1]) for line in text if line.startswith("Private_Dirty:"))


def test_memory_of_configured_peers(start_host, start_asker, image):
    """200 unused peers cost at most a few KiB each, at the start and after a read."""
    _, address = start_host()

    def used(others):
        peers = [
            peer(f"p{n}", address="127.0.0.1:9", storages=f"dn1/DS-{n}-0 dn1/DS-{n}-1")
            for n in range(others)
        ]
        asker = start_asker(*peers, at(address), variant="release")
        idle = resident_kib(asker.process)
        assert read_all(asker, image.blocks[1]) == image.contents[image.blocks[1].id]
        return idle, resident_kib(asker.process)

    alone, many = used(0), used(200)
    for before, after in zip(alone, many, strict=True):
        assert after - before < 200 * 16


def test_half_here_and_half_there(start_host, start_asker, image):
    """Two hosts have the replicas, and the asker asks each host only for its own storages."""
    _, one = start_host(name="b")
    _, two = start_host(name="c")
    asker = start_asker(at(one, storages="dn1/DS-1"), peer("c", address=two, storages="dn1/DS-2"))
    assert read_all(asker, image.blocks[0]) == image.contents[image.blocks[0].id]
    assert asker.error(asker.begin_open(image.blocks[0], ["DS-2"])) == "ENODEV"  # c lacks it
    counts = {p["name"]: p["asked"]["opens"] for p in asker.status()["peers"]}
    assert counts == {"b": 1, "c": 0}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"name": "z"}, "expected a certificate for z"),
        ({"certificate": "/nowhere.pem"}, "certificate: /nowhere.pem: "),
        ({"key": "/nowhere.key"}, "key: /nowhere.key: "),
        ({"ca": "/nowhere.ca"}, "ca: /nowhere.ca: "),
        ({"crl": "/nowhere.crl"}, "crl: /nowhere.crl: "),
    ],
)
def test_mistakes_keep_vreadd_from_starting(start_daemon, authority, change, expected):
    lines = dict(
        line.split(" = ", 1) for line in authority.host("a", listen="127.0.0.1:1").splitlines()[1:]
    )
    text = "".join(f"{k} = {v}\n" for k, v in {**lines, **change}.items())
    with pytest.raises(AssertionError, match="vreadd ended") as ended:
        start_daemon(extra=f"[peers]\n{text}")
    assert expected in str(ended.value)


# ---- datanodes that move ---------------------------------------------------------------------


def test_reads_take_the_new_way_after_a_move(start_host, start_asker, image):
    """A move ends the requests under way with EAGAIN, although their answers come.  Later reads
    ask only the new host."""
    block = image.blocks[0]
    (old, old_address), (_, new_address) = start_host(name="b"), start_host(name="c")
    peers = at(old_address), peer("c", address=new_address)
    asker = start_asker(*peers, keys={"streams": 1})
    handle = asker.open(block)[0]
    stop_process(old.process.pid)
    try:
        under_way = [asker.begin_read(handle, n * MIB, MIB, n * MIB) for n in range(4)]
        under_way.append(asker.begin("stat", handle))
        opening = asker.begin_open(block)
        eventually(lambda: asker.peer("b")["under_way"] == 6)
        asker.move("DS-1", "c")
        assert read_all(asker, block) == image.contents[block.id]  # nobody waits for the old host
    finally:
        old.process.send_signal(signal.SIGCONT)
    assert {asker.error(tag) for tag in (*under_way, opening)} == {"EAGAIN"}
    seen = asker.peer("b")
    assert (seen["state"], seen["failures"], seen["connects"]) == ("up", 0, 1)
    assert (seen["asked"]["bytes"], seen["asked"]["errors"]) == (0, {"EAGAIN": 6})
    assert asker.peer("c")["asked"]["bytes"] == block.length
    assert asker.error(asker.begin_read(handle, 0, 10)) == "EAGAIN"
    assert asker.peer("b")["requests"] == 7
    eventually(
        lambda: old.status()["peers"]["peers"][0]["answered"]["open_handles"] == 1
    )  # the handle of the OPEN under way was closed


# ---- many peers, many storages -------------------------------------------------------------------


@pytest.mark.thorough
def test_two_hundred_peers_after_use(authority, start_asker, image, clock):
    """Each of 200 peers is asked once.  When all 200 connections are idle, they cost nothing."""
    names = [f"p{n}" for n in range(200)]
    files = authority.certificate("crowd", san=",DNS:".join(names))

    def behave(_, connection):
        wire.greet(connection)
        while message := connection.receive():
            connection.send(wire.FAILED, message[2], struct.pack("<I", errno.ENOENT))

    with wire.FakePeer(files, authority.ca, behave) as fake:
        asker = start_asker(
            *(peer(name, address=fake.address, storages=f"dn1/DS-{name}") for name in names),
            keys={"idle-timeout": 1},
            variant="release",
        )
        process = f"/proc/{asker.process.pid}"

        def used():
            return len(os.listdir(f"{process}/fd")), len(os.listdir(f"{process}/task"))

        fds, threads = used()
        before = resident_kib(asker.process)
        peak = (0, 0)
        for name in names:
            assert asker.error(asker.begin_open(image.blocks[0], [f"DS-{name}"])) == "ENOENT"
            peak = max(peak, used())
        connected = resident_kib(asker.process)
        assert peak <= (fds + 2 * 200, threads + 200)  # a socket and an eventfd, a thread
        assert connected - before < 200 * 300
        clock.advance(1)
        eventually(lambda: {p["state"] for p in asker.status()["peers"]} == {"idle"})
        eventually(lambda: used() == (fds, threads))
        assert resident_kib(asker.process) - before < 200 * 64
        assert {p["connects"] for p in asker.status()["peers"]} == {1}
        assert {p["failures"] for p in asker.status()["peers"]} == {0}


def test_a_peer_that_announces_too_much(authority, start_host, start_asker, image):
    """The peer gets only its share, and the storages of another peer are found as usual."""
    _, address = start_host(name="c")
    count = 20_000

    def behave(_, connection):
        wire.greet(connection)
        for first in range(0, count, 200):
            ids = (f"DS-more-{n}" for n in range(first, first + 200))
            names = b"".join(wire.name("dn1") + wire.name(storage) for storage in ids)
            connection.send(wire.STORAGES, 0, names, wire.MORE)
        connection.ended()

    with wire.FakePeer(authority.certificate("b"), authority.ca, behave) as fake:
        asker = start_asker(
            at(fake.address, storages="dn1/DS-bait", datanodes="*"),
            peer("c", address=address, storages="dn1/DS-bait-c", datanodes="dn1"),
        )
        asker.begin_open(image.blocks[0], ["DS-bait"])
        eventually(lambda: asker.peer("b")["announcements_refused"] == count - 4096)
        assert asker.peer("b")["storages"] == 4096 + 1
        assert asker.error(asker.begin_open(image.blocks[0], ["DS-bait-c"])) == "ENODEV"
        eventually(lambda: asker.peer("c")["announced"] == 1)
        assert read_all(asker, image.blocks[1]) == image.contents[image.blocks[1].id]
