# SPDX-License-Identifier: GPL-2.0-or-later
"""Real HDFS on an emulated Xen host: NameNode, DataNode and client, a domU each.  Tests, benches
and `make demo` use it.

    with XenHost("h", disks=hadoop.disks(), memory_mib=hadoop.HOST_MIB, ...) as host:
        hdfs = Hdfs(host, block_mib=32)
        hdfs.start()
        hdfs.client.run("hdfs dfs -put /etc/hosts /file").check()

dom0's bridge joins the three.  hadoop_pair.py has the same over two hosts.
"""

from collections.abc import Sequence
from pathlib import Path

from tools.hdfs import plug_in
from tools.images.empty import make_empty_image

from .cache import cached, key_of
from .deployment import Backend, Datanode
from .hadoop_guests import (
    CLIENT,
    DATA_DEVICE,
    DATA_DIR,
    GUEST_MIB,
    NAMENODE,
    HadoopGuests,
    Member,
    Place,
)
from .hadoop_guests import DATANODE as DATANODE_GUEST
from .host import XenHost
from .java_disk import java_disk
from .qemu import Disk

HOST_MIB, DOM0_MIB = 3072, 1024
DATA_MIB = 1024
DATANODE = "dn1"  # its name in vreadd's configuration
ADDRESSES = {NAMENODE: "10.77.0.100", DATANODE_GUEST: "10.77.0.101", CLIENT: "10.77.0.102"}
# Properties of a client that reads by vRead, for its configuration or -D.  vRead does not compete
# with stock reads: what is measured or counted here must not depend on the machine's speed.
READER = {
    **plug_in.READER,
    "io.vread.timeout.ms": "30000",
    "io.vread.compete": "false",
}
STATISTICS = "io.vread.statistics.file"


def disks(data_mib: int = DATA_MIB) -> list[Disk]:
    """The first two disks of a host: the datanode's, empty at every start, and the Java disk."""
    key = key_of([str(data_mib).encode(), Path(make_empty_image.__code__.co_filename).read_bytes()])
    data = cached("data", ".raw", key, lambda path: make_empty_image(path, data_mib))
    return [Disk(data, "snapshot"), Disk(java_disk(), "readonly")]


def served(
    name: str = DATANODE, device: str = DATA_DEVICE, tokens: str = "auto"
) -> dict[str, Datanode]:
    """The datanode for vreadd's configuration, by image and data-dirs; its disk may be empty."""
    return {name: Datanode(device, data_dirs=(DATA_DIR,), tokens=tokens)}


def backend(host: XenHost) -> Backend:
    """vreadd in dom0."""
    return Backend(host, served())


class Hdfs(HadoopGuests):
    """The three domUs.  With a backend (vreadd in dom0) client and datanode have a device each, and
    the DataNode runs the publisher."""

    def __init__(
        self,
        host: XenHost,
        backend: Backend | None = None,
        *,
        block_mib: int = 32,
        properties: dict[str, str] | None = None,
        client_disks: Sequence[str] = (),
        client_files: dict[str, Path] | None = None,
        client_mib: int = GUEST_MIB,
    ) -> None:
        """properties: further Hadoop properties of all three.  client_mib: the client's memory."""
        self.host, self.backend = host, backend
        place = Place(host, backend)
        super().__init__(
            {name: Member(address, place, DATANODE) for name, address in ADDRESSES.items()},
            block_mib=block_mib,
            properties=properties,
            client_disks=client_disks,
            client_files=client_files,
            client_mib=client_mib,
        )

    def start(self) -> None:
        """Starts all three; returns when the NameNode takes writes.  On a host restored with them
        (hadoop_state.py) they are up already, and the client keeps the disks it had there."""
        if NAMENODE in self.host.guests:
            self.take_over(self.host)
        else:
            self.boot_namenode()
            self.boot_datanode()
            self.start_client()
            self.run_daemons()
        self.wait_ready()
