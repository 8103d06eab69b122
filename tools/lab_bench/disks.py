# SPDX-License-Identifier: GPL-2.0-or-later
"""The target disks: DataNodes with one, two and four disks each on this machine, without guests.

A DataNode stands for a virtual machine: the place `2vms-2disks` is two DataNodes with two disks
each.  Files are spread over the DataNodes of their place, and blocks over the disks of a DataNode.
A disk is an image of its own, mounted for its DataNode.  All images lie on one disk of this machine
and one vreadd reads them, so what can grow with the disks is what works beside each other.
"""

import contextlib

from tools.bench.scaffold import temporary
from tools.hdfs import HdfsCluster
from tools.hdfs.native_code import libhadoop_dir
from tools.lab_bench import bare, targets
from tools.lab_bench.targets import command
from tools.vreadd import Vreadd

DISKS = {"dn1": 1, "dn2": 1, "dn3": 1, "dn4": 1, "dn5": 2, "dn6": 2, "dn7": 4}
PLACES = {
    "1vm-1disk": ["dn1"],
    "1vm-2disks": ["dn5"],
    "1vm-4disks": ["dn7"],
    "2vms-1disk": ["dn1", "dn2"],
    "2vms-2disks": ["dn5", "dn6"],
    "4vms-1disk": ["dn1", "dn2", "dn3", "dn4"],
}
DISK_MIB = 2048
BLOCK_BYTES = 32 << 20  # several blocks in a file


@contextlib.contextmanager
def target(folder, say):
    """Yields the target's part of the targets file, with everything up."""
    with contextlib.ExitStack() as stack:
        cluster = HdfsCluster(
            temporary(stack),
            block_size=BLOCK_BYTES,
            class_path=[bare.PLUGIN],
            datanodes=len(DISKS),
            live=True,
            disks=tuple(DISKS.values()),
            disk_mib=DISK_MIB,
            java_options=[f"-Djava.library.path={libhadoop_dir()}"],
        )
        stack.callback(cluster.stop)
        cluster.attach_disks()
        vreadd = stack.enter_context(Vreadd(cluster.served(), publish=list(DISKS)))
        for name in DISKS:
            cluster.datanode(name).conf = bare.PUBLISHER | {"io.vread.endpoint": vreadd.endpoint}
        say(f"starting a NameNode and {len(DISKS)} DataNodes with {sum(DISKS.values())} disks")
        cluster.start()
        yield described(folder, cluster, vreadd)


def described(folder, cluster, vreadd):
    """The target's part of the targets file.  vreadd: the Vreadd of all images."""
    return {
        **bare.this_machine(folder, bare.client_class_path(cluster)),
        "ways": {
            "stock": targets.STOCK,
            "vread": targets.VREAD | {"io.vread.endpoint": vreadd.endpoint},
        },
        "loads": {"2vms": {}},
        "places": {
            place: {
                "files": f"{targets.FILES}/{place}",
                "datanodes": [cluster.datanode(name).address for name in names],
            }
            for place, names in PLACES.items()
        },
        "images": {targets.IMAGE: {}},
        "cold": [command("me", bare.forget(cluster, name)) for name in DISKS],
        "cpu": {
            "datanode": [{"host": "me", "pid": cluster.pids[name]} for name in DISKS],
            "host": [{"host": "me", "pid": vreadd.pid}],
        },
        "versions": {"hadoop": command("me", f"echo {cluster.version}")},
    }
