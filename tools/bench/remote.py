# SPDX-License-Identifier: GPL-2.0-or-later
"""The remote suite: blocks of another host, with vRead and without, and what the wire carries.

Two emulated Xen hosts on one wire, with soft-RoCE on it: NameNode and DataNode in domUs of the far
one, the client in a domU of the near one, a vreadd in each dom0.  Every round runs, one right
after the other, each reading the whole file once into 1 MiB buffers:

    remote.hdfs.tcp.seq          a stock HDFS client
    remote.hdfs.vread.tcp.seq    the same client with vRead by configuration, vreadds by TLS
    remote.hdfs.vread.rdma.seq   ... and by RDMA
    remote.vread.tcp.seq         /dev/vread in the client domU without Java, vreadds by TLS
    remote.vread.rdma.seq        ... and by RDMA
    wire.tcp                     as many bytes as a plain stream from dom0 to dom0
    wire.tls                     ... as a stream over TLS 1.3, by the cipher that vreadds use
    wire.rdma.write              ... and as RDMA WRITEs (ib_write_bw)

remote.vread.rdma.own are the reads of remote.vread.rdma.seq with what is left of their CPU time
when soft-RoCE's is taken off: see tools/bench/remote_cpu.py for what that is.

Everything is in the far host's memory before the rounds: the DataNode's page cache, and for vreadd,
which goes past dom0's, its cache of verified blocks.  CPU time is that of all domains of both
hosts.
Before the rounds all ways must give the same bytes; in each, the DataNode must have served nothing
for vRead's rows, and the near vreadd's counters must show by which way the bytes came.

Each host is one emulated processor, so rates say nothing and ratios what they can: a processor that
has instructions for AES and an adapter that does RDMA by itself have both done in software here.
"""

import json
import os
import re
import statistics
import time

from tools.bench import results
from tools.bench.load import Load
from tools.bench.remote_cpu import RemoteCpu
from tools.bench.results import Row, Target
from tools.bench.suite import BenchError, Suite
from tools.bench.wire import WireBench
from tools.bench.xen_client import XenClient
from tools.lab import LabError, deployment, hadoop, hadoop_pair
from tools.lab.hadoop_pair import FAR, NEAR
from tools.lab.paths import REPOSITORY
from tools.lab.source import noise
from tools.peers import INSTALLED, PeersError

VARIANT = "release"
REQUEST = 1 << 20
FILE, SMALL_FILE = "/bench.bin", "/small.bin"
PART = "/run/part"
VREADBENCH = "/usr/local/bin/vreadbench"
READ_TIMEOUT = 900.0
MOST_MIB = 56  # all must fit into vreadd's cache of verified blocks, 64 MiB
# A client that has lost its backend does not use it again for a while.
SOON = 300.0
POLL = 1.0

# What vreadd logs at its start: nanoseconds for a record of 16 KiB.
TRIED = re.compile(
    r"TLS: 16 KiB by AES-128-GCM (\d+) ns, by AES-256-GCM (\d+) ns, by ChaCha20-Poly1305 (\d+) ns"
)
RECORD = 16 << 10

STOCK, VREAD = "stock", "vread"  # the client's mounts
TRANSPORTS = {"tcp": "tls", "rdma": "rdma"}  # as configured: as the status calls it
HDFS_TCP = "remote.hdfs.tcp.seq"
OWN = "remote.vread.rdma.own"
ROWS = (
    HDFS_TCP,
    "remote.hdfs.vread.tcp.seq",
    "remote.hdfs.vread.rdma.seq",
    "remote.vread.tcp.seq",
    "remote.vread.rdma.seq",
    OWN,
    "wire.tcp",
    "wire.tls",
    "wire.rdma.write",
)
TARGETS = (
    Target("remote.vread.tcp.seq", "wire.tls", at_least=0.8),
    Target("remote.vread.rdma.seq", "wire.rdma.write", at_least=0.8),
    Target("remote.vread.tcp.seq", HDFS_TCP, at_most=0.6, cpu=True),
    Target("remote.hdfs.vread.tcp.seq", HDFS_TCP, at_most=0.6, cpu=True),
    Target(OWN, HDFS_TCP, at_most=0.3, cpu=True),
)
NOTE = (
    "Emulated hosts: rates mean nothing, ratios are what carries over, as far as what adapters and "
    "processors have instructions for is not done in software here (RDMA, AES)."
)


def run(mib, block_mib, rounds):
    """Measures; the document that results.write() takes."""
    if mib > MOST_MIB:
        raise BenchError(f"--mib: expected at most {MOST_MIB}, which vreadd keeps in memory")
    load = Load()
    source = noise(mib)
    with hadoop_pair.hosts("bench", VARIANT, mib, SUITE.say) as hosts:
        bench = _Bench(*hosts, source, block_mib)
        bench.check_agreement()
        for number in range(1, rounds + 1):
            SUITE.say(f"round {number} of {rounds}")
            bench.round()
        bench.close()
        cipher = bench.cipher_mb_s
        for host in hosts:
            host.check_dmesg()
    leaves = round(cipher / (cipher + statistics.median(bench.rows["wire.tcp"].values)), 2)
    conditions = {
        "hosts": 2,
        "emulated_cpus": 1,
        "cpus": os.cpu_count(),
        "cpus_used_by_others": load.told_by(SUITE),
        "bytes": source.size,
        "block_bytes": block_mib << 20,
        "request_bytes": REQUEST,
        "in_memory": "of the far host: the DataNode's page cache, vreadd's verified cache",
        "checksums": "verified by the client in remote.hdfs.tcp.seq, by vRead before its cache took"
        " the blocks, by nobody in wire.*",
        "cpu": "all domains of both hosts",
        "cpu_parts": "dom0s' softirq, vreadd's user and system time, and guests, s/GiB, medians",
        OWN: "CPU time without dom0s' softirq, where soft-RoCE works but for the packets that"
        " ibv_post_send() sends, which count as ours",
        "cpu_parts_s_per_gib": bench.parts(),
        "openssl_cpu": deployment.OPENSSL_CPU,
        "cipher_mb_s": cipher,
        "cipher_leaves": leaves,
        "ratio": "median of the rounds' ratios",
        "note": f"{NOTE}\nA processor that encrypts {cipher} MB/s, as vreadd measured, and sends as"
        f" fast as wire.tcp can at best do both at {leaves}x of wire.tcp.",
    }
    return results.document("remote", bench.rows.values(), TARGETS, conditions)


class _Bench:
    def __init__(self, near, far, source, block_mib):
        self._source = source
        self._hdfs = hadoop_pair.HdfsPair(
            near,
            far,
            block_mib=block_mib,
            near_datanode=False,
            tokens="off",  # vreadbench has none
            client_files=XenClient.files()
            | {VREADBENCH: REPOSITORY / "build" / VARIANT / "vreadbench"},
        )
        self._hdfs.start("tcp", SUITE.say)
        self.cipher_mb_s = _cipher_mb_s(self._hdfs.far.log())
        self._way = "tcp"
        self._write(-(-self._source.size // (block_mib << 20)))
        self._client = XenClient(self._hdfs.client)
        self._client.mount(STOCK, {})
        self._client.mount(VREAD, hadoop.READER)
        self._wire = WireBench(far, near, FAR.wire, NEAR.wire, VARIANT)
        self._cpu = RemoteCpu(self._hdfs.near, self._hdfs.far)
        self._parts = {}
        self.rows = {name: Row(name) for name in ROWS}

    def close(self):
        self._client.close()

    def check_agreement(self):
        """Fails unless all ways give the same bytes, which then are in memory everywhere."""
        SUITE.say("comparing what is read")
        sums = {STOCK: self._client.ask("sum", STOCK, FILE)["sum"]}
        for way in TRANSPORTS:
            self._use(way)
            sums[way] = self._client.ask("sum", VREAD, FILE)["sum"]
            digest = deployment.file_digest(self._hdfs.client)
            if digest != self._source.sha256:
                raise BenchError(
                    f"vRead by {way} gives SHA-256 {digest}, the file's is {self._source.sha256}"
                )
        if len(set(sums.values())) != 1:
            raise BenchError(f"{FILE} has different sums: {sums}")

    def round(self):
        """Begins with the way used last: another way restarts the near vreadd."""
        self._stock()
        other = next(way for way in TRANSPORTS if way != self._way)
        for way in (self._way, other):
            self._use(way)
            self._vread(f"remote.hdfs.vread.{way}.seq", self._read_by_java)
            self._vread(f"remote.vread.{way}.seq", self._read_without_java)
            if way == "tcp":
                self._add("wire.tcp", self._wire.tcp(self._source.size, self._cpu.of))
                self._add("wire.tls", self._read_by_tls())
            else:
                self._add("wire.rdma.write", self._wire.rdma(self._source.size, self._cpu.of))

    def parts(self):
        return {name: results.medians(rounds) for name, rounds in self._parts.items()}

    # ---- setting up ----------------------------------------------------------------

    def _write(self, blocks):
        SUITE.say("writing the file")
        hdfs = self._hdfs
        before = hdfs.published(FAR.datanode)
        with hdfs.shell() as shell:
            self._put(shell, FILE, f"bs=1M count={self._source.size >> 20}")
            self._put(shell, SMALL_FILE, "bs=4096 count=1")
        hdfs.wait_published(before + blocks + 1, FAR.datanode)
        specs = "".join(f"{block.spec()}\n" for block in hdfs.blocks(FILE))
        hdfs.client.run(f"cat >{deployment.BLOCKS}", stdin=specs.encode()).check()

    def _put(self, shell, path, part):
        """Writes that part of the client's source disk, in dd's words."""
        self._hdfs.client.run(f"dd if=/dev/xvdk of={PART} {part}").check()
        if shell.run(f"-put {PART} {path}")["status"]:
            raise BenchError(f"hdfs dfs -put {path}: {shell.complaints}")
        self._hdfs.client.run(["rm", PART]).check()

    def _use(self, way):
        """Makes the near vreadd ask that way; returns when the client reads by vRead again."""
        if way != self._way:
            self._hdfs.use(way)
            self._way = way
        deadline = time.monotonic() + SOON
        while not self._is_ready():
            if time.monotonic() > deadline:
                raise BenchError(
                    f"the client does not read by vRead ({way}): {self._hdfs.link()}\n"
                    f"{self._client.complaints}"
                )
            time.sleep(POLL)

    def _is_ready(self):
        served = self._hdfs.bytes_served(FAR.datanode)
        self._client.ask("seq", VREAD, SMALL_FILE, REQUEST)
        link = self._hdfs.link()
        return (
            self._hdfs.bytes_served(FAR.datanode) == served
            and link["transport"] == TRANSPORTS[self._way]
        )

    # ---- measuring -----------------------------------------------------------------

    def _stock(self):
        served = self._hdfs.bytes_served(FAR.datanode)
        ask = ("seq", STOCK, FILE, REQUEST)
        self._add(HDFS_TCP, self._cpu.of(lambda: self._client.ask(*ask)))
        served = self._hdfs.bytes_served(FAR.datanode) - served
        if served < self._source.size:
            raise BenchError(f"{HDFS_TCP}: the DataNode served {served} bytes")

    def _vread(self, name, read):
        self._use(self._way)  # the two vreadds' connection may have been idle
        served, link = self._hdfs.bytes_served(FAR.datanode), self._hdfs.link()
        self._add(name, self._cpu.of(read))
        now = self._hdfs.link()
        moved = {key: now[key] - link[key] for key in ("bytes", "direct", "bounced", "connects")}
        served = self._hdfs.bytes_served(FAR.datanode) - served
        size = self._source.size
        direct = size if self._way == "rdma" else 0
        if moved != {"bytes": size, "direct": direct, "bounced": 0, "connects": 0} or served:
            raise BenchError(f"{name}: {moved}; the DataNode served {served} bytes of {size}")

    def _read_by_java(self):
        return self._client.ask("seq", VREAD, FILE, REQUEST)

    def _read_without_java(self):
        command = f"{VREADBENCH} -r {REQUEST} < {deployment.BLOCKS}"
        return json.loads(self._hdfs.client.run(command, READ_TIMEOUT).check().stdout)

    def _read_by_tls(self):
        cipher = self._hdfs.near.status()["peers"]["cipher"]
        files = [f"{INSTALLED}/{FAR.name}.{suffix}" for suffix in ("pem", "key")]
        return self._wire.tls(self._source.size, cipher, files, self._cpu.of)

    def _add(self, name, result):
        measured, spent = result
        size = self._source.size
        if measured["bytes"] != size:
            raise BenchError(f"{name}: {measured['bytes']} bytes were read of {size}")
        self.rows[name].add(size, measured["seconds"], spent["all"])
        if name == "remote.vread.rdma.seq":
            self.rows[OWN].add(size, measured["seconds"], spent["all"] - spent["softirq"])
        parts = self._parts.setdefault(name, [])
        parts.append({part: seconds * results.GIB / size for part, seconds in spent.items()})


def _cipher_mb_s(log):
    """MB/s of the fastest cipher, as vreadd measured when it started."""
    found = TRIED.search(log)
    if not found:
        raise BenchError("vreadd's log does not have the speed of its ciphers")
    return round(RECORD / min(map(int, found.groups())) * 1e3, 1)


SUITE = Suite(
    "remote",
    __doc__,
    mib=48,
    block_mib=16,
    rounds=5,
    least_rounds=3,
    measure=run,
    failures=(LabError, PeersError),
)
