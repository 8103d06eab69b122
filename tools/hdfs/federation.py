# SPDX-License-Identifier: GPL-2.0-or-later
"""An HDFS federation: two NameNodes with a namespace each, on one set of DataNodes.

    with FederatedCluster(folder, datanodes=2, replication=2) as hdfs:
        hdfs.uris            # of the two namespaces

Each datanode has a block pool of each namespace.  Both NameNodes count blocks from the same number,
so two files that are the first of their namespaces have the same block ids and generation stamps.
What a single namespace has, as fsck and `uri`, is of the first one.
"""

from tools.hdfs import config
from tools.hdfs.cluster import NAMENODE, HdfsCluster
from tools.hdfs.errors import HdfsError

NAMES = ("ns1", "ns2")
CLUSTER_ID = "CID-vread-federation"
STATE = "Hadoop:service=NameNode,name=FSNamesystemState"
INFO = "Hadoop:service=NameNode,name=NameNodeInfo"


class FederatedCluster(HdfsCluster):
    NAMENODE_PORTS = 2 * len(NAMES)

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._second = None

    @property
    def uris(self):
        """The URI of each namespace."""
        return [f"hdfs://127.0.0.1:{rpc}" for rpc in self._ports[::2]]

    def _properties(self):
        own = super()._properties()
        for key in ("rpc-address", "http-address", "name.dir"):
            del own[f"dfs.namenode.{key}"]
        own["dfs.nameservices"] = ",".join(NAMES)
        for number, name in enumerate(NAMES):
            rpc, http = self._ports[2 * number : 2 * number + 2]
            own[f"dfs.namenode.rpc-address.{name}"] = f"127.0.0.1:{rpc}"
            own[f"dfs.namenode.http-address.{name}"] = f"127.0.0.1:{http}"
            own[f"fs.viewfs.mounttable.vread.link./{name}"] = f"hdfs://127.0.0.1:{rpc}/"
        return own

    @property
    def namenode_logs(self):
        return [self.logs / f"{name}.log" for name in NAMES]

    def _class_path_of(self, name):
        return f"{self.directory / f'conf-{name}'}:{self._class_path}"

    def _format(self):
        for name in NAMES:
            name_dir = self.directory / f"name-{name}"
            own = {"dfs.nameservice.id": name, "dfs.namenode.name.dir": f"file://{name_dir}"}
            config.write_site(self.directory / f"conf-{name}", self._common | own)
            if not (name_dir / "current" / "VERSION").exists():
                self._run_format(self._class_path_of(name), "-clusterId", CLUSTER_ID)

    def _start_namenode(self):
        self.namenode, self._second = (
            self._spawn(name, NAMENODE, self._class_path_of(name)) for name in NAMES
        )

    def _ready(self):
        if not super()._ready():
            return False
        running = sum(datanode.running for datanode in self.datanodes)
        try:
            state, info = (self._second_jmx(query) for query in (STATE, INFO))
        except (OSError, HdfsError):
            return False  # not listening yet, or the bean is not registered yet
        return state.get("NumLiveDataNodes", 0) >= running and info.get("Safemode") == ""

    def _second_jmx(self, query):
        return self._jmx_at(self._ports[3], NAMES[1], query)

    def _daemons(self):
        return [*([self._second] if self._second else []), *super()._daemons()]

    def _stop_daemons(self):
        super()._stop_daemons()
        if self._second:
            self._second.stop()
            self._second = None
