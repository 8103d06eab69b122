# SPDX-License-Identifier: GPL-2.0-or-later
"""A DataNode with the publisher on a live image, the vreadd that gets its events, and a warm client
JVM that runs the commands of `hdfs dfs`; for the tests of the publisher in tests/hdfs."""

import contextlib
import os
from pathlib import Path

from tests.support.hadoop_client import HadoopClient
from tests.support.waiting import eventually
from tools.hdfs import DEFAULT_VERSION, HdfsCluster
from tools.vreadd import DataDirs, Vreadd

REPOSITORY = Path(__file__).resolve().parents[2]
JAR = REPOSITORY / "build/java/vread-hdfs.jar"
BLOCK_SIZE = 1 << 20
FACTORY = {"dfs.datanode.fsdataset.factory": "io.vread.datanode.VreadFsDatasetFactory"}
EVENTS = ("finalized", "append", "truncate", "delete")


def until(condition, what):
    return eventually(condition, what=what)


class PublisherBed:
    """One DataNode with two data directories on a live image, its publisher, and a vreadd."""

    def __init__(self, folder, version=DEFAULT_VERSION, conf=None):
        self.folder = folder
        self.endpoint = folder / "vread.sock"  # a link, because each vreadd has its own socket
        self.cluster = HdfsCluster(
            folder / "cluster",
            version=version,
            block_size=BLOCK_SIZE,
            data_dirs=2,
            live=True,
            tables=("none",),
            disk_mib=256,
            class_path=[JAR],
            conf=FACTORY | {"io.vread.endpoint": str(self.endpoint)} | (conf or {}),
        )
        self.datanode = self.cluster.datanode("dn1")
        self.client = HadoopClient(self.cluster, {}, folder / "client.log")
        self.vreadd = None

    def __enter__(self):
        self.cluster.start()
        try:
            self.client.start()
            self.cluster.sync()
            self.start_vreadd()
            # The directories have just been formatted; vreadd looks again from time to time.
            self.write("/first", 10)
            until(self.served, lambda: f"data directories: {self.vreadd.status()['datanodes']}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        with contextlib.ExitStack() as stack:
            stack.callback(self.cluster.stop)
            if self.vreadd:
                stack.callback(self.vreadd.stop)
            stack.callback(self.client.stop)

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
        self.fs("-put", "-f", local, path)
        return local

    def fs(self, *words):
        self.client.do("shell", program="dfs", words=list(map(str, words)))

    def admin(self, *words):
        self.client.do("shell", program="dfsadmin", words=list(map(str, words)))

    def append(self, local, path):
        self.fs("-appendToFile", local, path)

    def content(self, path):
        """The content as the stock client reads it."""
        back = self.folder / "back"
        self.fs("-get", "-f", path, back)
        return back.read_bytes()

    def bean(self):
        """The attributes by their names in lower case."""
        bean = self.cluster.jmx("dn1", "io.vread:type=Publisher")
        reasons = {entry["key"]: entry["value"] for entry in bean["Reasons"]}
        return {name.lower(): value for name, value in bean.items()} | {"reasons": reasons}

    def counts(self):
        """Counts of events, when no event is pending."""
        until(lambda: self.bean()["pending"] == 0, lambda: f"end of {self.bean()}")
        bean = self.bean()
        return {event: bean[event] for event in EVENTS}

    def since(self, before):
        return {event: count - before[event] for event, count in self.counts().items()}

    def heard(self):
        """The counts of vreadd."""
        (datanode,) = self.vreadd.status()["datanodes"]
        return {event: datanode["published"][event] for event in EVENTS}

    def log(self):
        return (self.cluster.logs / "dn1.log").read_text(errors="replace")

    def warnings(self):
        return publisher_warnings(self.cluster, "dn1")


def publisher_warnings(cluster, datanode):
    log = (cluster.logs / f"{datanode}.log").read_text(errors="replace")
    return [line for line in log.splitlines() if " WARN " in line and "vread:" in line]


def expected(**events):
    """Counts of all events; events that are not named count 0."""
    return {event: events.get(event, 0) for event in EVENTS}
