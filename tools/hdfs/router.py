# SPDX-License-Identifier: GPL-2.0-or-later
"""A router beside a federation (federation.py): one NameNode, as clients see it, for both
namespaces.

    with Router(cluster, folder) as router:
        router.conf_dir      # of clients; before the cluster's on their class path

The root of the router's tree is the first namespace, and /ns2 is the root of the second.  Clients
of the router know no NameNode.
"""

from tools.hdfs import config, jvm
from tools.hdfs.artifacts import hadoop_class_path, router_class_path
from tools.hdfs.federation import NAMES
from tools.hdfs.ports import free_ports

MAIN = "org.apache.hadoop.hdfs.server.federation.router.DFSRouter"
ADMIN = "org.apache.hadoop.hdfs.tools.federation.RouterAdmin"
FILE_STORE = "org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl"
START_TIMEOUT = 300
# Of the releases whose routers run from Maven Central alone, the latest.  It works beside all
# versions of NameNodes and clients.
VERSION = "3.4.2"


class Router:
    """Use as a context manager, while the cluster runs."""

    def __init__(self, cluster, folder):
        self.folder = folder
        self.conf_dir = folder / "conf-client"
        self._cluster = cluster
        self._daemon = None
        self._lib = [f"{hadoop_class_path(VERSION)}/*", f"{router_class_path(VERSION)}/*"]

    def __enter__(self):
        rpc, admin = free_ports(2)
        common = self._cluster.properties
        own = {
            "dfs.federation.router.rpc-address": f"127.0.0.1:{rpc}",
            "dfs.federation.router.admin-address": f"127.0.0.1:{admin}",
            "dfs.federation.router.http.enable": "false",
            "dfs.federation.router.default.nameserviceId": NAMES[0],
            "dfs.federation.router.monitor.namenode": ",".join(NAMES),
            "dfs.nameservice.id": NAMES[0],  # all NameNodes are on this host
            "dfs.federation.router.heartbeat.interval": "1000",
            "dfs.federation.router.cache.ttl": "1s",
            "dfs.federation.router.safemode.enable": "false",
            "dfs.federation.router.store.driver.class": FILE_STORE,
            "dfs.federation.router.store.driver.file.directory": self.folder / "store",
        }
        config.write_conf_dir(self.folder / "conf", common | own)
        clients = {name: value for name, value in common.items() if not _names_namenodes(name)}
        uri = {"fs.defaultFS": f"hdfs://127.0.0.1:{rpc}"}
        config.write_conf_dir(self.conf_dir, clients | uri)
        self._daemon = jvm.Daemon("router", self._command(MAIN), self.folder / "router.log")
        try:
            jvm.wait_until(self._knows_namenodes, [self._daemon], "router", START_TIMEOUT)
            words = ["-add", f"/{NAMES[1]}", NAMES[1], "/"]
            jvm.run(self._command(ADMIN, words, "ERROR"), "hdfs dfsrouteradmin -add")
        except BaseException:
            self._daemon.stop()
            raise
        return self

    def __exit__(self, *_):
        self._daemon.stop()

    def _command(self, main, words=(), log_level="INFO"):
        class_path = ":".join([str(self.folder / "conf"), *self._lib])
        options = jvm.SHORT_LIVED
        return jvm.java_command(class_path, main, words, log_level=log_level, options=options)

    def _knows_namenodes(self):
        """Reads the log: "... new NN registration: vm:21899->ns1:null:localhost:16266-ACTIVE"."""
        return all(self._daemon.logged(f"->{name}:null:") for name in NAMES)


def _names_namenodes(name):
    return name.startswith(("dfs.nameservices", "dfs.namenode.", "fs.viewfs."))
