# SPDX-License-Identifier: GPL-2.0-or-later
"""A cluster with two NameNodes, one active and one standby, for tests of a failover.

    with HaCluster(folder, datanodes=2, replication=2) as hdfs:
        hdfs.fail_over()

The NameNodes share their edits in a folder.  There is no fencing: fail_over() makes the active one
the standby, or kills it, before the other one becomes active.
"""

import shutil

from tools.hdfs import config, jvm
from tools.hdfs.cluster import NAMENODE, START_TIMEOUT, HdfsCluster

ADMIN = "org.apache.hadoop.hdfs.tools.DFSHAAdmin"
SERVICE = "vread"
NAMES = ("nn1", "nn2")
PROXIES = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"


class HaCluster(HdfsCluster):
    NAMENODE_PORTS = 2 * len(NAMES)

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._namenodes = {}
        self.active = NAMES[0]

    def fail_over(self, kill=False):
        """Makes the other NameNode the active one.  kill: kills the active one first."""
        old, new = self.active, next(name for name in NAMES if name != self.active)
        if kill:
            self._namenodes.pop(old).kill()
            self._admin("-transitionToActive", "--forceactive", new)
        else:
            self._admin("-transitionToStandby", old)
            self._admin("-transitionToActive", new)
        self._ask(new)
        self.wait_ready()

    def _admin(self, *words):
        jvm.run(self._java(ADMIN, words, log_level="ERROR"), f"hdfs haadmin {' '.join(words)}")

    def _ask(self, name):
        self.active = name
        self.namenode = self._namenodes[name]

    def _properties(self):
        own = super()._properties()
        for key in ("rpc-address", "http-address", "name.dir"):
            del own[f"dfs.namenode.{key}"]
        own |= {
            "fs.defaultFS": f"hdfs://{SERVICE}",
            "dfs.nameservices": SERVICE,
            f"dfs.ha.namenodes.{SERVICE}": ",".join(NAMES),
            f"dfs.client.failover.proxy.provider.{SERVICE}": PROXIES,
            "dfs.namenode.shared.edits.dir": f"file://{self.directory / 'edits'}",
            "dfs.ha.fencing.methods": "shell(true)",
            "dfs.ha.tail-edits.period": "1s",
            # A client that asked the standby soon asks the other NameNode.
            "dfs.client.failover.sleep.base.millis": "50",
        }
        for number, name in enumerate(NAMES):
            rpc, http = self._ports[2 * number : 2 * number + 2]
            own[f"dfs.namenode.rpc-address.{SERVICE}.{name}"] = f"127.0.0.1:{rpc}"
            own[f"dfs.namenode.http-address.{SERVICE}.{name}"] = f"127.0.0.1:{http}"
        return own

    @property
    def _http_port(self):
        return self._ports[2 * NAMES.index(self.active) + 1]

    @property
    def namenode_logs(self):
        return [self.logs / f"{name}.log" for name in NAMES]

    def _conf_dir_of(self, name):
        """The folder with the configuration of this NameNode alone: which of the two it is."""
        return self.directory / f"conf-{name}"

    def _name_dir_of(self, name):
        return self.directory / f"name-{name}"

    def _format(self):
        for name in NAMES:
            own = {
                "dfs.ha.namenode.id": name,
                "dfs.namenode.name.dir": f"file://{self._name_dir_of(name)}",
            }
            config.write_site(self._conf_dir_of(name), self._common | own)
        self.name_dir = self._name_dir_of(NAMES[0])
        super()._format()
        if not self._name_dir_of(NAMES[1]).exists():
            shutil.copytree(self.name_dir, self._name_dir_of(NAMES[1]))

    def _format_class_path(self):
        return self._class_path_of(NAMES[0])

    def _class_path_of(self, name):
        return f"{self._conf_dir_of(name)}:{self._class_path}"

    def _start_namenode(self):
        for name in NAMES:
            self._namenodes[name] = self._spawn(name, NAMENODE, self._class_path_of(name))
        self._ask(NAMES[0])
        jvm.wait_until(self._answers, list(self._namenodes.values()), "NameNode", START_TIMEOUT)
        self._admin("-transitionToActive", self.active)

    def _answers(self):
        """True if both NameNodes take RPCs."""
        return all(each.logged("IPC Server listener on") for each in self._namenodes.values())

    def _daemons(self):
        others = [each for each in self._namenodes.values() if each is not self.namenode]
        return [*others, *super()._daemons()]

    def _stop_daemons(self):
        for datanode in self.datanodes:
            datanode.stop()
        for each in self._namenodes.values():
            each.stop()
        self._namenodes = {}
        self.namenode = None
