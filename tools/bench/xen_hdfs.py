# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the xen suite with Hadoop: NameNode, DataNode and client, a domU each.

One client JVM reads one file in turn with and without vRead, while the DataNode's disk is mounted
in its domU.  Both ways must give the same checksum before the first round.  In the rows of vRead
the DataNode must serve nothing.
"""

from tools.bench.results import Row, Target
from tools.bench.suite import BenchError
from tools.bench.vanilla import timed
from tools.bench.xen_client import XenClient
from tools.lab import XenHost, hadoop, product
from tools.lab.source import noise

TCP, VREAD = "xen.hdfs.tcp.seq", "xen.hdfs.vread.seq"
TARGETS = (
    Target(VREAD, TCP, at_least=3.0),
    Target(VREAD, TCP, at_most=0.4, cpu=True),
)
FILE = "/bench.bin"
WRITE_TIMEOUT = 900.0


def measure(mib, block_mib, rounds, variant, request, say):
    """Measures the two rows in turn, `rounds` times."""
    source = noise(mib)
    host = XenHost(
        "bench-hdfs",
        memory_mib=hadoop.HOST_MIB,
        dom0_mib=hadoop.DOM0_MIB,
        disks=[*hadoop.disks(), source.disk],
        files=product.dom0_files(variant),
        guest_files=product.guest_files(variant),
        progress=say,
    )
    with host:
        hdfs = _started(host, block_mib, say)
        _write(hdfs, mib, -(-mib // block_mib), say)
        with XenClient(hdfs.client) as client:
            client.mount(TCP, {})
            client.mount(VREAD, hadoop.READER)
            _check_agreement(client, say)
            rows = {name: Row(name) for name in (TCP, VREAD)}
            for number in range(1, rounds + 1):
                say(f"HDFS, round {number} of {rounds}")
                for name, row in rows.items():
                    _add(hdfs, client, row, name, source.size, request)
        host.check_dmesg()
    return list(rows.values())


def _started(host, block_mib, say):
    backend = hadoop.backend(host)
    backend.start()
    say("starting NameNode, DataNode and client")
    hdfs = hadoop.Hdfs(
        host,
        backend,
        block_mib=block_mib,
        client_disks=["phy:/dev/vdc,xvdk,r"],
        client_files=XenClient.files(),
    )
    hdfs.start()
    return hdfs


def _write(hdfs, mib, blocks, say):
    say("writing the file")
    put = f"dd if=/dev/xvdk bs=1M count={mib} | {hdfs.dfs(f'-put - {FILE}')}"
    hdfs.client.run(f"set -o pipefail; {put}", WRITE_TIMEOUT).check()
    hdfs.wait_published(blocks)


def _check_agreement(client, say):
    say("comparing checksums")
    sums = {name: client.ask("sum", name, FILE)["sum"] for name in (TCP, VREAD)}
    if len(set(sums.values())) != 1:
        raise BenchError(f"the two ways do not give the same bytes: {sums}")


def _add(hdfs, client, row, name, size, request):
    # The datanode's page cache starts empty; vreadd reads past dom0's.
    hdfs.datanode.run("sync; echo 1 > /proc/sys/vm/drop_caches").check()
    served = hdfs.bytes_served()
    measured = timed(hdfs.host, lambda: client.ask("seq", name, FILE, request))
    by_tcp = hdfs.bytes_served() - served
    if measured["bytes"] != size:
        raise BenchError(f"{name}: {measured['bytes']} bytes were read of {size}")
    if (name == VREAD) == bool(by_tcp):
        raise BenchError(f"{name}: the DataNode served {by_tcp} bytes")
    row.add(size, measured["seconds"], sum(measured["cpu"].values()))
