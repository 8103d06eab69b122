# SPDX-License-Identifier: GPL-2.0-or-later
"""Stock Hadoop over two real Xen hosts, with vRead by configuration.  The client domU on one host
reads files of which all or half of the blocks are on the other host, by RDMA and by TCP.  Both
hosts are restored from the state of test_hadoop.py.

Block tokens are on: the far datanode's domU sends the keys to the far host, and that host requires
a token for every block.
"""

import json
from hashlib import sha256

import pytest

from tests.support.waiting import eventually
from tools.lab import hadoop, hadoop_pair
from tools.lab.hadoop_pair import FAR, NEAR, NEAR_FOLDER, HdfsPair
from tools.lab.source import noise

# `make test` instead runs tests/hdfs/test_hadoop_remote.py, with stock Hadoop, tokens and two
# vreadds on this machine, and pair/test_remote_read.py, with two hosts, RDMA and TCP.
pytestmark = [pytest.mark.xen, pytest.mark.hadoop, pytest.mark.slow, pytest.mark.timeout(2400)]

MIB = 1 << 20
BLOCK_MIB = 4
FILE_MIB = 16
HALF_MIB = FILE_MIB // 2
REMOTE, HYBRID, HALF = "/remote", "/hybrid", f"{NEAR_FOLDER}/half"
ON_FAR_HOST = {REMOTE: FILE_MIB * MIB, HYBRID: HALF_MIB * MIB}
STATISTICS = "/run/statistics.json"
READER = hadoop.READER | {hadoop.STATISTICS: STATISTICS}
LINK_NAMES = {"tcp": "tls", "rdma": "rdma"}
TIMES = 4
LAG = 60.0
SOON = 300.0  # s; ten times as long as a failed backend is not tried


@pytest.fixture(scope="module")
def source():
    return noise(FILE_MIB)


@pytest.fixture(scope="module")
def pair(start_host, product_files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    dom0_files, guest_files = product_files
    files = (dom0_files | hadoop_pair.certificates(folder), guest_files)
    far = start_host("hadoop-far", **hadoop_pair.host_arguments(FAR, folder, *files))
    near = start_host("hadoop-near", **hadoop_pair.host_arguments(NEAR, folder, *files))
    hdfs = HdfsPair(near, far, block_mib=BLOCK_MIB)
    hdfs.start()
    return hdfs


@pytest.fixture(scope="module")
def shell(pair):
    with pair.shell() as shell:
        yield shell


@pytest.fixture(scope="module")
def files(pair, shell):
    """Writes both files from the client and waits until their blocks are published.  The first half
    of HYBRID is on the near host, all other blocks on the far host."""
    half = f"bs=1M count={HALF_MIB}"
    pair.client.run(f"dd if=/dev/xvdk of=/run/first {half}").check()
    pair.client.run(f"dd if=/dev/xvdk of=/run/second skip={HALF_MIB} {half}").check()
    pair.allow_near()
    for command in (
        f"-put /run/first {REMOTE}",
        f"-appendToFile /run/second {REMOTE}",
        f"-put /run/first {HALF}",
        f"-mv {HALF} {HYBRID}",
        f"-appendToFile /run/second {HYBRID}",
    ):
        assert shell.run(command)["status"] == 0, shell.complaints
    blocks = HALF_MIB // BLOCK_MIB
    pair.wait_published(3 * blocks, FAR.datanode)
    pair.wait_published(blocks, NEAR.datanode)


class Reads:
    """`hdfs dfs -cat`.  Checks the bytes, and which way they came."""

    def __init__(self, pair, shell, source):
        self._pair, self._shell, self._source = pair, shell, source
        self._bytes = 0

    def start(self, *paths, properties=READER):
        self._shell.start("-cat " + " ".join(paths), properties)

    def stock(self, path):
        """Reads by stock HDFS.  Returns {datanode: bytes it served}."""
        before = self._pair.served_by_datanodes()
        self.start(path, properties={})
        assert self.finish() == self._source.sha256
        served = {}

        def counted():
            """A DataNode counts a block only after the client has received it."""
            now = self._pair.served_by_datanodes()
            served.update((datanode, now[datanode] - before[datanode]) for datanode in now)
            return sum(served.values()) >= self._source.size

        eventually(counted, LAG, f"what DataNodes served of {path}")
        return served

    @property
    def under_way(self):
        return not self._shell.answered

    def finish(self):
        """Waits for the end of the read.  Returns the digest of its bytes."""
        answer = self._shell.hear()
        assert answer["status"] == 0, self._shell.complaints
        self._bytes = answer["read"]
        return answer["sha256"]

    def check(self, path):
        """Reads path; the bytes must be right.  Returns what the read added to the counters of the
        plug-in, of the near vreadd's link to the far vreadd, of the client's device, and of both
        DataNodes."""
        before = self._counters()
        self.start(path)
        assert self.finish() == self._source.sha256
        after = self._counters()
        return {name: after[name] - before[name] for name in after}

    def wait_by_vread(self, path):
        """Reads until all bytes come by vRead: a failed backend is not tried for a while."""

        def one():
            told = self.check(path)
            return told if told["plug-in"] == self._source.size else None

        return eventually(one, SOON, f"{path} by vRead")

    def _counters(self):
        link = self._pair.link()
        served = self._pair.served_by_datanodes()
        device = self._pair.near.bytes_read(self._pair.client)
        link = {name: link[name] for name in ("bytes", "direct", "bounced")}
        return {"plug-in": self._plug_in(), "device": device, **link, **served}

    def _plug_in(self):
        """The plug-in's bytes by vRead, once its statistics count the last read.  They are written
        every second."""

        def caught_up():
            found = self._statistics()
            return found if found["hdfs"]["bytes"] == self._bytes else None

        return eventually(caught_up, LAG, f"statistics of {self._bytes} bytes")["vread"]["bytes"]

    def _statistics(self):
        kept = self._pair.client.run(["cat", STATISTICS])
        nothing = {"vread": {"bytes": 0}, "hdfs": {"bytes": self._bytes}}
        return json.loads(kept.stdout) if kept.rc == 0 else nothing


@pytest.fixture(scope="module")
def reads(pair, files, shell, source):
    return Reads(pair, shell, source)


def test_where_the_blocks_are(reads, source):
    """Stock Hadoop reads both files from the DataNodes in domUs of two hosts.  Each DataNode must
    serve the blocks that the tests below expect on its host."""
    for path, there in ON_FAR_HOST.items():
        served = reads.stock(path)
        assert served[FAR.datanode] >= there, (path, served)
        assert served[NEAR.datanode] >= source.size - there, (path, served)
        assert sum(served.values()) < source.size + BLOCK_MIB * MIB, (path, served)


@pytest.mark.parametrize("transport", ["tcp", "rdma"])
def test_all_by_vread(pair, reads, source, transport):
    """Both files are read; no DataNode may serve a byte.  By RDMA, the far blocks must be written
    directly into the pool, whose pages a guest granted.  The test takes more than a minute: a JVM
    reads four times in an emulator."""
    before = tokens(pair)
    pair.use(transport)
    for path, there in ON_FAR_HOST.items():
        reads.wait_by_vread(path)
        told = reads.check(path)
        assert told["plug-in"] == source.size, told
        assert told["device"] >= source.size, told
        assert told[FAR.datanode] == told[NEAR.datanode] == 0, told
        assert told["bytes"] == there, told
        assert told["direct"] == (there if transport == "rdma" else 0), told
        assert told["bounced"] == 0, told
        assert pair.link()["transport"] == LINK_NAMES[transport]
    after = tokens(pair)
    # The near vreadd was restarted, so each block was opened again, with a token.
    assert after["valid"] - before["valid"] >= sum(ON_FAR_HOST.values()) // (BLOCK_MIB * MIB)
    assert after["refused"] == before["refused"]


def tokens(pair):
    """The far host's counts of tokens, once it has the keys to check them."""

    def known():
        (datanode,) = pair.far.status()["datanodes"]
        found = datanode["tokens"]
        ready = any(pool["required"] and pool["keys"] >= 2 for pool in found["pools"])
        return found if ready else None

    return eventually(known, LAG, "two keys of each pool")


def dies_under_a_read(pair, reads, source):
    """Kills the far vreadd during a read.  True if it died in the middle of the read: some bytes
    came by vRead, and the far DataNode served the rest."""
    reads.wait_by_vread(REMOTE)
    before, served = pair.link()["bytes"], pair.bytes_served(FAR.datanode)
    reads.start(*[REMOTE] * TIMES)
    eventually(lambda: pair.link()["bytes"] > before or not reads.under_way, SOON, "bytes")
    some = pair.link()["bytes"] > before
    pair.far.kill()
    some = some and reads.under_way
    assert reads.finish() == sha256(source.path.read_bytes() * TIMES).hexdigest()
    return some and pair.bytes_served(FAR.datanode) > served


def test_the_far_vreadd_dies_and_comes_back(pair, reads, source):
    """The far vreadd dies in the middle of a guest's read and comes back.  All bytes must be right,
    and come by vRead again.  The plug-in learns of both from its own host.  The test takes more
    than a minute: the near vreadd does not try a failed peer for a while."""

    def in_the_middle():
        if dies_under_a_read(pair, reads, source):
            return True
        pair.far.start()
        return False

    eventually(in_the_middle, 2 * SOON, "a death in the middle of a read")
    assert reads.check(REMOTE)["plug-in"] == 0
    pair.far.start()
    assert reads.wait_by_vread(REMOTE)[FAR.datanode] == 0
