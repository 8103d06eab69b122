# SPDX-License-Identifier: GPL-2.0-or-later
"""A host restored with HDFS up (states.py), which takes seconds instead of minutes, for tests,
demos and hadoop_pair.py.

    with XenHost("h", **hadoop_state.arguments(), files=..., guest_files=...) as host:
        backend = hadoop.backend(host)
        backend.start()
        hdfs = hadoop.Hdfs(host, backend, block_mib=4)
        hdfs.start()                            # takes over the domUs that are up
        with hdfs.shell() as shell:             # so is its JVM
            shell.run("-ls /")

NameNode, DataNode and client have the plug-ins on their class paths, so the state depends on the
plug-ins.  The state has no vreadd, no module and no device: the DataNode's publisher looks for a
backend until the restored host has one.  Block tokens are on.
"""

import zipfile
from collections.abc import Iterator

from tools.hdfs import config

from . import applications, hadoop, hadoop_guests, java_disk, source
from .application_disk import application_disk
from .host import XenHost
from .java_program import WarmShell
from .paths import LAB, LabError
from .product import plugin_files
from .qemu import Disk
from .states import State

SOURCE_MIB = 64
SOURCE_DISK = "phy:/dev/vdc,xvdk,r"  # the client's: source.noise()
APPLICATIONS_DISK = "phy:/dev/vdc,xvdk,r"  # the client's, instead of SOURCE_DISK
SPARE = "/dev/vdd"  # a datanode's disk that is empty: nothing in the state uses it
# A restored host's clocks jump to now: keys and tokens made in the state must still be valid.
YEAR = str(365 * 24 * 60)
PROPERTIES = {
    "dfs.block.access.token.enable": "true",
    "dfs.block.access.key.update.interval": YEAR,
    "dfs.block.access.token.lifetime": YEAR,
}
WARMING = ("-put /opt/hadoop/class-path /warm", "-cat /warm", "-rm -skipTrash /warm")


def arguments(source_mib: int = SOURCE_MIB, cpus: int = 1) -> dict:
    """Arguments of XenHost(), with disks().  cpus: 1 where other hosts are emulated beside this
    one, as in make test; with 2 the JVMs of a host that is alone start beside each other."""
    return {
        "memory_mib": hadoop.HOST_MIB,
        "dom0_mib": hadoop.DOM0_MIB,
        "disks": disks(source_mib),
        "cpus": cpus,
        "state": State(f"hdfs-{cpus}", _prepare, _inputs),
    }


def with_applications() -> dict:
    """The same for a host whose client runs applications (applications.py)."""
    return {
        "memory_mib": hadoop.HOST_MIB + applications.GUEST_MIB - hadoop_guests.GUEST_MIB,
        "dom0_mib": hadoop.DOM0_MIB,
        "disks": [*hadoop.disks(), Disk(application_disk(), "readonly")],
        "state": State("hdfs-applications", _prepare_for_applications, _inputs),
    }


def disks(source_mib: int = SOURCE_MIB) -> list[Disk]:
    """Those of HDFS, one with noise of source_mib or SOURCE_MIB, whichever is more, and SPARE."""
    spare = hadoop.disks()[0]
    return [*hadoop.disks(), source.noise(max(source_mib, SOURCE_MIB)).disk, spare]


class _UnservedHdfs(hadoop.Hdfs):
    def _connect(self, name: str) -> None:
        """Does nothing: the guests get their devices after the host is restored."""


def _prepare(host: XenHost) -> dict:
    return _start(host, client_disks=[SOURCE_DISK])


def _prepare_for_applications(host: XenHost) -> dict:
    return _start(host, client_disks=[APPLICATIONS_DISK], client_mib=applications.GUEST_MIB)


def _start(host: XenHost, **client) -> dict:
    hdfs = _UnservedHdfs(
        host,
        hadoop.backend(host),
        properties=PROPERTIES,
        client_files=WarmShell.files(),
        **client,
    )
    host.progress("booting three domUs, for NameNode, DataNode and client")
    hdfs.boot_namenode()
    hdfs.boot_datanode()
    hdfs.start_client()
    host.progress("starting the JVMs of all three")
    hdfs.run_daemons()
    hdfs.wait_ready()
    shell = hdfs.shell()
    host.progress("writing and reading a file, so that classes are loaded")
    for command in WARMING:
        if shell.run(command)["status"]:
            raise LabError(f"hdfs dfs {command}: {shell.complaints}")
    host.progress("saving the host")
    return {"shell": shell.number, "properties": PROPERTIES}


def _inputs() -> Iterator[bytes]:
    for path in plugin_files().values():
        with zipfile.ZipFile(path) as jar:
            yield repr([(entry.filename, entry.CRC) for entry in jar.infolist()]).encode()
    for path in WarmShell.files().values():
        yield path.name.encode()
    modules = (hadoop.__file__, hadoop_guests.__file__, java_disk.__file__, __file__)
    for path in (*modules, config.__file__, LAB / "root" / "hdfs", LAB / "root" / "java"):
        with open(path, "rb") as file:
            yield file.read()
