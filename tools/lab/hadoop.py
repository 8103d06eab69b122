# SPDX-License-Identifier: GPL-2.0-or-later
"""Real HDFS on an emulated Xen host: NameNode, DataNode and client, a domU each.

    with XenHost("h", disks=hadoop.disks(), memory_mib=hadoop.HOST_MIB, ...) as host:
        hdfs = Hdfs(host, block_mib=32)
        hdfs.start()
        hdfs.client.run("hdfs dfs -put /etc/hosts /file").check()

The three are joined by dom0's bridge.  The DataNode's directory is on a disk of its own, xvdb: a
raw image in dom0 with a partition table, ext4 on its second partition, mounted for writing in
the domU from its start to its end.  Java and Hadoop come from the Java disk (java_disk.py), which
all three have for reading.  What the guests are called is in their /etc/hosts; nothing asks DNS.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path

from tools.hdfs.config import write_conf_dir
from tools.images.empty import make_empty_image

from .cache import cached, key_of
from .deployment import Backend, Datanode, load_frontend
from .guest import Guest
from .host import XenHost
from .java_disk import URI, java_disk
from .paths import LAB, LabError
from .product import PLUGIN, plugin_files
from .qemu import Disk

HOST_MIB, DOM0_MIB, GUEST_MIB = 3072, 1024, 384
DATA_MIB = 1024
DATA_DEVICE, JAVA_DEVICE = "/dev/vda", "/dev/vdb"  # in dom0, as disks() has them
DATA_PARTITION = "xvdb2"
DATA_DIR = "/dfs"  # in the file system of the data disk
CONF, HOME, LOGS = "/etc/hadoop", "/opt/hadoop", "/var/log"
DATANODE = "dn1"  # its name in vreadd's configuration
ADDRESSES = {"namenode": "10.77.0.100", "datanode": "10.77.0.101", "client": "10.77.0.102"}
NAMENODE_HTTP, DATANODE_HTTP = 9870, 9864
# In an emulator everything takes long; what is too short here is tested elsewhere.
PUBLISHER = {
    "dfs.datanode.fsdataset.factory": "io.vread.datanode.VreadFsDatasetFactory",
    "io.vread.publisher.timeout.ms": "10000",
}
# For a client, in a file or by -D.
READER = {
    "dfs.client.replica.accessor.builder.classes": "io.vread.hdfs.VreadReplicaAccessorBuilder",
    "io.vread.timeout.ms": "30000",
}
STATISTICS = "io.vread.statistics.file"
# Ten times what a start takes on a quiet machine with two cores.
START_TIMEOUT = 600.0
POLL = 1.0


def disks(data_mib: int = DATA_MIB) -> list[Disk]:
    """The first disks of the host: the datanode's, empty at every start, and the Java disk."""
    key = key_of([str(data_mib).encode(), Path(make_empty_image.__code__.co_filename).read_bytes()])
    data = cached("data", ".raw", key, lambda path: make_empty_image(path, data_mib))
    return [Disk(data, "snapshot"), Disk(java_disk(), "readonly")]


def backend(host: XenHost) -> Backend:
    """vreadd in dom0 with two lines of configuration; the disk may be empty as yet."""
    return Backend(host, {DATANODE: Datanode(DATA_DEVICE, data_dirs=(DATA_DIR,))})


class Hdfs:
    """The three domUs.  With a backend (vreadd in dom0) the client's and the datanode's have a
    device each, and the DataNode runs the publisher."""

    def __init__(
        self,
        host: XenHost,
        backend: Backend | None = None,
        *,
        block_mib: int = 32,
        properties: dict[str, str] | None = None,
        client_disks: Sequence[str] = (),
        client_files: dict[str, Path] | None = None,
    ) -> None:
        """`properties` are for all three, on top of what is needed."""
        self.host, self.backend = host, backend
        self._client_disks, self._client_files = tuple(client_disks), client_files or {}
        self._folder = host.folder / "hadoop"
        self._properties = _properties(block_mib) | (properties or {})
        self.namenode: Guest | None = None
        self.datanode: Guest | None = None
        self.client: Guest | None = None

    def start(self) -> None:
        """All three; returns when the NameNode takes writes."""
        self.start_namenode()
        self.start_datanode()
        self.start_client()
        self.wait_ready()

    def start_namenode(self) -> None:
        self.namenode = self._guest("namenode", ())
        self.namenode.run(f"cp -r {HOME}/name /run/name").check()
        self._daemon(self.namenode, "namenode")

    def start_datanode(self) -> None:
        """Its domU with the data disk mounted, and the DataNode in it."""
        self.boot_datanode()
        self.run_datanode()

    def boot_datanode(self) -> None:
        self.datanode = self._guest("datanode", [f"phy:{DATA_DEVICE},xvdb,w"])
        self._connect(self.datanode, "datanode")
        mount = f"mkdir -p /data && mount -t ext4 /dev/{DATA_PARTITION} /data"
        self.datanode.run(mount, START_TIMEOUT).check()

    def run_datanode(self) -> None:
        self._daemon(self.datanode, "datanode")

    def reboot_datanode(self) -> None:
        """In order, but for the start: start_datanode() does that."""
        pid = "$(cat /run/datanode.pid)"
        stop = f"kill {pid}; while kill -0 {pid} 2>/dev/null; do usleep 200000; done"
        self.datanode.run(stop, START_TIMEOUT).check()
        self.datanode.popen("umount /data; exec reboot -f")
        self.datanode.wait_gone()

    def wait_registered(self, timeout: float = START_TIMEOUT) -> None:
        """Until the DataNode that started last has told the NameNode of its blocks."""
        deadline = time.monotonic() + timeout
        said = ["grep", "-q", "Successfully sent block report", f"{LOGS}/datanode.log"]
        while self.datanode.run(said).rc != 0:
            if time.monotonic() > deadline:
                raise LabError(f"the DataNode is not up after {timeout:.0f} s\n{self.logs()}")
            time.sleep(POLL)

    def start_client(self) -> None:
        self.client = self._guest("client", self._client_disks, self._client_files)
        self._connect(self.client, "client")

    def wait_ready(self, timeout: float = START_TIMEOUT) -> None:
        """Until the NameNode takes writes and has a DataNode to send them to."""
        deadline = time.monotonic() + timeout
        while not self._ready():
            if time.monotonic() > deadline:
                raise LabError(f"HDFS is not up after {timeout:.0f} s\n{self.logs()}")
            time.sleep(POLL)

    def _ready(self) -> bool:
        state = self.jmx("namenode", "Hadoop:service=NameNode,name=FSNamesystemState")
        return state.get("FSState") == "Operational" and state.get("NumLiveDataNodes") == 1

    def jmx(self, name: str, query: str) -> dict:
        """The first bean of the "namenode" or "datanode" that answers; {} when none does."""
        port = NAMENODE_HTTP if name == "namenode" else DATANODE_HTTP
        url = f"http://{name}:{port}/jmx?qry={query}"
        answer = self.namenode.run(["wget", "-qO-", url])
        beans = json.loads(answer.stdout)["beans"] if answer.rc == 0 else []
        return beans[0] if beans else {}

    def dfs(self, arguments: str, properties: dict[str, str] | None = None) -> str:
        """The command line of `hdfs dfs`, with properties for this time only."""
        defined = [f"-D {name}={value}" for name, value in (properties or {}).items()]
        return " ".join(["hdfs dfs", *defined, arguments])

    def wait_published(self, blocks: int, timeout: float = START_TIMEOUT) -> None:
        """Until the DataNode has published that many finalized blocks since vreadd started."""
        deadline = time.monotonic() + timeout
        while (now := self.backend.published(DATANODE))["finalized"] < blocks:
            if time.monotonic() > deadline:
                raise LabError(f"published: {now}, wanted {blocks} finalized\n{self.logs()}")
            time.sleep(POLL)

    def bytes_served(self) -> int:
        """Bytes of blocks that the DataNode read for clients, as it says itself."""
        bean = self.jmx("datanode", "Hadoop:service=DataNode,name=DataNodeActivity*")
        if "BytesRead" not in bean:
            raise LabError(f"the DataNode has no BytesRead: {bean}\n{self.logs()}")
        return bean["BytesRead"]

    def logs(self) -> str:
        parts = []
        for guest in (self.namenode, self.datanode):
            if guest and guest.alive:
                tail = guest.run(f"tail -n 30 {LOGS}/{guest.name}.log").stdout.decode()
                parts.append(f"---- {guest.name}\n{tail}")
        return "\n".join(parts)

    def _guest(
        self, name: str, disks: Sequence[str] = (), files: dict[str, Path] | None = None
    ) -> Guest:
        guest = self.host.create_guest(
            name,
            memory_mib=GUEST_MIB,
            vifs=[ADDRESSES[name]],
            disks=[f"phy:{JAVA_DEVICE},xvdj,r", *disks],
            files=self._hadoop_files(name) | (files or {}),
        )
        guest.run(f"mkdir -p {HOME} && mount -t ext4 -o ro,noload /dev/xvdj {HOME}").check()
        return guest

    def _hadoop_files(self, name: str) -> dict[str, Path]:
        conf = self._folder / name
        added = PUBLISHER if self.backend and name == "datanode" else {}
        write_conf_dir(conf, self._properties | added)
        (conf / "hadoop-env.sh").write_text(f"HADOOP_CLASSPATH=${{HADOOP_CLASSPATH-{PLUGIN}}}\n")
        hosts = self._folder / "hosts"
        lines = ["127.0.0.1 localhost", *(f"{ip} {host}" for host, ip in ADDRESSES.items())]
        hosts.write_text("".join(f"{line}\n" for line in lines))
        found = [path for path in conf.rglob("*") if path.is_file()]
        return {f"{CONF}/{path.relative_to(conf)}": path for path in found} | {
            "/etc/hosts": hosts,
            "/usr/local/bin/hdfs": LAB / "root" / "hdfs",
            "/usr/bin/bash": LAB / "root" / "bash",
            **(plugin_files() if self.backend else {}),
        }

    def _connect(self, guest: Guest, role: str) -> None:
        if self.backend:
            self.backend.attach(guest, DATANODE, role)
            load_frontend(guest)
            self.backend.wait_connected(guest)

    def _daemon(self, guest: Guest, name: str) -> None:
        guest.run(f"hdfs {name} >{LOGS}/{name}.log 2>&1 </dev/null & echo $! >/run/{name}.pid")


def _properties(block_mib: int) -> dict[str, str]:
    return {
        "fs.defaultFS": URI,
        "dfs.namenode.http-address": f"namenode:{NAMENODE_HTTP}",
        "dfs.namenode.name.dir": "file:///run/name",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.namenode.safemode.extension": "0",
        "dfs.namenode.handler.count": "4",
        "dfs.datanode.data.dir": f"file:///data{DATA_DIR}",
        "dfs.datanode.handler.count": "2",
        "dfs.datanode.scan.period.hours": "-1",
        # A disk may be filled to its last block.
        "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": "0",
        "dfs.replication": "1",
        "dfs.permissions.enabled": "false",
        "dfs.blocksize": str(block_mib << 20),
        # Nobody forks a process to learn what groups root has.
        "hadoop.user.group.static.mapping.overrides": "root=root",
    }
