# SPDX-License-Identifier: GPL-2.0-or-later
"""The main job on KVM's ground: stock Hadoop in guests of a stock QEMU reads HDFS through vRead.

NameNode, DataNode and client are a guest each.  There is no Xen: this machine is the host, vreadd
and vread-ivshmem run on it, and the guests of client and DataNode have a device ivshmem-doorbell.
QEMU emulates the guests' processors, even if there is /dev/kvm.  The rest is as in `make demo`.
"""

import sys

from tools.bench.xen_client import XenClient
from tools.demo import command
from tools.demo.compare import add_sizes, compare
from tools.lab import hadoop, hadoop_kvm, product
from tools.lab.hadoop_state import SOURCE_DISK
from tools.lab.java_program import WarmShell
from tools.lab.kvm_host import KvmHost
from tools.lab.source import noise

VARIANT = "release"


def main():
    parser = command.parser("python -m tools.demo.kvm", __doc__)
    add_sizes(parser)
    return command.main("demo-kvm", parser.parse_args(), _run)


def _run(options, say):
    say("file to write, Java and Hadoop for the guests (kept for the next run)")
    source = noise(options.mib)
    with KvmHost("demo-kvm", product.guest_files(VARIANT)) as host:
        backend = hadoop_kvm.backend(host, more=[source.disk])
        say("vreadd and vread-ivshmem are up; booting namenode, datanode and client")
        hdfs = hadoop.Hdfs(
            host,
            backend,
            block_mib=options.block_mib,
            client_disks=[SOURCE_DISK],
            client_files=XenClient.files() | WarmShell.files(),
        )
        hdfs.start()
        compare("demo-kvm", hdfs, options, source, say, lambda: _states(hdfs))
        hadoop_kvm.image(host).unlink()


def _states(hdfs):
    found = (f"{g.name} {hdfs.backend.device(g)['state']}" for g in (hdfs.client, hdfs.datanode))
    return f"devices: {'; '.join(found)}"


if __name__ == "__main__":
    sys.exit(main())
