# SPDX-License-Identifier: GPL-2.0-or-later
"""The domUs of an HDFS: a NameNode, DataNodes and a client, on one emulated host or on several.
hadoop.py and hadoop_pair.py derive their classes from HadoopGuests.

A Member says on which host a domU is.  A DataNode's directory is on a disk of its own, xvdb: a raw
image in dom0 with a partition table and ext4 on the second partition.  The domU has it mounted for
writing from its start to its end.  Java and Hadoop are on the Java disk (java_disk.py), which all
domUs can read.  The names of all domUs are in /etc/hosts; there is no DNS.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from tools.hdfs.block import Block, blocks_in_report, fsck_query
from tools.hdfs.config import write_conf_dir
from tools.patience import Patience

from .debian import BOOKWORM, LIBRARIES, Debian
from .deployment import Backend
from .guest import Guest
from .host import XenHost
from .java_disk import URI
from .java_program import WarmShell
from .paths import LAB, LabError
from .product import PLUGIN, plugin_files

GUEST_MIB = 384
DATA_DEVICE, JAVA_DEVICE = "/dev/vda", "/dev/vdb"  # in dom0
DATA_PARTITION = "xvdb2"
DATA_DIR = "/dfs"  # in the file system of the data disk
CONF, HOME, LOGS = "/etc/hadoop", "/opt/hadoop", "/var/log"
NAMENODE, DATANODE, CLIENT = "namenode", "datanode", "client"
NAMENODE_HTTP, DATANODE_HTTP = 9870, 9864
PUBLISHER = {"dfs.datanode.fsdataset.factory": "io.vread.datanode.VreadFsDatasetFactory"}
# JMX reports numbers that are up to one period old: by default ten seconds.
METRICS = "*.period=1\n"
METRICS_AGE = 1.5
JAVA_LIBRARIES = "libm.so.6 libz.so.1 libgcc_s.so.1 libstdc++.so.6".split()
# Ten times what a start takes on a quiet machine with two cores.
START_TIMEOUT = 600.0
# What daemons log.  A NameNode without blocks has left safe mode before it is up.  A DataNode
# reports its blocks after its first heartbeat, which tells the NameNode its capacity.
NAMENODE_UP = "NameNode RPC up at"
REGISTERED = "Successfully sent block report"
PUBLISHING = "vread: finalized blocks are made durable"
POLL = 1.0


@dataclass(frozen=True)
class Place:
    """A host, and the vreadd in its dom0 if there is one."""

    host: XenHost
    backend: Backend | None = None


@dataclass(frozen=True)
class Member:
    """One of the domUs.  served: datanodes, as named in vreadd's configuration: those that a client
    may read, or the one for which a DataNode publishes.  disk: a DataNode's, in dom0."""

    address: str
    place: Place
    served: str = ""
    storage: str = "DISK"  # a DataNode's storage type in Hadoop: "DISK", "SSD"
    disk: str = DATA_DEVICE


class HadoopGuests:
    """If a Member's place has a backend, the domU of a client or DataNode has a device, and the
    DataNode runs the publisher."""

    jar = PLUGIN  # on Hadoop's class path

    def __init__(
        self,
        members: dict[str, Member],
        *,
        block_mib: int,
        properties: dict[str, str] | None = None,
        client_disks: Sequence[str] = (),
        client_files: dict[str, Path] | None = None,
        client_mib: int = GUEST_MIB,
    ) -> None:
        """members: {name of the domU: Member}; names other than "namenode" and "client" are
        DataNodes.  properties: further Hadoop properties of all domUs."""
        self.members = members
        self.guests: dict[str, Guest] = {}
        self._client_disks, self._client_files = tuple(client_disks), client_files or {}
        self._client_mib = client_mib
        self.properties = _properties(block_mib) | (properties or {})

    @property
    def namenode(self) -> Guest:
        return self.guests[NAMENODE]

    @property
    def datanode(self) -> Guest:
        """The DataNode's domU called "datanode", the only one of hadoop.Hdfs."""
        return self.guests[DATANODE]

    @property
    def client(self) -> Guest:
        return self.guests[CLIENT]

    @property
    def datanodes(self) -> list[str]:
        return [name for name in self.members if name not in (NAMENODE, CLIENT)]

    # ---- starting and ending ---------------------------------------------------

    def boot_namenode(self) -> None:
        self._guest(NAMENODE, ()).run(f"cp -r {HOME}/name /run/name").check()

    def run_daemons(self) -> None:
        """Starts the NameNode and all DataNodes, whose domUs are up; wait_ready() comes next.

        All domUs boot before: beside the start of a JVM a domU takes minutes to boot.  On a host of
        one emulated processor the DataNodes start when the NameNode is up.  Measured there: the
        start of a NameNode took 75 s of the processor, and 150 s beside the start of a DataNode.
        """
        self.run_namenode()
        if self.members[NAMENODE].place.host.cpus == 1:
            self._wait_said(NAMENODE, "namenode", NAMENODE_UP, START_TIMEOUT)
        for name in self.datanodes:
            self.run_datanode(name)

    def run_namenode(self) -> None:
        _daemon(self.namenode, "namenode")

    def start_datanode(self, name: str = DATANODE) -> None:
        """Starts its domU, with the data disk mounted, and the DataNode in it."""
        self.boot_datanode(name)
        self.run_datanode(name)

    def boot_datanode(self, name: str = DATANODE) -> None:
        guest = self._guest(name, [f"phy:{self.members[name].disk},xvdb,w"])
        self._connect(name)
        mount = f"mkdir -p /data && mount -t ext4 /dev/{DATA_PARTITION} /data"
        guest.run(mount, START_TIMEOUT).check()

    def run_datanode(self, name: str = DATANODE) -> None:
        _daemon(self.guests[name], "datanode")

    def reboot_datanode(self, name: str = DATANODE) -> None:
        """Stops the DataNode, unmounts its disk and ends its domU; start_datanode() comes next."""
        guest, pid = self.guests[name], "$(cat /run/datanode.pid)"
        stop = f"kill {pid}; while kill -0 {pid} 2>/dev/null; do usleep 200000; done"
        guest.run(stop, START_TIMEOUT).check()
        guest.popen("umount /data; exec reboot -f")
        guest.wait_gone()

    def start_client(self) -> None:
        self._guest(CLIENT, self._client_disks, self._client_files)
        self._connect(CLIENT)

    def take_over(self, host: XenHost) -> None:
        """Uses the domUs with which the host was restored: connects those that have a device, and
        destroys those that are members elsewhere or nowhere."""
        self.properties |= host.told["properties"]
        for name, guest in host.guests.items():
            if name in self.members and self.members[name].place.host is host:
                self._take_over(name, guest)
            else:
                guest.destroy()

    def _take_over(self, name: str, guest: Guest) -> None:
        self.guests[name] = guest
        guest.run("ip neigh flush dev eth0").check()  # a neighbour may be on another host now
        guest.unpack(self._settings(name) | (self._client_files if name == CLIENT else {}))
        if name != NAMENODE:
            self._connect(name)
        if name in self.datanodes:
            self.wait_publishing(name)

    def shell(self) -> WarmShell:
        """`hdfs dfs` in a JVM in the client, up at once on a host that was restored with it."""
        return WarmShell(self.client, self.client.host.told.get("shell"))

    # ---- waiting -----------------------------------------------------------------

    def wait_registered(self, name: str = DATANODE, timeout: float = START_TIMEOUT) -> None:
        """Waits until the domU's last started DataNode has reported its blocks to the NameNode."""
        self._wait_said(name, "datanode", REGISTERED, timeout)

    def wait_publishing(self, name: str = DATANODE, timeout: float = START_TIMEOUT) -> None:
        """Waits until the DataNode's publisher has found its backend."""
        self._wait_said(name, "datanode", PUBLISHING, timeout)

    def wait_ready(self, timeout: float = START_TIMEOUT) -> None:
        """Waits until the NameNode takes writes and knows all DataNodes whose domUs are up."""
        self._wait_said(NAMENODE, "namenode", NAMENODE_UP, timeout)
        for name in self.datanodes:
            if name in self.guests and self.guests[name].alive:
                self.wait_registered(name, timeout)

    def _wait_said(self, name: str, daemon: str, text: str, timeout: float) -> None:
        """Waits until the log of the domU's daemon has the text.  Nothing asks the daemon itself
        meanwhile: an emulated JVM that starts needs seconds of the processor for each answer."""
        reading = self.guests[name].popen(f"tail -n +1 -F {LOGS}/{daemon}.log")
        try:
            reading.wait_output(text, timeout)
        except TimeoutError:
            what = f"{name}: its {daemon} did not say {text!r} within {timeout:.0f} s"
            raise LabError(f"{what}\n{self.logs()}") from None
        finally:
            reading.kill()

    def wait_published(
        self, blocks: int, name: str = DATANODE, timeout: float = START_TIMEOUT
    ) -> None:
        """Waits until the DataNode has published that many finalized blocks to this vreadd."""
        what = f"{blocks} finalized blocks of {name} to be published"
        self._wait(lambda: self.published(name) >= blocks, what, timeout)

    def published(self, name: str = DATANODE) -> int:
        """How many finalized blocks the DataNode has published since vreadd started."""
        member = self.members[name]
        return member.place.backend.published(member.served)["finalized"]

    def _wait(self, condition, what: str, timeout: float) -> None:
        patience = Patience(timeout)
        while not condition():
            if patience.is_over():
                raise LabError(f"waited {timeout:.0f} s for {what}\n{self.logs()}")
            time.sleep(POLL)

    # ---- asking ------------------------------------------------------------------

    def jmx(self, name: str, query: str) -> dict:
        """The first JMX bean of that domU's daemon that matches the query; {}: none."""
        port = NAMENODE_HTTP if name == NAMENODE else DATANODE_HTTP
        answer = self._page(f"{name}:{port}/jmx?qry={query}")
        beans = json.loads(answer)["beans"] if answer else []
        return beans[0] if beans else {}

    def blocks(self, path: str) -> list[Block]:
        """The blocks of one file, in order, as the NameNode reports them."""
        query = urlencode(fsck_query(path) | {"ugi": "root"})
        return blocks_in_report(self._page(f"{NAMENODE}:{NAMENODE_HTTP}/fsck?{query}"), path)

    def _page(self, url: str) -> str:
        """The page's text; "" if there is no answer."""
        answer = self.namenode.run(["wget", "-qO-", f"http://{url}"])
        return answer.stdout.decode() if answer.rc == 0 else ""

    def dfs(self, arguments: str, properties: dict[str, str] | None = None) -> str:
        """The command line of `hdfs dfs` with these properties."""
        defined = [f"-D {name}={value}" for name, value in (properties or {}).items()]
        return " ".join(["hdfs dfs", *defined, arguments])

    def bytes_served(self, name: str = DATANODE) -> int:
        """Bytes of blocks that the DataNode has read for clients, by its own count."""
        return self._bytes_served([name])[name]

    def served_by_datanodes(self) -> dict[str, int]:
        """{domU: bytes_served()} of all DataNodes."""
        return self._bytes_served(self.datanodes)

    def _bytes_served(self, names: Sequence[str]) -> dict[str, int]:
        time.sleep(METRICS_AGE)
        return {name: self._bytes_read(name) for name in names}

    def _bytes_read(self, name: str) -> int:
        bean = self.jmx(name, "Hadoop:service=DataNode,name=DataNodeActivity*")
        if "BytesRead" not in bean:
            raise LabError(f"the DataNode of {name} has no BytesRead: {bean}\n{self.logs()}")
        return bean["BytesRead"]

    def logs(self) -> str:
        parts = []
        for name, guest in self.guests.items():
            if guest.alive and name != CLIENT:
                tail = guest.run(f"tail -n 30 {LOGS}/*node.log").stdout.decode()
                parts.append(f"---- {name}\n{tail}")
        return "\n".join(parts)

    # ---- making domUs --------------------------------------------------------------

    def _guest(
        self, name: str, disks: Sequence[str] = (), files: dict[str, Path] | None = None
    ) -> Guest:
        member = self.members[name]
        guest = member.place.host.create_guest(
            name,
            memory_mib=self._client_mib if name == CLIENT else GUEST_MIB,
            vifs=[member.address],
            disks=[f"phy:{JAVA_DEVICE},xvdj,r", *disks],
            files=self._hadoop_files(name) | (files or {}),
            **self._creation(name),
        )
        self.guests[name] = guest
        guest.run(f"mkdir -p {HOME} && mount -t ext4 -o ro,noload /dev/xvdj {HOME}").check()
        if member.place.host.debian != BOOKWORM:
            guest.run(f"mount --bind {LIBRARIES} {HOME}/syslib").check()
        return guest

    def _hadoop_files(self, name: str) -> dict[str, Path]:
        place = self.members[name].place
        return self._settings(name) | {
            "/usr/local/bin/hdfs": LAB / "root" / "hdfs",
            "/usr/local/bin/hadoop": LAB / "root" / "hdfs",
            "/usr/local/bin/java": LAB / "root" / "java",
            "/usr/bin/bash": LAB / "root" / "bash",
            **_libraries_of_java(place.host.debian),
            **(self._plugin_files(place.host.debian) if place.backend else {}),
        }

    def _settings(self, name: str) -> dict[str, Path]:
        """Hadoop's configuration, and /etc/hosts with the names of all domUs."""
        folder = self.members[name].place.host.folder / "hadoop"
        conf = folder / name
        write_conf_dir(conf, self.properties | self._own_properties(name))
        (conf / "hadoop-env.sh").write_text(f"HADOOP_CLASSPATH=${{HADOOP_CLASSPATH-{self.jar}}}\n")
        (conf / "hadoop-metrics2.properties").write_text(METRICS)
        hosts = folder / "hosts"
        named = (f"{member.address} {host}" for host, member in self.members.items())
        hosts.write_text("".join(f"{line}\n" for line in ("127.0.0.1 localhost", *named)))
        found = [path for path in conf.rglob("*") if path.is_file()]
        configuration = {f"{CONF}/{path.relative_to(conf)}": path for path in found}
        return configuration | {"/etc/hosts": hosts}

    def _creation(self, name: str) -> dict:
        """Further arguments of create_guest(); for derived classes."""
        return {}

    def _plugin_files(self, debian: Debian) -> dict[str, Path]:
        return plugin_files(debian)

    def _own_properties(self, name: str) -> dict[str, str]:
        if name not in self.datanodes:
            return {}
        member = self.members[name]
        directory = f"[{member.storage}]file:///data{DATA_DIR}"
        publisher = PUBLISHER if member.place.backend else {}
        return {"dfs.datanode.data.dir": directory} | publisher

    def _connect(self, name: str) -> None:
        member, guest = self.members[name], self.guests[name]
        if backend := member.place.backend:
            backend.attach(guest, member.served, "datanode" if name in self.datanodes else CLIENT)
            backend.connect(guest)


def _libraries_of_java(debian: Debian) -> dict[str, Path]:
    """The Java disk has Java of this machine and the libraries that it needs.  A guest of another
    release has these libraries of its own, because its loader takes no other C library."""
    if debian == BOOKWORM:
        return {}
    return debian.files(f"{LIBRARIES}/{name}" for name in JAVA_LIBRARIES)


def _daemon(guest: Guest, name: str) -> None:
    guest.run(f"hdfs {name} >{LOGS}/{name}.log 2>&1 </dev/null & echo $! >/run/{name}.pid")


def _properties(block_mib: int) -> dict[str, str]:
    return {
        "fs.defaultFS": URI,
        "dfs.namenode.http-address": f"{NAMENODE}:{NAMENODE_HTTP}",
        "dfs.namenode.name.dir": "file:///run/name",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.namenode.safemode.extension": "0",
        "dfs.namenode.handler.count": "4",
        "dfs.datanode.handler.count": "2",
        "dfs.datanode.scan.period.hours": "-1",
        # On a busy machine a DataNode may be late with its report of a block.
        "dfs.client.block.write.locateFollowingBlock.retries": "12",
        # A disk may be filled to its last block.
        "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": "0",
        "dfs.replication": "1",
        "dfs.blocksize": str(block_mib << 20),
        # Hadoop's limit is 60 s of real time.  On a busy machine, an emulated host may take longer
        # for a packet.  No test on emulated hosts is about this limit.
        "dfs.client.socket-timeout": "600000",
        # Otherwise Hadoop runs a program to learn root's groups.
        "hadoop.user.group.static.mapping.overrides": "root=root",
    }
