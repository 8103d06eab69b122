# SPDX-License-Identifier: GPL-2.0-or-later
"""What one host may hold of another: it counts against the host, whatever its connections do, until
it is back.  Others are served meanwhile."""

import contextlib
import errno
import os
import struct

import pytest

from tests.support import peer_wire as wire
from tests.support.hanging_disk import HangingDisk
from tests.support.hdfs_dir import POOL, DataDirectory
from tests.support.peers import at, read_all
from tests.support.waiting import eventually
from tools.images import make_datanode_image
from tools.peers import peer

MIB = 1 << 20
CONNECTIONS = 8  # that a host may have
CREDITS = 32  # requests of a connection that may be unanswered
FIRST_HANDLE = struct.pack("<I", 1 << 12)  # of a connection
TOO_MUCH = "it announces storages too often, or too many"
SLOW = ("a", "e")
ALL = (*SLOW, "d")


@pytest.fixture
def files(authority):
    return {name: (authority.certificate(name), authority.ca) for name in ALL}


@pytest.fixture
def start(start_host):
    def begin(**options):
        return start_host(peers="".join(peer(n, allow_datanodes="*") for n in ALL), **options)

    return begin


def server(host):
    return host.status()["peers"]["server"]


def open_one(connection, block, storage="DS-1"):
    connection.send(wire.OPEN, 1, wire.open_body(POOL, block.id, block.genstamp, [storage]))
    return connection.until(wire.OPENED)[3][:4]


def ask(connection, handle, length=4 * MIB, count=CREDITS - 1):
    for n in range(count):
        connection.send(wire.READ, n + 2, handle + struct.pack("<IQ", length, 0))


def ask_and_take_nothing(connection, block):
    """Does not wait for the answer to its OPEN: it comes when the host may have a buffer.  With one
    worker the OPEN is done before the READs."""
    connection.send(wire.OPEN, 1, wire.open_body(POOL, block.id, block.genstamp, ["DS-1"]))
    ask(connection, FIRST_HANDLE)


class Neighbour:
    """A host that takes its answers."""

    def __init__(self, connection, image):
        self.connection, self.block = connection, image.blocks[0]
        self.content = image.contents[self.block.id]
        self.handle = open_one(connection, self.block)

    def reads(self):
        """Reads some MiB, one after the other, so that all who wait have had turns."""
        for _ in range(CONNECTIONS):
            ask(self.connection, self.handle, MIB, 1)
            assert self.connection.until(wire.DATA)[3] == self.content[:MIB]
        return True


def serves(start_asker, address, image, name="d"):
    """The host answers the host of that name."""
    asker = start_asker(at(address), name=name)
    block = image.blocks[0]
    for _ in range(3):
        assert read_all(asker, block) == image.contents[block.id]
    return True


@pytest.mark.parametrize("buffers", [32, 8])
@pytest.mark.parametrize("slow", [SLOW[:1], SLOW])
def test_slow_hosts_take_all_buffers(start, start_asker, image, files, buffers, slow):
    """One connection after the other, since a connection alone may have more than each of several.
    Each host holds a quarter at most."""
    host, address = start(keys={"buffers": buffers, "workers": 1})

    def holds(share):
        eventually(
            lambda: server(host)["buffers_used"] == share,
            what=lambda: f"{share} buffers, not {server(host)['buffers_used']}",
        )

    with wire.connect(address, *files["d"]) as connection, contextlib.ExitStack() as stack:
        neighbour = Neighbour(connection, image)
        for count, name in enumerate(slow, 1):
            for _ in range(4):
                another = stack.enter_context(wire.connect(address, *files[name]))
                ask_and_take_nothing(another, image.blocks[0])
                assert neighbour.reads()
                holds(count * buffers // 4)
    holds(0)
    assert serves(start_asker, address, image, "a")  # as before


def test_a_slow_host_connects_again_and_again(start, start_asker, image, files):
    """What its connections held is back when they have ended, and counts until then."""
    host, address = start(keys={"workers": 1})
    block = image.blocks[0]
    with contextlib.ExitStack() as last:
        for _ in range(3 * CONNECTIONS):
            with contextlib.ExitStack() as now:
                ask_and_take_nothing(now.enter_context(wire.connect(address, *files["a"])), block)
                eventually(lambda: server(host)["buffers_used"] > 0)
                assert server(host)["buffers_used"] <= 8
                last.enter_context(now.pop_all())
        assert serves(start_asker, address, image)
        eventually(lambda: server(host)["buffers_used"] == 8)
    eventually(lambda: server(host)["buffers_used"] == 0)


def unsent(address):
    """Sockets that the kernel keeps for what a closed connection has not sent."""
    port = f"{int(address.rsplit(':', 1)[1]):04X}"
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table][1:]
    ours = [r for r in rows if r[1].endswith(f":{port}") and r[9] == "0" and r[3] != "06"]
    return sum(int(row[4].split(":")[0], 16) > 0 for row in ours)


def test_answers_of_closed_connections_stay_in_the_kernel(start, start_asker, image, files):
    """A host takes nothing and makes more connections than it may have, so that this host closes
    the oldest ones.  What they have not taken must go with them."""
    host, address = start(keys={"workers": 1})
    with contextlib.ExitStack() as stack:
        for _ in range(2 * CONNECTIONS):
            connection = stack.enter_context(wire.connect(address, *files["a"]))
            ask_and_take_nothing(connection, image.blocks[0])
        eventually(
            lambda: host.status()["peers"]["peers"][0]["answered"]["connections"] == CONNECTIONS
        )
        assert serves(start_asker, address, image)
        assert unsent(address) == 0


class Other:
    """The image of a second datanode."""

    data_dirs = ("/dfs/data",)

    def __init__(self, folder):
        directory = DataDirectory(folder / "other", storage="DS-2")
        self.block = directory.add(1073742000, 50_000)
        self.path = make_datanode_image([directory.path], folder / "other.img", free_mib=24).path

    def section(self):
        return f"[datanode dn2]\nimage = {self.path}\ndata-dirs = /dfs/data\n"


def workers(host):
    return {p["name"]: p["answered"]["workers"] for p in host.status()["peers"]["peers"]}


def test_a_host_reads_from_a_disk_that_hangs(start_host, image, files, tmp_path):
    """Its requests hang, also those of connections that have ended.  A worker is left for each
    other host that is connected, and these read from another disk."""
    disk, other = HangingDisk(tmp_path, image), Other(tmp_path)
    sections = "".join(peer(n, allow_datanodes="*") for n in ALL) + other.section()
    host, address = start_host(peers=sections, keys={"workers": 4}, wrapper=disk.wrapper)
    block = image.blocks[0]

    def serve(connection):
        handle = open_one(connection, other.block, "DS-2")
        ask(connection, handle, 50_000, 1)
        assert connection.until(wire.DATA)[3] == other.block.content()
        connection.send(wire.CLOSE, 0, handle)

    with (
        wire.connect(address, *files["d"]) as neighbour,
        wire.connect(address, *files["e"]) as another,
    ):
        with contextlib.ExitStack() as stack:
            connections = [
                stack.enter_context(wire.connect(address, *files["a"])) for _ in range(CONNECTIONS)
            ]
            handles = [open_one(connection, block) for connection in connections]
            disk.hang()
            for connection, handle in zip(connections, handles, strict=True):
                ask(connection, handle, MIB, 4)
            eventually(disk.reads)
            for one in (neighbour, another):
                serve(one)
            assert disk.reads() <= 2
        # All its connections have ended.  What the disk holds of them still counts.
        eventually(lambda: server(host)["connections"] == 2)
        with wire.connect(address, *files["a"]) as again:
            again.send(wire.OPEN, 1, wire.open_body(POOL, block.id, block.genstamp, ["DS-1"]))
            again.send(wire.STAT, 2, struct.pack("<I", 77))
            for one in (neighbour, another):
                serve(one)
            assert disk.reads() <= 2
            assert workers(host)["a"] == 2
            os.close(disk.answer())
            assert again.until(wire.OPENED)  # as before
    eventually(lambda: set(workers(host).values()) == {0})
    assert server(host)["buffers_used"] == 0


def test_memory_of_open_blocks_over_many_connections(start, image, files):
    """The connections of a host share the memory for open blocks.  Another host has its own, and
    the memory is there again when the blocks are closed."""
    host, address = start(local="[vreadd]\nhandle-memory = 8M\n")
    block = image.blocks[0]
    body = wire.open_body(POOL, block.id, block.genstamp, ["DS-1"])

    def answered(name):
        found = {p["name"]: p["answered"] for p in host.status()["peers"]["peers"]}
        return found[name]

    def open_all(connection):
        """Opens the block until that is refused."""
        for id_ in range(1, 4098):
            connection.send(wire.OPEN, id_, body)
            kind, _, _, answer = connection.until(wire.OPENED, wire.FAILED)
            if kind == wire.FAILED:
                assert answer == struct.pack("<I", errno.EMFILE)
                return id_ - 1
        raise AssertionError("no OPEN was refused")

    with wire.connect(address, *files["d"]) as neighbour:
        with contextlib.ExitStack() as stack:
            connections = [
                stack.enter_context(wire.connect(address, *files["a"])) for _ in range(CONNECTIONS)
            ]
            opened = [open_all(connection) for connection in connections]
            assert opened[0] > 100
            assert sum(opened[1:]) == 0
            assert 7 * MIB < answered("a")["handle_bytes"] <= 8 * MIB
            assert answered("a")["errors"] == {"EMFILE": CONNECTIONS}
            assert open_one(neighbour, block)
        eventually(lambda: answered("a")["handle_bytes"] == 0)
        with wire.connect(address, *files["a"]) as again:
            assert open_all(again) == opened[0]


def test_a_host_announces_its_storages_without_end(authority, start_host, start_asker, image):
    """Its connection ends, and the pace stays when it is connected to again.  Another host is heard
    and read from meanwhile."""
    _, good = start_host(name="c")
    ended = []

    def behave(_, connection):
        wire.greet(connection)
        with contextlib.suppress(OSError):
            while True:
                connection.tls.sendall(wire.message(wire.STORAGES, 0) * 1000)
        ended.append(True)

    with wire.FakePeer(authority.certificate("b"), authority.ca, behave) as fake:
        asker = start_asker(
            at(fake.address, storages="dn1/DS-bait", datanodes="*"),
            peer("c", address=good, storages="dn1/DS-1"),
        )
        asker.begin_open(image.blocks[0], ["DS-bait"])
        eventually(lambda: ended)
        eventually(lambda: asker.peer("b")["last_error"] == TOO_MUCH)
        assert read_all(asker, image.blocks[0]) == image.contents[image.blocks[0].id]


def test_a_host_announces_a_list_without_end(authority, start_asker, image):
    ids = b"".join(wire.name("dn1") + wire.name(f"DS-{n}") for n in range(200))
    ended = []

    def behave(_, connection):
        wire.greet(connection)
        with contextlib.suppress(OSError):
            while True:
                connection.send(wire.STORAGES, 0, ids, wire.MORE)
        ended.append(True)

    with wire.FakePeer(authority.certificate("b"), authority.ca, behave) as fake:
        asker = start_asker(at(fake.address, storages="dn1/DS-bait", datanodes="*"))
        asker.begin_open(image.blocks[0], ["DS-bait"])
        eventually(lambda: ended)
        assert asker.peer("b")["last_error"] == TOO_MUCH


def test_a_host_fills_the_log_over_many_connections(start, start_asker, image, files):
    """Its lines count against the host.  Those about another host are written."""
    host, address = start()

    def provoke(name):
        with wire.connect(address, *files[name]) as connection:
            with contextlib.suppress(OSError):  # the host may close it first
                connection.send(wire.DATA, 1, b"x")
            assert connection.ended()

    def lines(name):
        return host.log().count(f"warning: peer {name}: from ")

    for _ in range(1100):
        provoke("a")
    eventually(lambda: host.status()["log"] == {"left_out": 100, "lost": 0})
    assert lines("a") == 1000
    provoke("e")
    eventually(lambda: lines("e") == 1)
    assert serves(start_asker, address, image)
    host.clock.advance(1)
    provoke("a")
    eventually(lambda: "100 lines of peer a were left out" in host.log())
