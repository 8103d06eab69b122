# SPDX-License-Identifier: GPL-2.0-or-later
"""The peer suite: one vreadd reads from another over loopback, beside what a connection can carry.

A real NameNode and DataNode run; the DataNode's directory is on a live ext4 image.  The far vreadd
serves this image.  The near vreadd serves none and has the far one as its peer.  Every round runs
these rows, one right after the other and with warm page caches:

    raw.tls         bytes of memory over one TLS 1.3 connection of the same cipher (tlsstream)
    raw.plain       bytes of memory over one TCP connection (blockstream)
    peer.tls.seq    vreadbench reads the file's blocks at the near vreadd; both started anew
    peer.bare.seq   the same, and both have `protection = authentication`: no encryption
    peer.plain.seq  the same, and both have `protection = integrity`: a MAC, no encryption
    raw.tls.2       two connections at a time, half of the bytes each
    peer.tls.2      two vreadbench at a time, half of the blocks each, by two connections
    hdfs.tcp.seq    a stock HDFS client reads the file: read() of 1 MiB pieces
    *.cpu           CPU seconds per GiB of each of these

CPU time is that of both ends: the two programs of raw.*, vreadbench and both vreadds, the HDFS
client and the DataNode.  vreadbench takes the bytes in place (-a async) and does not look at them
(-b); nor do the programs of raw.* and the HDFS client, which have them in a buffer.
Before the rounds the stock client and `vread cat` at the near vreadd must give the same bytes.  In
each round the near vreadd's counters must show that all bytes came from its peer, and by which way.

All processes of a row share the machine's processors.  Two processors are busy with TLS alone, so
what vRead does besides (reading, verifying, handing on) takes from TLS there.  raw.tls.2 tells what
a second connection brings on this machine.
"""

import hashlib
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tools.bench import results
from tools.bench.hdfs import REQUEST, STOCK
from tools.bench.hdfs_client import HdfsClient
from tools.bench.load import Load
from tools.bench.results import GIB, Ratio, Row, Target
from tools.bench.scaffold import Scaffold
from tools.bench.suite import BenchError, Suite
from tools.hdfs import HdfsCluster
from tools.hdfs.ports import free_ports
from tools.peers import Authority, PeersError, peer
from tools.vreadd import REPOSITORY, Vreadd, VreaddError, process_cpu_seconds

BINARIES = REPOSITORY / "build" / "release"
FILE, SMALL_FILE = "/bench/file", "/bench/small"
STEP_TIMEOUT = 300
WARM_UP_ROUNDS = 2
RAW_TLS, RAW_PLAIN, HDFS = "raw.tls", "raw.plain", "hdfs.tcp.seq"
RAW_TLS_2, PEER_TLS_2 = "raw.tls.2", "peer.tls.2"
# Row: what the near vreadd's status calls the way of the bytes, and lines of both [peer] sections.
PEER = {
    "peer.tls.seq": ("tls", {}),
    "peer.bare.seq": ("bare", {"protection": "authentication"}),
    "peer.plain.seq": ("plain", {"protection": "integrity"}),
}
NAMES = (RAW_TLS, RAW_PLAIN, *PEER, RAW_TLS_2, PEER_TLS_2, HDFS)
TARGETS = (
    Target("peer.tls.seq", RAW_TLS, 0.95),
    Target("peer.bare.seq", RAW_PLAIN, 0.8),
    Target("peer.bare.seq", HDFS, 1.5),
    Target("peer.bare.seq", HDFS, at_most=0.6, cpu=True),
    Target(PEER_TLS_2, "peer.tls.seq", 1.7),
    Ratio("peer.plain.seq", HDFS),
    Ratio(RAW_TLS_2, RAW_TLS),
    Ratio(PEER_TLS_2, RAW_TLS_2),
)


def cpu_name(name):
    return f"{name}.cpu"


def run(mib, block_mib, rounds):
    """Measures; the document that results.write() takes."""
    load = Load()
    SUITE.say("starting a NameNode, a DataNode and a client")
    with _Bench(mib, block_mib) as bench:
        bench.check_agreement()
        SUITE.say("warming up")
        bench.warm_up()
        for number in range(1, rounds + 1):
            SUITE.say(f"round {number} of {rounds}")
            bench.round()
        rows, cipher, connections = list(bench.rows.values()), bench.cipher, bench.connections
    conditions = {
        "cpus": os.cpu_count(),
        "cpus_used_by_others": load.told_by(SUITE),
        "bytes": mib << 20,
        "block_bytes": block_mib << 20,
        "request_bytes": REQUEST,
        "cipher": cipher,
        "wire": "loopback",
        "connections": connections,
        "page_cache": "warm",
        "api": "vread_submit, vread_reap; nobody looks at the bytes",
        "checksums": "verified by the far vreadd, and by the HDFS client; by nobody in raw.*",
        "cpu": "both ends",
        "ratio": "median of the rounds' ratios",
    }
    return results.document("peer", rows, TARGETS, conditions)


class _Bench(Scaffold):
    def __init__(self, mib, block_mib):
        super().__init__()
        self._size = mib << 20
        self._block_mib = block_mib
        self._cluster = self._client = self._authority = None
        self._blocks = {}  # path -> lines for vreadbench
        self._storages = ""
        self.cipher = None
        self.connections = {}  # row -> how many there were between the vreadds, at most
        self.rows = {name: Row(name) for name in NAMES}
        self.rows |= {cpu_name(name): Row(cpu_name(name), "s/GiB") for name in NAMES}

    # ---- setting up ----------------------------------------------------------------

    def _start(self):
        folder = self.temporary()
        self._cluster = HdfsCluster(
            folder / "hdfs",
            block_size=self._block_mib << 20,
            live=True,
            disk_mib=(self._size >> 20) + 512,
        )
        self._stack.enter_context(self._cluster)
        self._client = self._stack.enter_context(HdfsClient(self._cluster))
        self._client.mount("tcp", STOCK)
        address = self._cluster.datanode("dn1").address
        for path, size in ((FILE, self._size), (SMALL_FILE, 4096)):
            self._client.ask("write", "tcp", path, size, REQUEST, address)
            blocks = self._cluster.blocks(path)
            self._blocks[path] = "".join(f"{block.spec()}\n" for block in blocks)
        self._cluster.sync()
        storages = self._cluster.datanode("dn1").storage_ids()
        self._storages = " ".join(f"dn1/{storage}" for storage in storages)
        self._authority = Authority(folder)
        self.cipher = self._find_cipher()

    def _find_cipher(self):
        with self._hosts({}) as (near, _):
            return near.status()["peers"]["cipher"]

    @contextmanager
    def _hosts(self, settings):
        """Two vreadds that have verified nothing yet, (near, far), connected with each other."""
        address = f"127.0.0.1:{free_ports(1)[0]}"
        far_sections = self._authority.host("far", listen=address)
        far_sections += peer("near", allow_datanodes="dn1", **settings)
        near_sections = self._authority.host("near", answer_timeout=60000)
        near_sections += peer("far", address=address, storages=self._storages, **settings)
        far = Vreadd(self._cluster.served("dn1"), sections=far_sections)
        with far, Vreadd({}, sections=near_sections) as near:
            self._digest(near, SMALL_FILE)
            yield near, far

    # ---- measuring -----------------------------------------------------------------

    def check_agreement(self):
        sums = {"stock": self._cluster.sha256(FILE)}
        for name, (_, settings) in PEER.items():
            with self._hosts(settings) as (near, _):
                sums[name] = self._digest(near, FILE)
        if len(set(sums.values())) != 1:
            raise BenchError(f"{FILE} has different digests: {sums}")

    def warm_up(self):
        for _ in range(WARM_UP_ROUNDS):
            self.round()
        for row in self.rows.values():
            row.clear()

    def round(self):
        self._raw_tls()
        self._raw_plain()
        for name in PEER:
            self._peer(name)
        self._raw_tls(RAW_TLS_2, 2)
        self._peer(PEER_TLS_2, 2)
        self._hdfs()

    def _raw_tls(self, name=RAW_TLS, streams=1):
        certificate, key = self._authority.certificate("far")
        program, ports = BINARIES / "tlsstream", free_ports(streams)
        size, end = self._size // streams, (certificate, key, self.cipher)
        serve = [[program, "serve", port, size, *end] for port in ports]
        fetch = [[program, "fetch", "127.0.0.1", port, self.cipher] for port in ports]
        self._raw(name, serve, fetch)

    def _raw_plain(self):
        port = free_ports(1)[0]
        program = BINARIES / "blockstream"
        serve = [program, "serve", port, self._size]
        self._raw(RAW_PLAIN, [serve], [[program, "fetch", "127.0.0.1", port]])

    def _raw(self, name, serve, fetch):
        """One server and one client for each of the commands, all at a time."""
        with ExitStack() as stack:
            servers = [stack.enter_context(_server(command)).pid for command in serve]
            before = sum(map(process_cpu_seconds, servers))
            measured = _together([(command, "") for command in fetch])
            measured["cpu_seconds"] += sum(map(process_cpu_seconds, servers)) - before
        self._add(name, measured)

    def _peer(self, name, readers=1):
        way, settings = PEER.get(name, PEER["peer.tls.seq"])
        with self._hosts(settings) as (near, far):
            before = near.cpu_seconds() + far.cpu_seconds()
            link = _link(near)
            measured = self._read(near, readers)
            measured["cpu_seconds"] += near.cpu_seconds() + far.cpu_seconds() - before
            now = _link(near)
        self.connections[name] = max(self.connections.get(name, 0), now["streams"])
        moved = {key: now[key] - link[key] for key in ("bytes", "plain")}
        plain = 0 if way == "tls" else self._size
        if now["transport"] != way or moved != {"bytes": self._size, "plain": plain}:
            raise BenchError(f"{name}: {moved} of {self._size} by {now['transport']}")
        self._add(name, measured)

    def _hdfs(self):
        datanode = self._cluster.pids["dn1"]
        before = self._client.cpu_seconds() + process_cpu_seconds(datanode)
        measured = self._client.ask("seq", "tcp", FILE, REQUEST)
        after = self._client.cpu_seconds() + process_cpu_seconds(datanode)
        self._add(HDFS, measured | {"cpu_seconds": after - before})

    def _read(self, near, readers):
        command = [BINARIES / "vreadbench", "-e", near.endpoint, "-a", "async", "-b", "-r", REQUEST]
        blocks = self._blocks[FILE].splitlines(keepends=True)
        shares = ["".join(blocks[reader::readers]) for reader in range(readers)]
        return _together([(command, share) for share in shares], near)

    def _digest(self, near, path):
        listed = Path(near.endpoint).with_name("blocks")
        listed.write_text(self._blocks[path])
        command = [BINARIES / "vread", "cat", "--endpoint", near.endpoint, "--blocks-from", listed]
        return hashlib.sha256(_run(command, near=near).stdout).hexdigest()

    def _add(self, name, measured):
        size = measured["bytes"]
        if size != self._size:
            raise BenchError(f"{name}: {size} bytes were read of {self._size}")
        self.rows[name].add(size, measured["seconds"], measured["cpu_seconds"])
        self.rows[cpu_name(name)].add_figure(measured["cpu_seconds"] * GIB / size)


def _link(near):
    return near.status()["peers"]["peers"][0]


@contextmanager
def _server(command):
    """A server that says `listening`.  It is killed at the end."""
    server = subprocess.Popen(
        list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    try:
        if server.stdout.readline().strip() != "listening":
            raise BenchError(f"{Path(command[0]).name} does not listen")
        yield server
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def _together(programs, near=None):
    """Runs programs at a time, each a command and its standard input.  Returns what they tell, as
    one: bytes, CPU seconds, and the seconds of the slowest."""
    with ThreadPoolExecutor(len(programs)) as threads:
        ended = threads.map(lambda each: _run(*each, near), programs)
        told = [json.loads(done.stdout or done.stderr) for done in ended]
    return {
        "bytes": sum(each["bytes"] for each in told),
        "seconds": max(each["seconds"] for each in told),
        "cpu_seconds": sum(each["cpu_seconds"] for each in told),
    }


def _run(command, stdin="", near=None):
    """Runs a program.  An error has the end of the log of the vreadd `near`."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            list(map(str, command)),
            input=stdin.encode(),
            capture_output=True,
            timeout=STEP_TIMEOUT,
        )
    except FileNotFoundError as error:
        raise BenchError(f"{command[0]} is not built; run `make all`") from error
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{name}: no end after {STEP_TIMEOUT} s") from error
    if done.returncode != 0:
        log = f"\nvreadd's log ends:\n{near.log()}" if near else ""
        raise BenchError(f"{name} failed (exit {done.returncode}): {done.stderr.decode()}{log}")
    return done


SUITE = Suite(
    "peer",
    __doc__,
    mib=1024,
    block_mib=128,
    rounds=11,
    least_rounds=1,
    measure=run,
    failures=(VreaddError, PeersError),
)
