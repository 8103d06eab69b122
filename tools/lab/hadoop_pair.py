# SPDX-License-Identifier: GPL-2.0-or-later
"""Real HDFS over two emulated Xen hosts on one wire.  tests/xen/test_hadoop_remote.py, the remote
suite of benches and `make demo-remote` use it.

    with hadoop_pair.hosts("demo") as (near, far):
        hdfs = HdfsPair(near, far, block_mib=8)
        hdfs.start()
        hdfs.client.run("hdfs dfs -put /etc/hosts /hosts").check()     # to the far host
        hdfs.use("rdma")                    # how the near vreadd asks the far one from now on
        hdfs.link()                         # the far vreadd in the near one's status

The far host has the NameNode and a DataNode.  The near host has the client and, by default, another
DataNode.  Each is in a domU of its own.  Both dom0s route between the guests of the two hosts.  The
wire also has soft-RoCE.  Certificates and configurations are installed.  The near vreadd's
configuration names no storages: the far vreadd announces those that its datanode has formatted.

Files go to the far host's DataNode.  The near DataNode's disk has another storage type.  After
allow_near(), files below NEAR_FOLDER go there by storage policy, as an operator would do it.
"""

import contextlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.patience import Patience
from tools.peers import Authority, installed_host, peer

from . import hadoop, product
from .deployment import Backend
from .hadoop_guests import CLIENT, NAMENODE, POLL, START_TIMEOUT, HadoopGuests, Member, Place
from .host import XenHost
from .paths import LabError
from .qemu import Disk, Wire

HOST_MIB = 2560
PREFIX = 24
PORT = 7867
# Less than the time a client gives vRead (hadoop.READER), and more than a slow machine takes.
ANSWER_TIMEOUT_MS = 20000
NEAR_FOLDER = "/near"
POLICY_ADMIN = "hdfs org.apache.hadoop.hdfs.tools.StoragePolicyAdmin"


@dataclass(frozen=True)
class Side:
    name: str  # of the host among peers
    wire: str  # its dom0's address there
    network: str  # its guests', without the last number
    datanode: str  # the domU, and what vreadd calls it
    storage: str

    @property
    def gateway(self) -> str:
        return f"{self.network}.1"

    def member(self, place: Place, number: int, **more) -> Member:
        return Member(f"{self.network}.{number}", place, **more)


NEAR = Side("near", "10.99.0.2", "10.77.1", "dn-near", "SSD")
FAR = Side("far", "10.99.0.1", "10.77.2", "dn-far", "DISK")


def host_arguments(
    side: Side,
    folder: Path,
    dom0_files: dict[str, Path],
    guest_files: dict[str, Path],
    disks: Sequence[Disk] = (),
) -> dict:
    """Arguments of XenHost() for that side.  folder: where the wire's socket is, for both sides.
    The far host listens there, so it starts first.  disks: follow the datanode's disk and the Java
    disk; the first is /dev/vdc."""
    return {
        "memory_mib": HOST_MIB,
        "dom0_mib": hadoop.DOM0_MIB,
        "disks": [*hadoop.disks(), *disks],
        "files": dom0_files,
        "guest_files": guest_files,
        "wire": Wire(folder / "wire", f"{side.wire}/{PREFIX}", listen=side is FAR, rdma=True),
    }


def certificates(folder: Path) -> dict[str, Path]:
    """{path in dom0: file} of the certificates and keys of both sides; makes them."""
    return Authority(folder).installed(NEAR.name, FAR.name)


@contextlib.contextmanager
def hosts(
    name: str,
    variant: str = "release",
    near_disks: Sequence[Disk] = (),
    progress=lambda text: None,
) -> Iterator[tuple[XenHost, XenHost]]:
    """Yields (near, far), both up, with that variant of the product.  near_disks: /dev/vdc ..."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pair-")))
        dom0_files = product.dom0_files(variant) | certificates(folder)
        guest_files = product.guest_files(variant)
        up = {}
        for side, disks in ((FAR, ()), (NEAR, near_disks)):
            arguments = host_arguments(side, folder, dom0_files, guest_files, disks)
            host = XenHost(f"{name}-{side.name}", progress=progress, **arguments)
            up[side] = stack.enter_context(host)
        yield up[NEAR], up[FAR]


class HdfsPair(HadoopGuests):
    """The domUs, and a vreadd in each dom0."""

    def __init__(
        self,
        near: XenHost,
        far: XenHost,
        *,
        block_mib: int = 8,
        near_datanode: bool = True,
        properties: dict[str, str] | None = None,
        client_disks: Sequence[str] = (),
        client_files: dict[str, Path] | None = None,
    ) -> None:
        """properties: further Hadoop properties of all domUs."""
        self.near = Backend(near, hadoop.served(NEAR.datanode) if near_datanode else {})
        self.far = Backend(far, hadoop.served(FAR.datanode), extra=_far_configuration())
        here, there = Place(near, self.near, NEAR.gateway), Place(far, self.far, FAR.gateway)
        members = {
            NAMENODE: FAR.member(there, 100),
            FAR.datanode: FAR.member(there, 101, served=FAR.datanode, storage=FAR.storage),
            CLIENT: NEAR.member(here, 102, served=f"{NEAR.datanode} {FAR.datanode}"),
        }
        if near_datanode:
            added = {"served": NEAR.datanode, "storage": NEAR.storage}
            members[NEAR.datanode] = NEAR.member(here, 101, **added)
        super().__init__(
            members,
            block_mib=block_mib,
            properties=properties,
            client_disks=client_disks,
            client_files=client_files,
        )

    def start(self, transports: str = "tcp", progress=lambda text: None) -> None:
        """Starts everything; returns when the NameNode takes writes and the near vreadd knows the
        far host's storages.  transports: see use()."""
        _join(self.near.host, NEAR, FAR)
        _join(self.far.host, FAR, NEAR)
        progress("far host: vreadd; booting domUs for NameNode and DataNode")
        self.far.start()
        self.boot_namenode()
        self.boot_datanode(FAR.datanode)
        progress("near host: vreadd; booting the other domUs")
        self.near.extra = _near_configuration(transports)
        self.near.start()
        if NEAR.datanode in self.members:
            self.boot_datanode(NEAR.datanode)
        self.start_client()
        progress("starting Hadoop")
        self.run_daemons()
        self._wait(self._far_serves, "the far DataNode's disk to be served", START_TIMEOUT)
        # The near vreadd asks for the far host's storages at its start, then every five minutes.
        self.use(transports)
        self.wait_ready()

    def use(self, transports: str) -> None:
        """Restarts the near vreadd with "tcp" or "rdma" as its transport to the far one; returns
        when it knows the far one's storages."""
        self.near.extra = _near_configuration(transports)
        patience = Patience(START_TIMEOUT)
        self._restart_near()
        while not self._known():
            if patience.is_over():
                raise LabError(f"nothing is known of the far host: {self.link()}")
            self._restart_near()

    def _restart_near(self) -> None:
        status = self.near.stop()
        if status != 0:
            raise LabError(f"the near vreadd ended with status {status}\n{self.near.log()}")
        self.near.start()
        for name in (CLIENT, NEAR.datanode):
            if name in self.guests:
                self.near.wait_connected(self.guests[name])

    def _known(self) -> bool:
        """True if the near vreadd has learned the far one's storages since its start.  On a busy
        machine the answer may be too late; then vreadd asks again only when a read needs it."""
        patience = Patience(3 * ANSWER_TIMEOUT_MS / 1000)
        while self.link()["storages"] == 0:
            if patience.is_over():
                return False
            time.sleep(POLL)
        return True

    def link(self) -> dict:
        """The far vreadd in the near one's status: bytes, direct, bounced, state, transport ..."""
        (peer_status,) = self.near.status()["peers"]["peers"]
        return peer_status

    def allow_near(self) -> None:
        """Makes NEAR_FOLDER, whose files go to the near host's DataNode."""
        policy = f"-setStoragePolicy -path {NEAR_FOLDER} -policy ALL_SSD"
        command = f"hdfs dfs -mkdir -p {NEAR_FOLDER} && {POLICY_ADMIN} {policy}"
        self.client.run(command, START_TIMEOUT).check()

    def _far_serves(self) -> bool:
        (datanode,) = self.far.status()["datanodes"]
        return any(filesystem["data-dirs"] for filesystem in datanode["filesystems"])


def _near_configuration(transports: str) -> str:
    own = installed_host(NEAR.name, transports=transports, answer_timeout=ANSWER_TIMEOUT_MS)
    return own + peer(FAR.name, address=f"{FAR.wire}:{PORT}", datanodes=FAR.datanode)


def _far_configuration() -> str:
    """The far vreadd answers by both transports."""
    own = installed_host(
        FAR.name,
        listen=f"{FAR.wire}:{PORT}",
        transports="rdma tcp",
        answer_timeout=ANSWER_TIMEOUT_MS,
    )
    return own + peer(NEAR.name, allow_datanodes=FAR.datanode)


def _join(host: XenHost, own: Side, other: Side) -> None:
    """Gives the host's bridge the gateway address of its network, and routes to the other's."""
    ip = "/usr/sbin/ip"
    for command in (
        f"{ip} addr flush dev xenbr0",
        f"{ip} addr add {own.gateway}/{PREFIX} dev xenbr0",
        f"{ip} route add {other.network}.0/{PREFIX} via {other.wire}",
        "echo 1 >/proc/sys/net/ipv4/ip_forward",
    ):
        host.run(command).check()
