# SPDX-License-Identifier: GPL-2.0-or-later
"""One DataNode of a cluster (cluster.py): its data directories, its process, its disks if any."""

import re
import uuid
from pathlib import Path

from tools.hdfs import config, jvm
from tools.hdfs.errors import HdfsError
from tools.images import LiveDisk
from tools.vreadd import DataDirs

PORTS = 3
MAIN = "org.apache.hadoop.hdfs.server.datanode.DataNode"
PATH_ON_DISK = "/hadoop/data"


class DataNode:
    """name: dn1, dn2 ...; HdfsCluster.served() gives vreadd the same name.

    With LiveDisks the data directories are in their images, `dirs` on each disk, at paths_on_disk:
    those of the first disk first.  Without a LiveDisk they are folders of this machine.
    """

    def __init__(self, name, directory, dirs, disks=()):
        self.name = name
        self.disks = tuple(disks)
        self.paths_on_disk = ()
        root = Path(directory)
        if disks:
            numbers = range(1, dirs * len(disks) + 1)
            self.paths_on_disk = tuple(f"{PATH_ON_DISK}{n}" for n in numbers)
            self._of_path = [disks[(n - 1) // dirs] for n in numbers]
            self._configured = [
                Path(f"{disk.mount_point}{path}")
                for disk, path in zip(self._of_path, self.paths_on_disk, strict=True)
            ]
        else:
            self._configured = [root / f"data{n}" for n in range(1, dirs + 1)]
        self.conf_dir = root / f"conf-{name}"
        self.conf = {}  # overrides the cluster's properties for this datanode
        self.storage_types = ()  # of the data directories, in turn; without, all are DISK
        self.more_dirs = []  # further data directories, as Hadoop's property has them
        self.class_path = []  # before the cluster's
        self.ports = ()
        self.daemon = None

    @property
    def disk(self):
        """Its only or first disk, or None."""
        return self.disks[0] if self.disks else None

    @property
    def served(self):
        """What a Vreadd serves of it."""
        images = tuple(disk.path for disk in self.disks)
        return DataDirs(images[0] if len(images) == 1 else images, self.paths_on_disk)

    @property
    def data_dirs(self):
        """The data directories, by paths that this process can use."""
        if self.disks:
            return [
                disk.view / path.lstrip("/")
                for disk, path in zip(self._of_path, self.paths_on_disk, strict=True)
            ]
        return self._configured

    @property
    def address(self):
        """HOST:PORT at which clients read and write, also its name at the NameNode."""
        return f"127.0.0.1:{self.ports[0]}"

    @property
    def running(self):
        return bool(self.daemon and self.daemon.alive())

    def configure(self, ports, common):
        self.ports = ports
        self._write_site(common, len(self._configured))

    def reconfigure(self, common, dirs):
        """Writes the configuration with only the first data directories, for a reconfiguration
        while the datanode runs."""
        self._write_site(common, dirs)

    def _write_site(self, common, dirs):
        types = [f"[{name}]" for name in self.storage_types] or [""]
        named = [
            f"{types[number % len(types)]}file://{path}"
            for number, path in enumerate(self._configured[:dirs])
        ]
        own = config.datanode_properties(self.ports, [*named, *self.more_dirs])
        config.write_site(self.conf_dir, common | own | self.conf)

    def start(self, command, log):
        if self.disks:
            for path in self.data_dirs:
                # A datanode makes its data directory, but not the parents.
                path.parent.mkdir(parents=True, exist_ok=True)
        self.daemon = jvm.Daemon(self.name, command, log)

    def stop(self):
        if self.daemon:
            self.daemon.stop()
            self.daemon = None

    def kill(self):
        """Ends the process at once, like a crash."""
        if self.daemon:
            self.daemon.kill()
            self.daemon = None

    def has_reported(self):
        """True if the NameNode has the block report of this start.  Reads the log: the metric that
        counts reports is some ten seconds late."""
        return self.daemon.logged("Successfully sent block report")

    def storage_ids(self):
        """The storage ids of the data directories, in the same order."""
        return [_storage_id(path / "current" / "VERSION") for path in self.data_dirs]

    def renew_ids(self):
        """Gives the stopped datanode and its storages new ids, as an operator gives them to a
        cloned machine.  The ids of cluster, namespace and block pool stay."""
        own = str(uuid.uuid4())
        for path in self.data_dirs:
            version = path / "current" / "VERSION"
            text = re.sub(r"(?m)^datanodeUuid=.*", f"datanodeUuid={own}", version.read_text())
            text = re.sub(r"(?m)^storageID=.*", f"storageID=DS-{uuid.uuid4()}", text)
            version.write_text(text)


def _storage_id(version):
    for line in version.read_text().splitlines():
        if line.startswith("storageID="):
            return line.partition("=")[2]
    raise HdfsError(f"{version}: no storageID in it")


def datanodes(directory, count, data_dirs, live, tables, disk_mib, kind, disks):
    """Makes the datanodes, each in a subfolder; a single one that is not live uses `directory`.
    disks: how many each live one has, used in turn."""
    directory = Path(directory)
    made = []
    for number in range(1, count + 1):
        name = f"dn{number}"
        home = directory if count == 1 and not live else directory / name
        own = []
        for which in range(disks[(number - 1) % len(disks)] if live else 0):
            table = tables[(number - 1) % len(tables)]
            more = f"-{which + 1}" if which else ""
            image, mount_point = directory / f"{name}{more}.raw", home / f"disk{more}"
            own.append(LiveDisk(image, mount_point, table, disk_mib, kind=kind))
        made.append(DataNode(name, home, data_dirs, own))
    return made
