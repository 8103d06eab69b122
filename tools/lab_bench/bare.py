# SPDX-License-Identifier: GPL-2.0-or-later
"""The target bare: NameNode, two DataNodes, client and two vreadds on this machine, without guests.

The client uses the local port of the near vreadd, which reads the image that the first DataNode
has mounted.  The far vreadd reads the second DataNode's image, and is the near vreadd's peer over
loopback.  Files of the place `local` are on the first DataNode.  Those of `remote-tls` and
`remote-plain` are on the second, and come by TLS, or neither encrypted nor with a MAC (as HDFS
sends them).  Those of `hybrid` are where HDFS puts each block, and come by TLS.  RDMA needs a
second machine.
"""

import contextlib
from pathlib import Path

from tools.bench.scaffold import temporary
from tools.hdfs import HdfsCluster, hadoop_class_path
from tools.hdfs.native_code import libhadoop_dir
from tools.hdfs.ports import free_ports
from tools.lab_bench import targets
from tools.lab_bench.targets import command
from tools.peers import Authority, peer
from tools.vreadd import REPOSITORY, Vreadd

PLUGIN = REPOSITORY / "build" / "java" / "vread-hdfs.jar"
FORGET = Path(__file__).with_name("forget.sh")
XL_VREAD = REPOSITORY / "build" / "release" / "xl-vread"
SHORT_CIRCUIT = {"dfs.client.read.shortcircuit": "true"}
PUBLISHER = {"dfs.datanode.fsdataset.factory": "io.vread.datanode.VreadFsDatasetFactory"}
DISK_MIB = 6144
NEAR, FAR = "dn1", "dn2"
HYBRID = f"{targets.FILES}/hybrid"


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
            datanodes=2,
            live=True,
            disk_mib=DISK_MIB,
            java_options=[f"-Djava.library.path={libhadoop_dir()}"],
        )
        say("starting a NameNode and two DataNodes")
        stack.enter_context(cluster)
        vreadds = _vreadds(stack, folder, cluster)
        for name, vreadd in vreadds.items():
            datanode = cluster.datanode(name)
            datanode.stop()
            datanode.conf = PUBLISHER | {"io.vread.endpoint": vreadd.endpoint}
            cluster.start_datanode(name)
        yield described(folder, cluster, vreadds)


def _vreadds(stack, folder, cluster):
    """{DataNode: the vreadd that serves its image}."""
    (folder / "peers").mkdir()
    authority = Authority(folder / "peers")
    address = f"127.0.0.1:{free_ports(1)[0]}"
    storages = " ".join(f"{FAR}/{storage}" for storage in cluster.datanode(FAR).storage_ids())
    sections = {
        FAR: authority.host("far", listen=address)
        + peer("near", allow_datanodes=FAR, protection="authentication"),
        NEAR: authority.host("near")
        + peer("far", address=address, storages=storages, protection="privacy"),
    }
    return {
        name: stack.enter_context(
            Vreadd(cluster.served(name), publish=[name], sections=sections[name])
        )
        for name in (FAR, NEAR)
    }


def described(folder, cluster, vreadds):
    """The target's part of the targets file.  vreadds: {DataNode: the Vreadd of its image}."""
    class_path = client_class_path(cluster)
    near = vreadds[NEAR]
    near_address, far_address = (cluster.datanode(name).address for name in (NEAR, FAR))
    by_tls, plain = (_protect(near, level) for level in ("privacy", "authentication"))
    remote = {"files": f"{targets.FILES}/remote", "datanodes": far_address}
    return {
        **this_machine(folder, class_path),
        "ways": {
            "stock": targets.STOCK,
            "short-circuit": SHORT_CIRCUIT,
            "vread": targets.VREAD | {"io.vread.endpoint": near.endpoint},
        },
        "loads": {"2vms": {}},
        "places": {
            "local": {"files": targets.FILES, "datanodes": near_address, "transports": "local"},
            "remote-tls": remote | by_tls | {"transports": "tls"},
            "remote-plain": remote | plain | {"transports": "plain"},
            "hybrid": {"files": HYBRID} | by_tls | {"transports": ["local", "tls"]},
        },
        "vreadds": [command("me", f"{XL_VREAD} status --json --socket {near.control_socket}")],
        "images": {targets.IMAGE: {}},
        "settings": {
            "no-read-ahead": targets.no_read_ahead("me", near, XL_VREAD),
            "buffered": {},
            "direct": _direct(near, cluster.datanode(NEAR).disk.path),
        },
        "cold": [
            *(command("me", forget(cluster, name)) for name in vreadds),
            command("me", _forget_verified(near)),
        ],
        "cpu": {
            "datanode": [{"host": "me", "pid": cluster.pids[name]} for name in vreadds],
            "host": [{"host": "me", "pid": vreadd.pid} for vreadd in vreadds.values()],
        },
        "versions": {
            "hadoop": command("me", f"echo {cluster.version}"),
            "far blocks of hybrid": command("me", _far_blocks(class_path, far_address)),
        },
    }


def client_class_path(cluster):
    return f"{PLUGIN}:{cluster.conf_dir}:{hadoop_class_path(cluster.version)}/*"


def this_machine(folder, class_path):
    """What targets without guests have in common: one host, with a client that is kept."""
    return {
        "kind": "bare",
        "hosts": {"me": {"by": "local"}},
        "client": {
            "host": "me",
            "folder": str(folder / "client"),
            "options": ["-Xmx512m", f"-Djava.library.path={libhadoop_dir()}"],
            "class-path": class_path,
            "keep": "yes",
        },
    }


def _protect(vreadd, level):
    """Has the near vreadd's configuration say how the far one's bytes are protected."""
    change = f"sed -i 's/^protection = .*/protection = {level}/' {vreadd.config_path}"
    return {"enter": [command("me", f"{change} && {targets.reload(vreadd, XL_VREAD)}")]}


def _direct(vreadd, image):
    """Neither the DataNode's loop device nor the vreadd uses the page cache of the image."""
    devices = f"losetup --associated {image} --noheadings --output NAME"
    remove = f"sed -i '/^image-mode = /d' {vreadd.config_path}"
    add = f"sed -i 's/^data-dirs = .*/&\\nimage-mode = direct/' {vreadd.config_path}"

    def loops(mode):
        return command("me", f"{devices} | xargs -n 1 losetup --direct-io={mode}")

    again = targets.reload(vreadd, XL_VREAD)
    return {
        "enter": [loops("on"), command("me", f"{remove} && {add} && {again}")],
        "leave": [command("me", f"{remove} && {again}"), loops("off")],
    }


def _forget_verified(vreadd):
    """Has the vreadd forget the verified bytes that it keeps of images read with O_DIRECT."""
    return f"sh {FORGET} {vreadd.config_path} {vreadd.control_socket} {XL_VREAD}"


def _far_blocks(class_path, far):
    """Prints how many blocks of hybrid files are on the second DataNode, of how many."""
    check = f"java -cp '{class_path}' org.apache.hadoop.hdfs.tools.DFSck {HYBRID}"
    blocks = f"{check} -files -blocks -locations 2>/dev/null | grep ' blk_\\|:blk_'"
    return f"{blocks} | awk '/{far}/ {{ n++ }} END {{ print n + 0, \"of\", NR }}'"


def forget(cluster, name):
    """The command that drops the pages of a DataNode's images, and of the files in them, from the
    page cache, and no others."""
    datanode = cluster.datanode(name)
    inside = f"/proc/{cluster.pids[name]}/root"  # only the DataNode sees the mounts
    found = " ".join(f"{inside}{path}" for path in datanode.data_dirs)
    each = targets.forget('"$file"')
    blocks = f"find {found} -name 'blk_*' | while read -r file; do {each}; done"
    images = [targets.forget(disk.path) for disk in datanode.disks]
    return "; ".join([blocks, *images])
