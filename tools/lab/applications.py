# SPDX-License-Identifier: GPL-2.0-or-later
"""Applications of the disk of applications (application_disk.py) in the client's domU: programs
that take commands and stay up.  hadoop_state.with_applications() has a host for them.

    with Application(hdfs.client, "spark") as spark:
        spark.ask("make", "/tables", 1000)
"""

from .application_disk import APPLICATIONS
from .guest import Guest
from .java_program import LineProgram
from .paths import LAB, LabError
from .shell import Shell

GUEST_MIB = 2048
FOLDER, DEVICE = "/opt/applications", "/dev/xvdk"
MAIN = {each.name: each.main for each in APPLICATIONS}
PYARROW = "pyarrow"
STATISTICS = "/run/pyarrow-statistics"
TIMEOUT = 1200.0
# HBase's limits, which are too short for an emulated processor: by default ZooKeeper and the master
# must start within 30 s, and a session or a request takes a minute or two.  No test is about them.
HBASE_PATIENCE = {
    "zookeeper.session.timeout.localHBaseCluster": "600000",
    "hbase.master.start.timeout.localHBaseCluster": "600000",
    "hbase.master.init.timeout.localHBaseCluster": "1200000",
    "zookeeper.session.timeout": "600000",
    "hbase.zookeeper.property.maxSessionTimeout": "600000",
    "hbase.rpc.timeout": "600000",
    "hbase.client.operation.timeout": "600000",
    "hbase.client.meta.operation.timeout": "600000",
    "hbase.client.scanner.timeout.period": "600000",
}


def mount(guest: Shell) -> None:
    """Gives the guest, which has the disk, what programs need."""
    guest.put(LAB / "root" / "application", "/usr/local/bin/application")
    guest.run(f"mkdir -p {FOLDER} && mount -t ext4 -o ro,noload {DEVICE} {FOLDER}").check()


class Application(LineProgram):
    """name: one of MAIN, or PYARROW.  main: the class, if the application has several."""

    def __init__(self, guest: Guest, name: str, main: str = "") -> None:
        of_java = f"java {name} {main or MAIN.get(name)} /run/{name}"
        command = f"pyarrow {STATISTICS}" if name == PYARROW else of_java
        super().__init__(guest, name, f"exec application {command}")

    def ask(self, *words: object, timeout: float = TIMEOUT) -> dict:
        """The answer to a command.  LabError: the command failed."""
        self.say("\t".join(str(word) for word in words))
        answer = self.hear(timeout)
        if "error" in answer:
            raise LabError(f"{self._main}: {words}: {answer['error']}\n{self.complaints}")
        return answer
