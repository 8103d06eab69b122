# SPDX-License-Identifier: GPL-2.0-or-later
"""The main job: stock Hadoop in domUs reads HDFS through vRead, by configuration only.

An emulated Xen host boots.  In dom0 vreadd serves the disk of a datanode domU: two lines of
configuration, the disk still empty.  NameNode, DataNode and client start, a domU each.  The client
writes a file with `hdfs dfs -put`; the DataNode's plug-in publishes the blocks; then
`hdfs dfs -cat` reads it back, once as it is and once with vRead's property set.  Digests, counters
and CPU time of both stand beside each other in the end.  The datanode's disk is mounted in its
domU and written to all the while.
"""

import argparse
import json
import sys
import time

from tools.bench.vanilla import timed
from tools.bench.xen_client import XenClient
from tools.demo.report import Progress, Reading, Streaming, table
from tools.hdfs import HdfsError
from tools.images import ImageError
from tools.lab import LabError, XenHost, hadoop, product
from tools.lab.source import noise

VARIANT = "release"
FILE = "/demo.bin"
SOURCE_DISK = "phy:/dev/vdc,xvdk,r"  # the host's third
STATISTICS_FILE = "/run/vread-statistics.json"
WRITE_TIMEOUT = READ_TIMEOUT = 600.0
REQUEST = 1 << 20
XENBUS_STATES = ("", "Initialising", "InitWait", "Initialised", "Connected", "Closing", "Closed")


class DemoError(RuntimeError):
    pass


def main():
    options = _parser().parse_args()
    say = Progress()
    try:
        _run(options, say)
    except (DemoError, HdfsError, ImageError, LabError) as error:
        print(f"demo: FAILED: {error}", file=sys.stderr)
        return 1
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m tools.demo",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--mib", type=int, default=64, help="file size (%(default)s)")
    parser.add_argument("--block-mib", type=int, default=32, help="block size (%(default)s)")
    return parser


def _run(options, say):
    say("file to write, Java and Hadoop for the guests (kept for the next run)")
    source = noise(options.mib)
    blocks = -(-options.mib // options.block_mib)
    host = XenHost(
        "demo",
        memory_mib=hadoop.HOST_MIB,
        dom0_mib=hadoop.DOM0_MIB,
        disks=[*hadoop.disks(), source.disk],
        files=product.dom0_files(VARIANT),
        guest_files=product.guest_files(VARIANT),
        progress=say,
    )
    with host:
        hdfs = _start(host, options.block_mib, say)
        _write(hdfs, options.mib, blocks, say)
        stock = _cat(hdfs, "stock", {}, source, say)
        vread = _cat(hdfs, "vRead", hadoop.READER, source, say)
        _check_path(vread, source)
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
    say("dom0: vreadd is up; starting NameNode, DataNode and client, a domU each")
    hdfs = hadoop.Hdfs(
        host,
        backend,
        block_mib=block_mib,
        client_disks=[SOURCE_DISK],
        client_files=XenClient.files(),
    )
    hdfs.start()
    return hdfs


def _write(hdfs, mib, blocks, say):
    say("client: hdfs dfs -put")
    put = f"dd if=/dev/xvdk bs=1M count={mib} | {hdfs.dfs(f'-put - {FILE}')}"
    hdfs.client.run(f"set -o pipefail; {put}", WRITE_TIMEOUT).check()
    say("waiting until the DataNode has published the blocks")
    hdfs.wait_published(blocks)


def _cat(hdfs, name, properties, source, say):
    say(f"client: hdfs dfs -cat, {name}")
    hdfs.client.run(["rm", "-f", STATISTICS_FILE]).check()
    cat = hdfs.dfs(f"-cat {FILE}", properties | {hadoop.STATISTICS: STATISTICS_FILE})
    served = hdfs.bytes_served()
    started = time.monotonic()
    digest = hdfs.client.text(f"set -o pipefail; {cat} | sha256sum", READ_TIMEOUT).split()[0]
    seconds = time.monotonic() - started
    if digest != source.sha256:
        raise DemoError(f"{name}: SHA-256 {digest}; the file's is {source.sha256}")
    kept = hdfs.client.run(["cat", STATISTICS_FILE])
    statistics = json.loads(kept.stdout) if kept.rc == 0 else {}
    return Reading(
        name=name,
        seconds=seconds,
        sha256=digest,
        vread_bytes=statistics.get("vread", {}).get("bytes", 0),
        tcp_bytes=hdfs.bytes_served() - served,
        reasons=statistics.get("fallback", {}).get("reasons", {}),
    )


def _check_path(vread, source):
    """The client's and the DataNode's counts must agree on which way the bytes came."""
    if vread.vread_bytes != source.size or vread.tcp_bytes:
        raise DemoError(
            f"with vRead {vread.vread_bytes} of {source.size} bytes came through it, and the"
            f" DataNode served {vread.tcp_bytes}; reasons: {vread.reasons}"
        )


def _stream(hdfs, source, say):
    """Both in one JVM that is up already, for time and CPU time.  The first reading of each warms
    the JVM up, which would count against the one that is slower anyway."""
    say("client: reading both ways in a JVM that stays up, for the rates")
    with XenClient(hdfs.client) as client:
        client.mount("stock", {})
        client.mount("vRead", hadoop.READER)
        for name in ("stock", "vRead"):
            client.ask("seq", name, FILE, REQUEST)
        found = []
        for name in ("stock", "vRead"):
            measured = timed(hdfs.host, lambda way=name: client.ask("seq", way, FILE, REQUEST))
            if measured["bytes"] != source.size:
                raise DemoError(f"{name}: {measured['bytes']} bytes were read of {source.size}")
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
