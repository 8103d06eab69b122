# SPDX-License-Identifier: GPL-2.0-or-later
"""The target bare: NameNode, DataNode, client and vreadd on this machine, without guests.  vreadd
reads the image that the DataNode has mounted, and serves its local port."""

import contextlib
from pathlib import Path

from tools.bench.scaffold import temporary
from tools.hdfs import HdfsCluster, hadoop_class_path
from tools.hdfs.native_code import libhadoop_dir
from tools.lab_bench import targets
from tools.lab_bench.targets import command
from tools.vreadd import REPOSITORY, Vreadd

PLUGIN = REPOSITORY / "build" / "java" / "vread-hdfs.jar"
SHORT_CIRCUIT = {"dfs.client.read.shortcircuit": "true"}
PUBLISHER = {"dfs.datanode.fsdataset.factory": "io.vread.datanode.VreadFsDatasetFactory"}
DISK_MIB = 4096


@contextlib.contextmanager
def target(folder, say):
    """Yields the target's part of the targets file, with everything up."""
    with contextlib.ExitStack() as stack:
        # DataNodes refuse a socket below a folder that anybody may write to, like /tmp.
        sockets = temporary(stack, Path("/run"))
        data = temporary(stack)
        cluster = HdfsCluster(
            data,
            conf=SHORT_CIRCUIT | {"dfs.domain.socket.path": f"{sockets}/dn._PORT"},
            class_path=[PLUGIN],
            live=True,
            disk_mib=DISK_MIB,
            java_options=[f"-Djava.library.path={libhadoop_dir()}"],
        )
        say("starting a NameNode and a DataNode")
        stack.enter_context(cluster)
        vreadd = stack.enter_context(Vreadd(cluster.served("dn1"), publish=["dn1"]))
        datanode = cluster.datanode("dn1")
        datanode.stop()
        datanode.conf = PUBLISHER | {"io.vread.endpoint": vreadd.endpoint}
        cluster.start_datanode("dn1")
        yield _target(folder, cluster, vreadd)


def _target(folder, cluster, vreadd):
    lib = hadoop_class_path(cluster.version)
    return {
        "kind": "bare",
        "hosts": {"me": {"by": "local"}},
        "client": {
            "host": "me",
            "folder": str(folder / "client"),
            "options": ["-Xmx512m", f"-Djava.library.path={libhadoop_dir()}"],
            "class-path": f"{PLUGIN}:{cluster.conf_dir}:{lib}/*",
            "keep": "yes",
        },
        "ways": {
            "stock": targets.STOCK,
            "short-circuit": SHORT_CIRCUIT,
            "vread": targets.VREAD | {"io.vread.endpoint": vreadd.endpoint},
        },
        "loads": {"2vms": {}},
        "places": {"local": {"files": targets.FILES}},
        "images": {targets.IMAGE: {}},
        "cold": [command("me", _forget(cluster))],
        "cpu": {
            "datanode": [{"host": "me", "pid": cluster.pids["dn1"]}],
            "host": [{"host": "me", "pid": vreadd.pid}],
        },
        "versions": {"hadoop": command("me", f"echo {cluster.version}")},
    }


def _forget(cluster):
    """Drops the pages of the image and of the files in it from the page cache, and no others."""
    datanode = cluster.datanode("dn1")
    inside = f"/proc/{cluster.pids['dn1']}/root"  # only the DataNode sees the mounts
    found = " ".join(f"{inside}{path}" for path in datanode.data_dirs)
    each = targets.forget('"$file"')
    blocks = f"find {found} -name 'blk_*' | while read -r file; do {each}; done"
    return f"{blocks}; {targets.forget(datanode.disk.path)}"
