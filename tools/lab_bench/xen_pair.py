# SPDX-License-Identifier: GPL-2.0-or-later
"""The target xen-pair: two emulated Xen hosts on one wire, each with one processor and a vreadd.

The near host has the client and a DataNode in domUs, the far host NameNode and another DataNode.
Files of the place `local` are on the near DataNode.  Those of `remote-tls`, `remote-plain` and
`remote-rdma` are on the far one.  The near vreadd asks the far vreadd by TLS, with bytes that are
neither encrypted nor have a MAC (as HDFS sends them), or by RDMA.  Those of `hybrid` are where HDFS
puts each block; it asks by RDMA.  RDMA is soft-RoCE: dom0s copy what adapters would move.

CPU time, instructions and copies are those of both hosts.
"""

import contextlib

from tools.lab import hadoop_pair
from tools.lab.gate import Gate
from tools.lab.hadoop_guests import CLIENT, NAMENODE
from tools.lab.hadoop_pair import ADDRESSES, FAR, NEAR, HdfsPair
from tools.lab_bench import targets, xen
from tools.lab_bench.targets import FILES, command

BLOCK_MIB = 2  # several blocks in a small file, so that hybrid ones are on both hosts
TRANSFER_PORT = 9866
NEAR_DOM0, FAR_DOM0, OPERATOR = "near-dom0", "far-dom0", "operator"
DOM0S = (NEAR_DOM0, FAR_DOM0)
HYBRID = f"{FILES}/hybrid"


@contextlib.contextmanager
def target(folder, say):
    """Yields the target's part of the targets file, with everything up."""
    counts = {side: folder / f"counts-{side.name}" for side in (NEAR, FAR)}
    with hadoop_pair.hosts(
        "bench", xen.VARIANT, progress=say, files=xen.dom0_files(), counters=counts
    ) as (near, far):
        files = targets.client_files()
        hdfs = HdfsPair(near, far, block_mib=BLOCK_MIB, near_storage="DISK", client_files=files)
        hdfs.start(progress=say)
        machines = hdfs.guests | dict(zip(DOM0S, (near, far), strict=True))
        with Gate(folder / "gate", machines | {OPERATOR: Operator(hdfs)}) as gate:
            yield described(gate, list(counts.values()))
        for host in (near, far):
            host.check_dmesg()


# How the near vreadd asks the far one: arguments of HdfsPair.use().
WAYS = {"tls": ("tcp",), "plain": ("tcp", "authentication"), "rdma": ("rdma",)}


class Operator:
    """A machine of the gate.  Its commands are names of WAYS."""

    def __init__(self, hdfs):
        self._hdfs, self._now = hdfs, "tls"

    def popen(self, way, sink, error_sink):
        if way != self._now:
            self._hdfs.use(*WAYS[way])
            self._now = way
        return _Done()


class _Done:
    """A command that has ended well."""

    rc = 0

    def wait(self):
        return self

    def write(self, data):
        pass

    def close_stdin(self):
        pass


def described(gate, counts):
    """The target's part of the targets file.  counts: the files of both machines' counts."""
    near, far = (f"{ADDRESSES[side.datanode]}:{TRANSFER_PORT}" for side in (NEAR, FAR))
    by = {way: {"enter": [command(OPERATOR, way)]} for way in WAYS}
    remote = {"files": f"{FILES}/remote", "datanodes": far}
    datanodes = {NEAR_DOM0: NEAR.datanode, FAR_DOM0: FAR.datanode}
    return targets.guests_target(
        gate,
        "xen",
        targets.machines(gate, [*DOM0S, OPERATOR]) | {"machine": {"by": "local"}},
        guests=(CLIENT, NAMENODE, *datanodes.values()),
        ways={"stock": targets.STOCK, "vread": targets.VREAD},
        loads={"2vms": {}},
        places={
            "local": {"files": FILES, "datanodes": near},
            "remote-tls": remote | by["tls"],
            "remote-plain": remote | by["plain"],
            "remote-rdma": remote | by["rdma"],
            "hybrid": {"files": HYBRID} | by["rdma"],
        },
        cold=[
            *(command(name, targets.DROP) for name in datanodes.values()),
            *(command(dom0, xen.FORGET) for dom0 in DOM0S),
        ],
        cpu={
            "client": [xen.domain(NEAR_DOM0, CLIENT)],
            "datanode": [xen.domain(dom0, name) for dom0, name in datanodes.items()],
            "host": [
                part
                for dom0 in DOM0S
                for part in ({"host": dom0, "processes": "vreadd"}, xen.block_threads(dom0))
            ],
            "network": [xen.network_threads(dom0) for dom0 in DOM0S],
        },
        counters=xen.counters(counts),
        versions=xen.versions(NEAR_DOM0) | {"far blocks of hybrid": _far_blocks()},
    )


def _far_blocks():
    """Prints how many blocks of hybrid files are on the far DataNode, of how many."""
    check = f"hdfs org.apache.hadoop.hdfs.tools.DFSck {HYBRID} -files -blocks -locations"
    count = f'/{ADDRESSES[FAR.datanode]}:/ {{ n++ }} END {{ print n + 0, "of", NR }}'
    return command(CLIENT, f"{check} 2>/dev/null | grep ':blk_' | awk '{count}'")
