# SPDX-License-Identifier: GPL-2.0-or-later
"""A whole HDFS with vRead beside it, on this machine, for the tests of tests/hdfs.

There are three datanodes with two data directories each, on live images.  A vreadd serves those of
dn1 and dn2 over its local port; for vreadd, dn3 is on another host.  Files have two replicas unless
a test changes this, so at least one replica is served.  One warm client JVM does the reading.
"""

import contextlib
import functools
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.hadoop_client import JAR, HadoopClient, compiled, vread_properties
from tests.support.peers import free_address
from tests.support.torture import CLIENT_PROPERTIES
from tests.support.waiting import eventually
from tools.hdfs import DEFAULT_VERSION, HdfsCluster, jvm
from tools.hdfs.class_archive import archived_class_path
from tools.hdfs.native_code import libhadoop_dir, locks_memory
from tools.peers import Authority, peer
from tools.vreadd import Vreadd

SERVED = ("dn1", "dn2")
BLOCK_SIZE = 1 << 20
PATIENCE = {"timeout_ms": 60_000}
SOON = 180  # s; a publisher that cannot reach vreadd tries again within half a minute
# For datanodes that lock memory, as much as a process may by default, and are quick about it.
_LOCKING = {
    "dfs.datanode.max.locked.memory": str(8 << 20),
    "dfs.datanode.lazywriter.interval.sec": "1",
    "dfs.namenode.path.based.cache.refresh.interval.ms": "1000",
    "dfs.cachereport.intervalMsec": "1000",
}
KEY_SHELL = "org.apache.hadoop.crypto.key.KeyShell"


def locking(version):
    """The options of hadoop_bed() for datanodes that lock memory, for which they need Hadoop's
    native code.  None if there is no such code for the version."""
    if not locks_memory(version):
        return {}
    native = [*jvm.SHORT_LIVED, f"-Djava.library.path={libhadoop_dir()}"]
    return {"conf": _LOCKING, "java_options": native}


def publishing_to(endpoint):
    """Makes a datanode publish to the endpoint."""
    return {
        "dfs.datanode.fsdataset.factory": "io.vread.datanode.VreadFsDatasetFactory",
        "io.vread.endpoint": endpoint,
    }


def known(tokens):
    """True if vreadd has keys of a datanode; tokens: that part of vreadd's status."""
    return any(pool["required"] and pool["keys"] >= 2 for pool in tokens["pools"])


@dataclass(frozen=True)
class Mode:
    """One column of the matrix.  variant: the build of vreadd; a build with sanitizers also reports
    leaks at its end."""

    version: str
    tokens: bool
    publisher: bool
    variant: str = "release"

    def __str__(self):
        words = [self.version]
        words += ["tokens"] if self.tokens else []
        words += ["publisher"] if self.publisher else []
        return "-".join(words)

    def conf(self, folder):
        conf = {
            "hadoop.security.key.provider.path": f"jceks://file{folder}/keys.jceks",
            "dfs.block.access.token.enable": str(self.tokens).lower(),
            "dfs.namenode.redundancy.interval.seconds": "1s",
            # With three datanodes none is spare: a pipeline continues with the datanodes left.
            "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
            "dfs.namenode.replication.considerLoad": "false",
            # A client that has tried every replica pauses before it tries them again.
            "dfs.client.retry.window.base": "50",
            # On a busy machine, the failover to another NameNode takes long.
            "dfs.client.failover.max.attempts": "100",
            # The next block of a file waits until the NameNode knows the last one.
            "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "20",
        }
        if self.tokens:
            conf["dfs.namenode.plugins"] = "io.vread.check.NewKeys"
        return conf

    @property
    def class_path(self):
        """The daemons' class path beside Hadoop's own."""
        publisher = [JAR] if self.publisher else []
        return [*publisher, compiled()] if self.tokens else publisher


MODES = (
    Mode("3.4.3", tokens=False, publisher=False, variant="asan"),
    Mode("3.4.3", tokens=True, publisher=True),
    Mode("3.3.6", tokens=False, publisher=True),
    Mode("3.5.0", tokens=True, publisher=True),
)
FIRST, LAST = MODES[0], MODES[-1]


def _slow_except(*quick, modes=MODES):
    """Parameters: these modes; those that are not named here are slow."""
    return [
        pytest.param(mode, marks=[] if mode in quick else pytest.mark.slow, id=str(mode))
        for mode in modes
    ]


# Any test of the matrix runs in the two columns that differ most.
COLUMNS = _slow_except(FIRST, LAST)
# The columns with a publisher: one for each version of Hadoop.
VERSIONS = _slow_except(MODES[1], modes=MODES[1:])
# For a test whose result does not depend on Hadoop version or tokens.
ONE_COLUMN = pytest.mark.parametrize("bed", _slow_except(LAST), indirect=True)
# For a test of what block tokens would tell the client.
WITHOUT_TOKENS = pytest.mark.parametrize("bed", _slow_except(FIRST), indirect=True)
# Log messages of the stock client when it blames a datanode or a replica.
BLAME = re.compile(
    r"add to deadNodes|Failed to connect|Found Checksum error|Could not obtain block"
)


@dataclass
class Bed:
    mode: Mode
    hdfs: HdfsCluster
    vreadd: Vreadd
    client: HadoopClient

    def properties(self, endpoint=None, **more):
        return vread_properties(endpoint or self.vreadd.endpoint, **(PATIENCE | more))

    @contextlib.contextmanager
    def another_client(self, folder, properties=None, **options):
        """A new client JVM, which has never seen vRead work."""
        with HadoopClient(
            self.hdfs,
            self.properties() if properties is None else properties,
            folder / "client.log",
            publishers=self.publishers,
            **options,
        ) as client:
            yield client

    @property
    def publishers(self):
        return SERVED if self.mode.publisher else ()

    def wait_until_served(self, client=None):
        """An OPEN makes vreadd look again for directories that a datanode has just formatted."""
        client = client or self.client
        eventually(
            lambda: "fallback.blocks" not in client.do("read", way="1m")["stats"],
            what="everything served by vRead",
        )

    def errors(self):
        """Errors that vreadd answered its clients, by reason."""
        return self.vreadd.status()["totals"]["errors"]

    def await_health(self):
        """Waits until all datanodes live and no replica is corrupt or missing.  The NameNode counts
        corrupt replicas now and then, so its count is late both ways."""
        healthy = {"live": len(self.hdfs.datanodes), "dead": 0, "corrupt": 0, "missing": 0}
        found = {}

        def is_healthy():
            found.update(self.client.do("health"))
            return healthy.items() <= found.items()

        eventually(is_healthy, what=lambda: f"expected {healthy}, found {found}")

    @contextlib.contextmanager
    def unharmed(self):
        """Meanwhile nobody may report a replica as corrupt.  Afterwards HDFS must be healthy."""
        before = self._bad_blocks()
        yield
        assert self._bad_blocks() == before
        self.await_health()

    def reported_corrupt(self, block):
        """Addresses of the datanodes whose replica of the block was reported as corrupt."""
        return {where for number, where in self._bad_blocks() if number == str(block.block_id)}

    def _bad_blocks(self):
        """[(block id, address of a datanode)] of all reports of corrupt replicas so far."""
        pattern = r"reportBadBlocks for block: \S+:blk_(-?\d+)_\d+ on datanode: (\S+)"
        logs = [log.read_text(errors="replace") for log in self.hdfs.namenode_logs]
        return re.findall(pattern, "".join(logs))


@functools.cache
def _key_store():
    """A key provider's file with the key "zone", made before any NameNode opens it."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["create", "zone", "-size", "128", "-provider", f"jceks://file{folder}/keys.jceks"]
        command = jvm.java_command(f"{archived_class_path()}/*", KEY_SHELL, words)
        jvm.run(command, "hadoop key create")
        return (Path(folder) / "keys.jceks").read_bytes()


@contextlib.contextmanager
def hadoop_bed(
    mode,
    folder,
    kind=HdfsCluster,
    prepare=lambda cluster: None,
    conf=None,
    names=SERVED,
    client=None,
    sections="",
    **options,
):
    """names: of the datanodes that vreadd serves.  sections: more lines of vread.conf, after those
    of the last datanode.  prepare: is given the cluster before its start.  client: options of the
    HadoopClient.  conf, options: of the cluster, over those of this file."""
    (folder / "keys.jceks").write_bytes(_key_store())
    usual = {
        "version": mode.version,
        "block_size": BLOCK_SIZE,
        "conf": mode.conf(folder) | (conf or {}),
        "datanodes": 3,
        "data_dirs": 2,
        "replication": 2,
        "live": True,
        "disk_mib": 512,
        "heap_mib": 128,
        "class_path": mode.class_path,
        "java_options": ["-XX:TieredStopAtLevel=1"],
    }
    cluster = kind(folder / "hdfs", **(usual | options))
    prepare(cluster)
    with contextlib.ExitStack() as stack:
        stack.callback(cluster.stop)
        bed = _start(stack, mode, cluster, folder, names, client or {}, sections)
        yield bed


def _start(stack, mode, cluster, folder, served, options, sections=""):
    """Starts vreadd before the datanodes format their directories."""
    cluster.attach_disks()
    publish = served if mode.publisher else ()
    vreadd = Vreadd(
        cluster.served(*served), variant=mode.variant, publish=publish, sections=sections
    )
    stack.enter_context(vreadd)
    for name in publish:
        cluster.datanode(name).conf = publishing_to(vreadd.endpoint)
    cluster.start()
    properties = vread_properties(vreadd.endpoint, **PATIENCE)
    log = folder / "client.log"
    client = HadoopClient(cluster, properties, log, publishers=publish, **options)
    stack.enter_context(client)
    bed = Bed(mode, cluster, vreadd, client)
    bed.wait_until_served()
    return bed


@contextlib.contextmanager
def two_hosts(bed, folder):
    """A vreadd that serves the datanodes of SERVED; that of another host gives it blocks of dn3.
    Neither has keys of block tokens."""
    authority = Authority(folder)
    address = free_address()
    there = Vreadd(
        bed.hdfs.served("dn3"),
        bed.mode.variant,
        sections=authority.host("there", listen=address) + peer("here", allow_datanodes="dn3"),
    )
    here = Vreadd(
        bed.hdfs.served(*SERVED),
        bed.mode.variant,
        sections=authority.host("here") + peer("there", address=address, datanodes="dn3"),
    )
    with there, here:
        await_owners(here)
        yield here


def await_owners(vreadd):
    """Waits until the vreadd has heard its peer, and serves all storages of its own datanodes.  It
    looks into their images again until then, and who reads meanwhile may read by TCP."""

    def known():
        status = vreadd.status()
        refused = [d.get("refused-storages") for d in status["datanodes"]]
        return status["peers"]["peers"][0]["storages"] > 0 and not any(refused)

    eventually(known, SOON)


@contextlib.contextmanager
def torture_bed(folder, disk_mib, publisher, file_system, variant):
    """One datanode on one small image, before anything is written."""
    mode = Mode(DEFAULT_VERSION, tokens=False, publisher=publisher, variant=variant)
    (folder / "keys.jceks").write_bytes(_key_store())
    cluster = HdfsCluster(
        folder / "hdfs",
        version=mode.version,
        block_size=BLOCK_SIZE,
        conf=mode.conf(folder) | CLIENT_PROPERTIES,
        live=True,
        disk_mib=disk_mib,
        tables=("none" if file_system == "xfs" else "gpt",),
        file_system=file_system,
        class_path=[JAR] if publisher else [],
    )
    with contextlib.ExitStack() as stack:
        stack.callback(cluster.stop)
        bed = _start(stack, mode, cluster, folder, ("dn1",), {})
        yield bed


def served(answer):
    """Asserts that all bytes came through vRead.  Layers between test and HDFS may read ahead."""
    assert answer["bytes"] > 0
    assert answer["stats"].get("vread.bytes", 0) >= answer["bytes"], answer
    assert "fallback.blocks" not in answer["stats"], answer
    assert "vread.failures" not in answer["stats"], answer


def by_tcp(answer, *reasons):
    """Asserts that no byte came through vRead, for one of these reasons."""
    assert answer["bytes"] > 0
    assert "vread.bytes" not in answer["stats"], answer
    told = {name for name in answer["stats"] if name.startswith("fallback.reasons.")}
    assert told and told <= {f"fallback.reasons.{reason}" for reason in reasons}, answer
