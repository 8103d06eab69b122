# SPDX-License-Identifier: GPL-2.0-or-later
"""The main job: stock Hadoop in domUs reads HDFS through vRead, by configuration only.

On an emulated Xen host are NameNode, DataNode and client, a domU each.  The first time it boots and
they start; later it is restored with all of them up.  In dom0 vreadd serves the disk of the
datanode's domU by two lines of configuration, and both that domU and the client's get a device.
The client writes a file with `hdfs dfs -put`; the DataNode's plug-in publishes the blocks; then
`hdfs dfs -cat` reads it back, once as it is and once with vRead's property set (`hdfs dfs` in a JVM
that stays up: Java takes most of a minute to start there).  Digests, counters and CPU time of both
stand beside each other in the end.  The datanode's disk is mounted in its
domU and written to all the while.
"""

import sys

from tools.bench.vanilla import timed
from tools.bench.xen_client import XenClient
from tools.demo import command, steps
from tools.demo.report import Streaming, table
from tools.lab import XenHost, hadoop, hadoop_state, product
from tools.lab.source import noise

VARIANT = "release"
FILE = "/demo.bin"
REQUEST = 1 << 20
XENBUS_STATES = ("", "Initialising", "InitWait", "Initialised", "Connected", "Closing", "Closed")


def main():
    return command.main("demo", _parser().parse_args(), _run)


def _parser():
    parser = command.parser("python -m tools.demo", __doc__)
    parser.add_argument("--mib", type=int, default=32, help="file size (%(default)s)")
    parser.add_argument("--block-mib", type=int, default=16, help="block size (%(default)s)")
    return parser


def _run(options, say):
    say("file to write, Java and Hadoop for the guests (kept for the next run)")
    source = noise(options.mib)
    blocks = -(-options.mib // options.block_mib)
    host = XenHost(
        "demo",
        **hadoop_state.arguments(options.mib, cpus=2),
        files=product.dom0_files(VARIANT),
        guest_files=product.guest_files(VARIANT),
        progress=say,
    )
    with host:
        hdfs = _start(host, options.block_mib, say)
        with hdfs.shell() as shell:
            say("client: hdfs dfs -put")
            steps.put(hdfs, shell, FILE, options.mib)
            say("waiting until the DataNode has published the blocks")
            hdfs.wait_published(blocks)
            say("client: hdfs dfs -cat, stock")
            stock = steps.cat(hdfs, shell, "stock", FILE, {}, source)
            say("client: hdfs dfs -cat, vRead")
            vread = steps.cat(hdfs, shell, "vRead", FILE, hadoop.READER, source)
        steps.check_all_by_vread(vread, source)
        streaming = _stream(hdfs, source, say)
        states = _states(hdfs)
        host.check_dmesg()
    print(table(stock, vread, streaming, blocks, states))
    print(
        f"demo: ok blocks={blocks} bytes={source.size} vread_bytes={vread.vread_bytes}"
        f" fallback_bytes={vread.tcp_bytes} sha256={vread.sha256}"
    )


def _start(host, block_mib, say):
    backend = hadoop.backend(host)
    backend.start()
    say("dom0: vreadd is up; giving the datanode's and the client's domU a device")
    hdfs = hadoop.Hdfs(host, backend, block_mib=block_mib, client_files=XenClient.files())
    hdfs.start()
    return hdfs


def _stream(hdfs, source, say):
    """Reads both ways in one JVM that is up, for time and CPU time.  The first reading of each way
    only warms the JVM up: counted, it would make the slower way look even slower."""
    say("client: reading both ways in another JVM that stays up, for the rates")
    with XenClient(hdfs.client) as client:
        client.mount("stock", {})
        client.mount("vRead", hadoop.READER)
        for name in ("stock", "vRead"):
            client.ask("seq", name, FILE, REQUEST)
        found = []
        for name in ("stock", "vRead"):
            measured = timed(hdfs.host, lambda way=name: client.ask("seq", way, FILE, REQUEST))
            if measured["bytes"] != source.size:
                what = f"{name}: {measured['bytes']} bytes were read of {source.size}"
                raise steps.DemoError(what)
            found.append(Streaming(**measured))
    return found


def _states(hdfs):
    return "; ".join(
        f"{guest.name} "
        + "/".join(XENBUS_STATES[int(state)] for state in hdfs.backend.states(guest))
        for guest in (hdfs.client, hdfs.datanode)
    )


if __name__ == "__main__":
    sys.exit(main())
