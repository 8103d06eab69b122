# SPDX-License-Identifier: GPL-2.0-or-later
"""What the demos on one host do once HDFS is up: write a file, read it as stock Hadoop does and by
vRead, and compare digests, counters, rates and CPU time."""

from tools.bench.vanilla import timed
from tools.bench.xen_client import XenClient
from tools.demo import steps
from tools.demo.report import Streaming, table
from tools.lab import hadoop

FILE = "/demo.bin"
REQUEST = 1 << 20


def add_sizes(parser):
    parser.add_argument("--mib", type=int, default=32, help="file size (%(default)s)")
    parser.add_argument("--block-mib", type=int, default=16, help="block size (%(default)s)")


def compare(name, hdfs, options, source, say, states):
    """Prints the table and the demo's last line.  hdfs is up.  states: a function that returns a
    line on the states of the devices.  The host's kernels must have reported nothing."""
    blocks = -(-options.mib // options.block_mib)
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
    said = states()
    hdfs.host.check_dmesg()
    print(table(stock, vread, streaming, blocks, said))
    print(
        f"{name}: ok blocks={blocks} bytes={source.size} vread_bytes={vread.vread_bytes}"
        f" fallback_bytes={vread.tcp_bytes} sha256={vread.sha256}"
    )


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
