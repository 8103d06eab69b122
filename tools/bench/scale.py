# SPDX-License-Identifier: GPL-2.0-or-later
"""The scale suite: what a read costs, and vreadd's memory, with more of everything on a host.

All is native, over the local port, where each client process is a device, as a client guest is.
The images are mounted ext4, in the page cache.  Needs root.  Every round runs:

    readers.N           N clients at once, each reading 256 MiB in steps of 1 MiB
    datanodes.N.seq     one client reads 256 MiB of one datanode, while vreadd serves N of them
    datanodes.N.open    an OPEN that names the storage, median of a round
    peers.N.seq         one client reads 256 MiB, with N other hosts configured, none in use
    peers.N.open        an OPEN that names the storage, median of a round

Memory is the anonymous part of vreadd's Pss.  A client's pool is the client's own memory:

    memory.start        vreadd with one datanode and no client
    memory.parser       the parser of this datanode
    memory.device       each of 32 connected clients, with one block open and 1 MiB of it read
    memory.block        each of 1000 further open blocks of one client
    memory.datanode     each of 15 further datanodes, without its parser
    memory.peer         each of 200 other hosts configured
    memory.million      vreadd more, and
    memory.million.parser   the parser more, if the datanode has a million blocks, of which 200 were
                        opened

The targets say what flat is: within a fifth of the CPU time, or of the time of an OPEN.
"""

import os
import re
import shutil
import statistics
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tools.bench import clients, results
from tools.bench.block_disk import FIRST_STAMP, POOL, STORAGE, BlockDisk
from tools.bench.load import Load
from tools.bench.results import Row, Target
from tools.bench.suite import BenchError, Suite
from tools.images import ImageError
from tools.peers import Authority, PeersError, peer
from tools.vreadd import REPOSITORY, DataDirs, Vreadd, VreaddError

REQUEST = 1 << 20
READERS = (1, 2, 4, 8, 16, 32, 64)
DATANODES = (1, 4, 16)
PEERS = (0, 200)
STORAGES_OF_A_PEER = 5
BLOCKS = 4  # of a datanode, with bytes
SMALL = 1000  # blocks of 4 KiB of the first datanode
SMALL_BYTES = 4096
DEVICES = 32
OPENS = 200
FIRST_ID = 1 << 30
FLAT = 1.2
KIB = "KiB"


def _targets():
    for n in READERS[1:]:
        yield Target(f"readers.{n}", "readers.1", at_most=FLAT, cpu=True)
    for n in DATANODES[1:]:
        yield Target(f"datanodes.{n}.seq", "datanodes.1.seq", at_most=FLAT, cpu=True)
        yield Target(f"datanodes.{n}.open", "datanodes.1.open", at_most=FLAT)
    for n in PEERS[1:]:
        yield Target(f"peers.{n}.seq", "peers.0.seq", at_most=FLAT, cpu=True)
        yield Target(f"peers.{n}.open", "peers.0.open", at_most=FLAT)


TARGETS = tuple(_targets())


def run(mib, block_mib, rounds, million=1_000_000):
    """Measures; the document that results.write() takes."""
    load = Load()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="bench-scale-", dir=REPOSITORY / "build"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        SUITE.say("making file systems")
        disks = [
            stack.enter_context(_disk(folder, number, block_mib << 20))
            for number in range(max(DATANODES))
        ]
        names = million if mib == SUITE.mib else 2048
        large = stack.enter_context(_large_disk(folder, names))
        bench = _Bench(folder, disks, large, mib, block_mib << 20)
        bench.warm_up()
        for number in range(1, rounds + 1):
            SUITE.say(f"round {number} of {rounds}")
            bench.round()
    conditions = {
        "cpus": os.cpu_count(),
        "cpus_used_by_others": load.told_by(SUITE),
        "bytes_of_a_reader": mib << 20,
        "block_bytes": block_mib << 20,
        "request_bytes": REQUEST,
        "opens_a_round": OPENS,
        "page_cache": "warm",
        "blocks_of_million": names,
        "storages_of_a_peer": STORAGES_OF_A_PEER,
        "cpu": "clients and vreadd",
        "memory": "anonymous Pss of vreadd, KiB; of parser: of vread-parser",
        "ratio": "median of the rounds' ratios",
    }
    return results.document("scale", bench.rows.values(), TARGETS, conditions)


def _storage(number):
    return f"DS-{number + 1}"


@contextmanager
def _disk(folder, number, block_bytes):
    """A datanode's disk; the blocks of each have other ids."""
    place = folder / f"dn{number}"
    place.mkdir()
    length = (BLOCKS * block_bytes * 2 + (64 << 20)) >> 20 << 20
    with BlockDisk(place, "ext4", length, _storage(number)) as disk:
        for block in _ids(number):
            disk.write(block, os.urandom(1 << 20) * (block_bytes >> 20))
        if number == 0:
            for block in range(FIRST_ID, FIRST_ID + SMALL):
                disk.write(block, block.to_bytes(8, "big") * (SMALL_BYTES // 8))
        disk.sync_all()
        yield disk


@contextmanager
def _large_disk(folder, names):
    """A disk with that many blocks, OPENS of them with bytes."""
    place = folder / "large"
    place.mkdir()
    with BlockDisk(place, "ext4", 1 << 40, "DS-large") as disk:
        step = names // OPENS
        full = set(range(FIRST_ID, FIRST_ID + OPENS * step, step))
        disk.write_names(sorted(set(range(FIRST_ID, FIRST_ID + names)) - full))
        for block in full:
            disk.write(block, block.to_bytes(8, "big") * (SMALL_BYTES // 8))
        disk.sync_all()
        disk.opened = sorted(full)
        yield disk


def _ids(number):
    return range((number + 1) * 100, (number + 1) * 100 + BLOCKS)


def _line(block, length, storage):
    return f"{POOL}/blk_{block}_{FIRST_STAMP}@{storage}:{length}\n"


class _Bench:
    def __init__(self, folder, disks, large, mib, block_bytes):
        self._disks, self._large = disks, large
        self._bytes, self._block_bytes = mib << 20, block_bytes
        self._peers_head = Authority(folder).host("here")
        names = [f"readers.{n}" for n in READERS]
        names += [f"datanodes.{n}.seq" for n in DATANODES] + [f"peers.{n}.seq" for n in PEERS]
        self.rows = {name: Row(name) for name in names}
        for n in DATANODES:
            self._new_row(f"datanodes.{n}.open", "us")
        for n in PEERS:
            self._new_row(f"peers.{n}.open", "us")
        for what in ("start", "parser", "device", "block", "datanode", "peer"):
            self._new_row(f"memory.{what}", KIB)
        self._new_row("memory.million", KIB)
        self._new_row("memory.million.parser", KIB)

    def _new_row(self, name, unit):
        self.rows[name] = Row(name, unit)

    def warm_up(self):
        """Brings the bytes into the page cache, by the way that is measured."""
        with self._vreadd(len(self._disks)) as daemon:
            for number in range(len(self._disks)):
                clients.run_together(daemon, [self._lines(number)], REQUEST)

    def round(self):
        for count in READERS:
            with self._vreadd(1) as daemon:
                self._read(f"readers.{count}", daemon, count)
        start = self._of_datanodes()
        self._of_peers()
        self._of_clients(*start)

    def _of_datanodes(self):
        """Also measures vreadd's memory.  Of one datanode: (of vreadd, of its parser)."""
        used = {}
        for count in DATANODES:
            with self._vreadd(count) as daemon:
                used[count] = _memory(daemon)
                self._read(f"datanodes.{count}.seq", daemon)
                self._open(f"datanodes.{count}.open", daemon)
        one, many = used[DATANODES[0]], used[DATANODES[-1]]
        self._figure("memory.start", one[0])
        self._figure("memory.parser", one[1])
        self._figure("memory.datanode", (many[0] - one[0]) / (DATANODES[-1] - DATANODES[0]))
        return one

    def _of_peers(self):
        used = []
        for count in PEERS:
            with self._vreadd(1, self._peers(count)) as daemon:
                used.append(_memory(daemon)[0])
                self._read(f"peers.{count}.seq", daemon)
                self._open(f"peers.{count}.open", daemon)
        self._figure("memory.peer", (used[-1] - used[0]) / (PEERS[-1] - PEERS[0]))

    def _of_clients(self, idle, parser):
        small = [_line(FIRST_ID + i, SMALL_BYTES, _storage(0)) for i in range(SMALL)]
        with self._vreadd(1) as daemon, ExitStack() as stack:
            before, _ = _memory(daemon)
            holders = [stack.enter_context(_Holder(daemon)) for _ in range(DEVICES)]
            for holder in holders:
                holder.hold(self._block(0))
            connected, _ = _memory(daemon)
            for line in small:
                holders[0].hold(line)
            opened, _ = _memory(daemon)
        self._figure("memory.device", (connected - before) / DEVICES)
        self._figure("memory.block", (opened - connected) / SMALL)
        with Vreadd({"large": DataDirs(self._large.image, ["/data"])}) as daemon:
            _opened(daemon, [_line(block, SMALL_BYTES, STORAGE) for block in self._large.opened])
            vreadd, its_parser = _memory(daemon)
        self._figure("memory.million", vreadd - idle)
        self._figure("memory.million.parser", its_parser - parser)

    def _vreadd(self, count, sections=""):
        datanodes = {
            f"dn{number}": DataDirs(disk.image, ["/data"])
            for number, disk in enumerate(self._disks[:count])
        }
        return Vreadd(datanodes, sections=sections)

    def _peers(self, count):
        """Hosts that do not exist: nobody asks them."""
        storages = (
            " ".join(f"dn{n}/DS-{n}-{k}" for k in range(STORAGES_OF_A_PEER)) for n in range(count)
        )
        peers = [
            peer(f"p{n}", address="127.0.0.1:9", storages=names) for n, names in enumerate(storages)
        ]
        return "".join([self._peers_head, *peers])

    def _lines(self, number=0):
        """The blocks of a datanode, over and over."""
        blocks = [_line(block, self._block_bytes, _storage(number)) for block in _ids(number)]
        return "".join(blocks) * (self._bytes // (BLOCKS * self._block_bytes))

    def _block(self, number):
        return _line(_ids(number)[0], self._block_bytes, _storage(number))

    def _read(self, name, daemon, count=1):
        with clients.counted(daemon) as cpu:
            each = clients.run_together(daemon, [self._lines()] * count, REQUEST)
        total = clients.together(each, cpu[0])
        if total["bytes"] != count * self._bytes:
            raise BenchError(f"{name}: {total['bytes']} bytes of {count * self._bytes}")
        self.rows[name].add(total["bytes"], total["seconds"], total["cpu_seconds"])

    def _open(self, name, daemon):
        """Opens blocks that this vreadd has not seen."""
        blocks = range(FIRST_ID, FIRST_ID + OPENS)
        lines = [_line(block, SMALL_BYTES, _storage(0)) for block in blocks]
        self.rows[name].add_time(statistics.median(_opened(daemon, lines)))

    def _figure(self, name, value):
        self.rows[name].add_figure(value)


class _Holder:
    """A client that keeps blocks open."""

    def __init__(self, daemon):
        self._daemon = daemon
        self._client = clients.start(clients.command(daemon, "hold", REQUEST))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._client.communicate(timeout=clients.TIMEOUT)

    def hold(self, line):
        self._client.stdin.write(line)
        self._client.stdin.flush()
        if self._client.stdout.readline() != "held\n":
            complaint = self._client.stderr.read().strip()
            raise BenchError(f"vreadbench: {complaint}\nvreadd's log ends:\n{self._daemon.log()}")


def _opened(daemon, lines):
    """Opens and closes the blocks; the microseconds of each OPEN."""
    client = clients.start(clients.command(daemon, "open", SMALL_BYTES))
    out, complaint = client.communicate("".join(lines), timeout=clients.TIMEOUT)
    if client.returncode:
        raise BenchError(f"vreadbench: {complaint.strip()}\nvreadd's log ends:\n{daemon.log()}")
    return [float(line) for line in out.split()]


def _memory(daemon):
    """KiB of vreadd, and of its parsers."""
    lists = Path(f"/proc/{daemon.pid}/task").glob("*/children")
    children = [pid for text in lists for pid in text.read_text().split()]
    parsers = [pid for pid in children if _is_parser(pid)]
    if len(parsers) != len(daemon.datanodes):
        raise BenchError(f"{len(parsers)} parsers of {len(daemon.datanodes)} datanodes")
    return _anonymous(daemon.pid), sum(map(_anonymous, parsers))


def _is_parser(pid):
    return Path(f"/proc/{pid}/comm").read_text().strip() == "vread-parser"


def _anonymous(pid):
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"Pss_Anon:\s*(\d+) kB", text)[1])


SUITE = Suite(
    "scale",
    __doc__,
    mib=256,
    block_mib=4,
    rounds=5,
    least_rounds=1,
    measure=run,
    failures=(VreaddError, ImageError, PeersError),
)
