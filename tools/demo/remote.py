# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading from another host: two emulated Xen hosts on one wire, stock Hadoop in domUs of both.

The near host has the client and a datanode domU, the far one the NameNode and a datanode domU.  The
client writes two files with `hdfs dfs`: one whose blocks are all on the far host, and one of which
half is here and half there.  Then `hdfs dfs -cat` reads both: as stock Hadoop does, through vRead
by TCP between the two vreadds, and through vRead by RDMA (soft-RoCE on the wire).  Every digest
must be the file's; with vRead no DataNode may serve a byte; by RDMA every byte from the far host
must have been written straight into the client's pool by the other host's adapter.
"""

import argparse
import sys
from dataclasses import dataclass, replace

from tools.bench.xen_client import XenClient
from tools.demo import command, steps
from tools.demo.report import rows_of_text
from tools.lab import hadoop
from tools.lab.hadoop_pair import FAR, NEAR, NEAR_FOLDER, HdfsPair, hosts
from tools.lab.source import noise

REMOTE, HYBRID = "/remote.bin", "/hybrid.bin"
TITLES = {REMOTE: "all blocks on the far host:", HYBRID: "half of them on this host:"}
HALF = f"{NEAR_FOLDER}/half.bin"
STOCK, TCP, RDMA = "stock", "vRead, TCP", "vRead, RDMA"
TRANSPORTS = {TCP: "tcp", RDMA: "rdma"}
LINK_NAMES = {TCP: "tls", RDMA: "rdma"}  # in vreadd's status
REQUEST = 1 << 20


@dataclass(frozen=True)
class Way:
    """One file read one way."""

    reading: steps.Reading
    far: int = 0  # bytes the near vreadd got from the far one meanwhile,
    direct: int = 0  # of these, how many its adapter put into the pool,
    bounced: int = 0  # and how many went through a buffer first
    rate: float = 0.0  # MB/s of reading alone


def main():
    return command.main("demo-remote", _parser().parse_args(), _run)


def _parser():
    parser = command.parser("python -m tools.demo.remote", __doc__)
    parser.add_argument("--blocks", type=_even, default=4, help="of each file (%(default)s)")
    parser.add_argument("--block-mib", type=int, default=8, help="block size (%(default)s)")
    return parser


def _even(text):
    number = int(text)
    if number < 2 or number % 2:
        raise argparse.ArgumentTypeError("must be even: half of the blocks go to each host")
    return number


def _run(options, say):
    say("file to write, Java and Hadoop for the guests (kept for the next run)")
    mib = options.blocks * options.block_mib
    source = noise(mib)
    with hosts("demo", source_mib=mib, progress=say) as (near, far):
        hdfs = HdfsPair(near, far, block_mib=options.block_mib, client_files=XenClient.files())
        hdfs.start(progress=say)
        with hdfs.shell() as shell:
            _write(hdfs, shell, options, say)
            ways = {name: _read(hdfs, shell, name, source, say) for name in (STOCK, TCP, RDMA)}
        _check_placement(ways[STOCK], source)
        near.check_dmesg()
        far.check_dmesg()
    print(_table(ways, options))
    of_vread = [ways[name][file] for name in TRANSPORTS for file in TITLES]
    print(
        f"demo-remote: ok files={len(TITLES)} bytes={source.size}"
        f" vread_bytes={sum(way.reading.vread_bytes for way in of_vread)}"
        f" fallback_bytes={sum(way.reading.tcp_bytes for way in of_vread)}"
        f" tcp_bytes={sum(way.far for way in ways[TCP].values())}"
        f" rdma_bytes={sum(way.far for way in ways[RDMA].values())}"
        f" rdma_direct={sum(way.direct for way in ways[RDMA].values())}"
        f" rdma_bounced={sum(way.bounced for way in ways[RDMA].values())}"
        f" sha256={source.sha256}"
    )


def _write(hdfs, shell, options, say):
    """Writes both files; the first half of the second goes to the near host, by its folder."""
    half = options.blocks // 2
    half_mib = half * options.block_mib
    hdfs.allow_near()
    say("client: hdfs dfs -put, to the far host")
    steps.put(hdfs, shell, REMOTE, 2 * half_mib)
    say("client: hdfs dfs -put, -mv and -appendToFile, half to each host")
    steps.put(hdfs, shell, HALF, half_mib)
    steps.run(shell, f"-mv {HALF} {HYBRID}")
    steps.put(hdfs, shell, HYBRID, half_mib, skip_mib=half_mib, verb="-appendToFile")
    say("waiting until the DataNodes have published the blocks")
    hdfs.wait_published(3 * half, FAR.datanode)
    hdfs.wait_published(half, NEAR.datanode)


def _read(hdfs, shell, name, source, say):
    """Reads both files this way; returns {file: Way}."""
    if name != STOCK:
        say(f"dom0 of the near host: vreadd asks the far one by {TRANSPORTS[name].upper()}")
        hdfs.use(TRANSPORTS[name])
    properties = {} if name == STOCK else hadoop.READER
    ways = {file: _cat(hdfs, shell, name, file, properties, source, say) for file in TITLES}
    say(f"client: reading alone, {name}")
    with XenClient(hdfs.client) as client:
        client.mount(name.partition(",")[0], properties)
        rates = {file: _rate(client, name, file, source) for file in TITLES}
    return {file: replace(way, rate=rates[file]) for file, way in ways.items()}


def _cat(hdfs, shell, name, file, properties, source, say):
    say(f"client: hdfs dfs -cat {file}, {name}")
    before = hdfs.link()
    reading = steps.cat(hdfs, shell, f"{file}, {name}", file, properties, source)
    after = hdfs.link()
    grown = {key: after[key] - before[key] for key in ("bytes", "direct", "bounced")}
    if name != STOCK:
        steps.check_all_by_vread(reading, source)
        _check_link(name, file, grown, after["transport"], source)
    return Way(reading, grown["bytes"], grown["direct"], grown["bounced"])


def _rate(client, name, file, source):
    """MB/s in a JVM that is up; a first reading warms it up."""
    mount = name.partition(",")[0]
    client.ask("seq", mount, file, REQUEST)
    measured = client.ask("seq", mount, file, REQUEST)
    if measured["bytes"] != source.size:
        raise steps.DemoError(f"{name}: {measured['bytes']} of {source.size} bytes of {file}")
    return measured["bytes"] / measured["seconds"] / 1e6


def _check_link(name, file, grown, transport, source):
    """Fails unless the bytes on the far host came from there, by the right transport."""
    there = source.size if file == REMOTE else source.size // 2
    direct = grown["bytes"] if name == RDMA else 0
    if (
        transport != LINK_NAMES[name]
        or grown["bytes"] != there
        or grown["direct"] != direct
        or grown["bounced"]
    ):
        raise steps.DemoError(
            f"{name}, {file}: of {there} bytes on the far host it gave {grown} by {transport}"
        )


def _check_placement(ways, source):
    """Fails unless the blocks are where they should be, judged by what served stock reading."""
    half = source.size // 2
    remote, hybrid = ways[REMOTE].reading.served, ways[HYBRID].reading.served
    if remote[NEAR.datanode] or min(hybrid.values()) < half or max(hybrid.values()) >= source.size:
        raise steps.DemoError(f"the blocks are not where they should be: {remote}, {hybrid}")


def _table(ways, options):
    rows = [("", *ways)]
    for file, title in TITLES.items():
        read = [way[file] for way in ways.values()]
        rows += [
            (title, *(f"{options.blocks} blocks" for _ in read)),
            ("  sha256", *(f"{way.reading.sha256[:12]}..." for way in read)),
            ("  bytes through vRead", *(str(way.reading.vread_bytes) for way in read)),
            ("  bytes by DataNodes", *(str(way.reading.tcp_bytes) for way in read)),
            ("  from the far vreadd", *(str(way.far) for way in read)),
            ("    straight to the pool", *(str(way.direct) for way in read)),
            ("    through a buffer", *(str(way.bounced) for way in read)),
            ("  s, digested", *(f"{way.reading.seconds:.1f}" for way in read)),
            ("  MB/s, reading alone", *(f"{way.rate:.1f}" for way in read)),
        ]
    note = "  (Emulated processors, RDMA in software: ratios carry over better than rates do.)"
    return "\n".join([*rows_of_text(rows), "", note])


if __name__ == "__main__":
    sys.exit(main())
