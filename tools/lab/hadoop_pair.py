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
DataNode.  Each is in a domU of its own.  Both hosts are restored from one state (hadoop_state.py),
and each keeps its part; only the near DataNode starts anew, on an empty disk.

The guests of both hosts are in one network, as in the state: each dom0 answers ARP for the other's
guests and routes to them.  The wire also has soft-RoCE.  Certificates and configurations are
installed.  The near vreadd's configuration names no storages: the far vreadd announces those that
its datanode has formatted.

Files go to the far host's DataNode.  The near DataNode's disk has another storage type by default.
After allow_near(), files below NEAR_FOLDER go there by storage policy, as an operator would do it.
"""

import contextlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.patience import Patience
from tools.peers import Authority, installed_host, peer

from . import hadoop, hadoop_state, product
from .deployment import Backend
from .hadoop_guests import (
    CLIENT,
    DATANODE,
    NAMENODE,
    POLL,
    START_TIMEOUT,
    HadoopGuests,
    Member,
    Place,
)
from .host import XenHost
from .paths import LabError
from .qemu import Wire

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
    datanode: str  # the domU, and what vreadd calls it


NEAR = Side("near", "10.99.0.2", "datanode-near")
FAR = Side("far", "10.99.0.1", DATANODE)
ADDRESSES = hadoop.ADDRESSES | {NEAR.datanode: "10.77.0.103"}


def host_arguments(
    side: Side,
    folder: Path,
    dom0_files: dict[str, Path],
    guest_files: dict[str, Path],
    source_mib: int = hadoop_state.SOURCE_MIB,
) -> dict:
    """Arguments of XenHost() for that side.  folder: where the wire's socket is, for both sides.
    The far host listens there, so it starts first.  source_mib: see hadoop_state.disks()."""
    return {
        **hadoop_state.arguments(source_mib),
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
    source_mib: int = hadoop_state.SOURCE_MIB,
    progress=lambda text: None,
    files: dict[str, Path] | None = None,
    counters: dict[Side, Path] | None = None,
) -> Iterator[tuple[XenHost, XenHost]]:
    """Yields (near, far), both up, with that variant of the product.  files: further ones of both
    dom0s.  counters: see `counter` of XenHost()."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pair-")))
        dom0_files = product.dom0_files(variant) | certificates(folder) | (files or {})
        guest_files = product.guest_files(variant)
        up = {}
        for side in (FAR, NEAR):
            arguments = host_arguments(side, folder, dom0_files, guest_files, source_mib)
            arguments["counter"] = (counters or {}).get(side)
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
        near_storage: str = "SSD",
        tokens: str = "auto",
        client_files: dict[str, Path] | None = None,
    ) -> None:
        """near_storage: with "DISK", HDFS puts blocks on both hosts.  tokens: of the far datanode,
        in vread.conf."""
        own = hadoop.served(NEAR.datanode, hadoop_state.SPARE) if near_datanode else {}
        self.near = Backend(near, own)
        served = hadoop.served(FAR.datanode, tokens=tokens)
        self.far = Backend(far, served, extra=_far_configuration())
        here, there = Place(near, self.near), Place(far, self.far)
        members = {
            NAMENODE: Member(ADDRESSES[NAMENODE], there),
            FAR.datanode: Member(ADDRESSES[FAR.datanode], there, FAR.datanode),
            CLIENT: Member(ADDRESSES[CLIENT], here, " ".join([*own, FAR.datanode])),
        }
        if near_datanode:
            members[NEAR.datanode] = Member(
                ADDRESSES[NEAR.datanode],
                here,
                NEAR.datanode,
                storage=near_storage,
                disk=hadoop_state.SPARE,
            )
        super().__init__(members, block_mib=block_mib, client_files=client_files)

    def start(self, transports: str = "tcp", progress=lambda text: None) -> None:
        """Starts everything; returns when the NameNode takes writes and the near vreadd knows the
        far host's storages.  transports: see use()."""
        self._join(self.near.host, FAR)
        self._join(self.far.host, NEAR)
        progress("far host: vreadd; its domUs: NameNode and DataNode")
        self.far.start()
        self.take_over(self.far.host)
        progress("near host: vreadd; its domUs")
        self.near.extra = _near_configuration(transports)
        self.near.start()
        self.take_over(self.near.host)
        if NEAR.datanode in self.members:
            progress("near host: starting its DataNode")
            self.start_datanode(NEAR.datanode)
        self._wait_known()
        self.wait_ready()

    def use(self, transports: str, protection: str = "privacy") -> None:
        """Restarts the near vreadd with "tcp" or "rdma" as its transport to the far one, and with
        that protection of what comes by tcp; returns when it knows the far one's storages."""
        self.near.extra = _near_configuration(transports, protection)
        self._restart_near()
        self._wait_known()

    def _wait_known(self) -> None:
        """Waits until the near vreadd knows the far one's storages.  It asks for them at its start,
        then every five minutes."""
        patience = Patience(START_TIMEOUT)
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

    def _join(self, host: XenHost, other: Side) -> None:
        """Has the host answer and route for the guests of the other."""
        for member in self.members.values():
            if member.place.host is not host:
                route = f"{member.address}/32 via {other.wire}"
                host.run(f"/usr/sbin/ip route add {route}").check()
        for setting in ("ip_forward", "conf/xenbr0/proxy_arp"):
            host.run(f"echo 1 >/proc/sys/net/ipv4/{setting}").check()


def _near_configuration(transports: str, protection: str = "privacy") -> str:
    own = installed_host(NEAR.name, transports=transports, answer_timeout=ANSWER_TIMEOUT_MS)
    address = f"{FAR.wire}:{PORT}"
    return own + peer(FAR.name, address=address, datanodes=FAR.datanode, protection=protection)


def _far_configuration() -> str:
    """The far vreadd answers by both transports, and leaves the protection to the near one."""
    own = installed_host(
        FAR.name,
        listen=f"{FAR.wire}:{PORT}",
        transports="rdma tcp",
        answer_timeout=ANSWER_TIMEOUT_MS,
    )
    return own + peer(NEAR.name, allow_datanodes=FAR.datanode, protection="authentication")
