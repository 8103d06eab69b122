# SPDX-License-Identifier: GPL-2.0-or-later
"""A DataNode on a live image with the publisher in it, and the vreadd it publishes to."""

import json
import os
from pathlib import Path

from tests.support.waiting import eventually
from tools.hdfs import DEFAULT_VERSION, HdfsCluster, jvm
from tools.vreadd import DataDirs, Vreadd

REPOSITORY = Path(__file__).resolve().parents[2]
JAR = REPOSITORY / "build/java/vread-hdfs.jar"
BLOCK_SIZE = 1 << 20
FACTORY = {"dfs.datanode.fsdataset.factory": "io.vread.datanode.VreadFsDatasetFactory"}
DFS_ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"
EVENTS = ("finalized", "append", "truncate", "delete")
# The longest there is: else an event that a busy machine holds up for a fifth of a second does not
# count.
TIMEOUT = {"io.vread.publisher.timeout.ms": "10000"}


def until(condition, what):
    return eventually(condition, what=what)


class PublisherBed:
    """One DataNode with two data directories on a live image, its publisher, and a vreadd."""

    def __init__(self, folder, version=DEFAULT_VERSION, conf=None):
        self.folder = folder
        self.endpoint = folder / "vread.sock"  # a link: each vreadd has a socket of its own
        self.cluster = HdfsCluster(
            folder / "cluster",
            version=version,
            block_size=BLOCK_SIZE,
            data_dirs=2,
            live=True,
            tables=("none",),
            disk_mib=256,
            class_path=[JAR],
            conf=FACTORY | TIMEOUT | {"io.vread.endpoint": str(self.endpoint)} | (conf or {}),
        )
        self.datanode = self.cluster.datanode("dn1")
        self.vreadd = None

    def __enter__(self):
        self.cluster.start()
        try:
            self.cluster.sync()
            self.start_vreadd()
            # The directories were formatted a moment ago; vreadd looks again now and then.
            self.write("/first", 10)
            until(self.served, lambda: f"data directories: {self.vreadd.status()['datanodes']}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            if self.vreadd:
                self.vreadd.stop()
        finally:
            self.cluster.stop()

    def start_vreadd(self):
        dirs = DataDirs(self.datanode.disk.path, self.datanode.paths_on_disk)
        self.vreadd = Vreadd({"dn1": dirs}, publish=["dn1"])
        self.vreadd.start()
        self.endpoint.unlink(missing_ok=True)
        self.endpoint.symlink_to(self.vreadd.endpoint)

    def served(self):
        return self.vreadd.status()["datanodes"][0]["state"] == "served"

    def write(self, path, size):
        local = self.folder / "local"
        local.write_bytes(os.urandom(size))
        self.cluster.put(local, path)
        return local

    def admin(self, *words):
        command = jvm.java_command(self.cluster.class_path, DFS_ADMIN, words, log_level="ERROR")
        jvm.run(command, " ".join(["hdfs dfsadmin", *words]))

    def bean(self):
        bean = self.cluster.jmx("dn1", "io.vread:type=Publisher")
        return bean | {"reasons": json.loads(bean["reasons"])}

    def counts(self):
        """Of events, once those on their way have arrived."""
        until(lambda: self.bean()["pending"] == 0, lambda: f"end of {self.bean()}")
        bean = self.bean()
        return {event: bean[event] for event in EVENTS}

    def since(self, before):
        return {event: count - before[event] for event, count in self.counts().items()}

    def heard(self):
        """The backend's own counts."""
        (datanode,) = self.vreadd.status()["datanodes"]
        return {event: datanode["published"][event] for event in EVENTS}

    def log(self):
        return (self.cluster.logs / "dn1.log").read_text(errors="replace")

    def warnings(self):
        return publisher_warnings(self.cluster)


def publisher_warnings(cluster):
    log = (cluster.logs / "dn1.log").read_text(errors="replace")
    return [line for line in log.splitlines() if " WARN " in line and "vread:" in line]


def expected(**events):
    """Counts of all events, those not named being none."""
    return {event: events.get(event, 0) for event in EVENTS}
