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

from tools.bench.xen_client import XenClient
from tools.demo import command
from tools.demo.compare import add_sizes, compare
from tools.lab import XenHost, hadoop, hadoop_state, product
from tools.lab.source import noise

VARIANT = "release"
XENBUS_STATES = ("", "Initialising", "InitWait", "Initialised", "Connected", "Closing", "Closed")


def main():
    parser = command.parser("python -m tools.demo", __doc__)
    add_sizes(parser)
    return command.main("demo", parser.parse_args(), _run)


def _run(options, say):
    say("file to write, Java and Hadoop for the guests (kept for the next run)")
    source = noise(options.mib)
    host = XenHost(
        "demo",
        **hadoop_state.arguments(options.mib, cpus=2),
        files=product.dom0_files(VARIANT),
        guest_files=product.guest_files(VARIANT),
        progress=say,
    )
    with host:
        hdfs = _start(host, options.block_mib, say)
        compare("demo", hdfs, options, source, say, lambda: _states(hdfs))


def _start(host, block_mib, say):
    backend = hadoop.backend(host)
    backend.start()
    say("dom0: vreadd is up; giving the datanode's and the client's domU a device")
    hdfs = hadoop.Hdfs(host, backend, block_mib=block_mib, client_files=XenClient.files())
    hdfs.start()
    return hdfs


def _states(hdfs):
    found = (
        f"{guest.name} "
        + "/".join(XENBUS_STATES[int(state)] for state in hdfs.backend.states(guest))
        for guest in (hdfs.client, hdfs.datanode)
    )
    return f"xenstore states, backend/frontend: {'; '.join(found)}"


if __name__ == "__main__":
    sys.exit(main())
