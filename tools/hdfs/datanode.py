# SPDX-License-Identifier: GPL-2.0-or-later
"""One DataNode of a cluster: its data directories, its disk if they lie on one, its process."""

from pathlib import Path

from tools.hdfs import config, jvm
from tools.hdfs.errors import HdfsError
from tools.images import LiveDisk

PORTS = 3
MAIN = "org.apache.hadoop.hdfs.server.datanode.DataNode"
PATH_ON_DISK = "/hadoop/data"


class DataNode:
    """name: dn1, dn2 ... (also what a vreadd that serves its image may call it).

    With a LiveDisk the data directories are on the image that the disk is; paths_on_disk then says
    where.  Without, they are folders of the host.
    """

    def __init__(self, name, directory, dirs, disk=None):
        self.name = name
        self.disk = disk
        self.paths_on_disk = ()
        root = Path(directory)
        if disk:
            self.paths_on_disk = tuple(f"{PATH_ON_DISK}{n}" for n in range(1, dirs + 1))
            self._configured = [Path(f"{disk.mount_point}{path}") for path in self.paths_on_disk]
        else:
            self._configured = [root / f"data{n}" for n in range(1, dirs + 1)]
        self.conf_dir = root / f"conf-{name}"
        self.conf = {}  # over the cluster's, for this one
        self.class_path = []  # before the cluster's
        self.ports = ()
        self.daemon = None

    @property
    def data_dirs(self):
        """As this process finds them."""
        if self.disk:
            return [self.disk.view / path.lstrip("/") for path in self.paths_on_disk]
        return self._configured

    @property
    def address(self):
        """Where clients read and write; the NameNode knows it by this."""
        return f"127.0.0.1:{self.ports[0]}"

    @property
    def running(self):
        return bool(self.daemon and self.daemon.alive())

    def configure(self, ports, common):
        self.ports = ports
        own = config.datanode_properties(ports, self._configured)
        config.write_site(self.conf_dir, common | own | self.conf)

    def start(self, command, log):
        if self.disk:
            for path in self.data_dirs:
                # A datanode makes its directory, but not the ones above.
                path.parent.mkdir(parents=True, exist_ok=True)
        self.daemon = jvm.Daemon(self.name, command, log)

    def stop(self):
        if self.daemon:
            self.daemon.stop()
            self.daemon = None

    def kill(self):
        """At once, as by a crash."""
        if self.daemon:
            self.daemon.kill()
            self.daemon = None

    def has_reported(self):
        """Whether the NameNode knows its blocks since its start.  (The metric that counts reports
        is some ten seconds late.)"""
        return self.daemon.logged("Successfully sent block report")

    def storage_ids(self):
        """What its data directories are called, in their order."""
        return [_storage_id(path / "current" / "VERSION") for path in self.data_dirs]


def _storage_id(version):
    for line in version.read_text().splitlines():
        if line.startswith("storageID="):
            return line.partition("=")[2]
    raise HdfsError(f"{version}: no storageID in it")


def datanodes(directory, count, data_dirs, live, tables, disk_mib, kind):
    """The datanodes of a cluster in `directory`; one alone and not live keeps it to itself."""
    directory = Path(directory)
    made = []
    for number in range(1, count + 1):
        name = f"dn{number}"
        home = directory if count == 1 and not live else directory / name
        disk = None
        if live:
            table = tables[(number - 1) % len(tables)]
            disk = LiveDisk(directory / f"{name}.raw", home / "disk", table, disk_mib, kind=kind)
        made.append(DataNode(name, home, data_dirs, disk))
    return made
