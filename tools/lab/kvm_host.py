# SPDX-License-Identifier: GPL-2.0-or-later
"""This machine as the host of guests of QEMU without Xen, with vreadd and vread-ivshmem.  It stands
in for a XenHost and its Backend, so that hadoop_guests.py runs HDFS in its guests.

    with KvmHost("k") as host:
        backend = KvmBackend(host, {"dn1": Datanode(image, data_dirs=("/dfs",))})
        backend.allow("client", "dn1")
        backend.start()
        guest = host.create_guest("client", vifs=["10.77.0.11"])
        backend.connect(guest)
"""

import contextlib
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tools.patience import Patience
from tools.vreadd import DataDirs, Vreadd, VreaddError, process_cpu_seconds

from .claim import Claim
from .debian import BOOKWORM
from .deployment import BLOCKS, CONNECT_TIMEOUT, READY_TIMEOUT, Datanode, load_frontend
from .guest import GuestKind
from .kvm import KvmGuest, shared_memory
from .paths import REPOSITORY, LabError
from .qemu import Disk, Wire
from .rootfs import Tree, tree_of

MODE = {"r": "readonly", "w": "write"}
KIND = GuestKind(memory_mib=256)


class KvmHost:
    cpus = 2  # each guest has a thread that emulates
    debian = BOOKWORM  # of its guests

    def __init__(
        self,
        name: str,
        guest_files: dict[str, Path] | None = None,
        guest_kind: GuestKind = KIND,
    ) -> None:
        """guest_files: of all guests.  guest_kind: what guests are."""
        self.name, self._guest_files, self._kind = name, guest_files or {}, guest_kind
        self.disks: list[Disk] = []  # what create_guest() calls /dev/vda, /dev/vdb ...
        self.guests: dict[str, KvmGuest] = {}
        self.backend: KvmBackend | None = None
        self.told: dict = {}  # as of a XenHost that was not restored
        self._cables: Path | None = None

    def __enter__(self) -> "KvmHost":
        self._claim = Claim(self.name)
        self.folder = self._claim.folder
        self.folder.mkdir()
        self._cables = Path(tempfile.mkdtemp(prefix="lab-"))  # paths of sockets must be short
        return self

    def __exit__(self, *exception) -> None:
        for guest in self.guests.values():
            guest.kill()
        if self.backend:
            self.backend.end()
        for path in self._cables.iterdir():
            path.unlink()
        self._cables.rmdir()
        self._claim.release()

    def create_guest(
        self,
        name: str,
        *,
        memory_mib: int | None = None,
        vifs: Sequence[str] = (),
        disks: Sequence[str] = (),
        files: dict[str, Path] | Tree | None = None,
        device: bool = True,
    ) -> KvmGuest:
        """As XenHost.create_guest().  The first guest's network joins those of all others.  Without
        `device` the guest's device can be plugged later.  memory_mib: instead of that of the host's
        kind of guests."""
        devices = []
        if device and self.backend and (path := self.backend.socket_of(name)):
            devices = shared_memory(path)
        guest = KvmGuest(
            name,
            memory_mib=memory_mib or self._kind.memory_mib,
            cpus=self._kind.vcpus,
            kernel=self._kind.kernel,
            disks=[self._disk(text) for text in disks],
            files=tree_of({**self._guest_files, **(files or {})}),
            devices=devices,
            wire=self._wire(vifs[0]) if vifs else None,
        )
        guest.host = self
        self.guests[name] = guest.start()
        return guest

    def cpu_seconds(self) -> dict[str, float]:
        """CPU time so far of each guest's QEMU, and of vreadd."""
        found = {name: process_cpu_seconds(guest.pid) for name, guest in self.guests.items()}
        if self.backend:
            found["vreadd"] = self.backend.cpu_seconds()
        return found

    def check_dmesg(self) -> None:
        for guest in self.guests.values():
            guest.check_dmesg()

    def _disk(self, text: str) -> Disk:
        """text: as "phy:/dev/vda,xvdb,w"."""
        device, name, mode = text.removeprefix("phy:").split(",")
        disk = self.disks[ord(device.removeprefix("/dev/vd")) - ord("a")]
        return replace(disk, mode=MODE[mode], name=name)

    def _wire(self, address: str) -> Wire:
        cables = tuple(self._cables / f"cable{n}" for n in range(2))
        if not self.guests:
            return Wire(cables[0], f"{address}/24", listen=True, more=cables[1:])
        return Wire(cables[len(self.guests) - 1], f"{address}/24")


class KvmBackend:
    """vread-ivshmem and vreadd, which serve a host's guests.  It has the methods of
    deployment.Backend, as far as they make sense without Xen."""

    def __init__(
        self,
        host: KvmHost,
        datanodes: dict[str, Datanode],
        variant: str = "release",
        settings: str = "",
    ) -> None:
        """settings: lines of [vreadd]."""
        self.host, self._variant = host, variant
        self._server: subprocess.Popen | None = None
        self._guests: dict[str, str] = {}  # their sections of the configuration
        host.backend = self
        served = {name: DataDirs(dn.image, dn.data_dirs) for name, dn in datanodes.items()}
        self._vreadd = Vreadd(served, variant=variant)
        self._vreadd.prepare()
        self._folder = Path(self._vreadd.endpoint).parent
        self._control = self._folder / "ivshmem.sock"  # where vreadd connects
        self._vreadd.settings = f"ivshmem-socket = {self._control}\n{settings}"

    def socket_of(self, name: str) -> Path | None:
        """Where the guest's QEMU connects; None: the guest has no device."""
        return self._folder / f"{name}.sock" if name in self._guests else None

    def allow(
        self, name: str, datanodes: str = "*", role: str = "client", mode: str = "0660"
    ) -> None:
        """Gives a guest a device, or other rights.  A device must be there before its guest is.
        mode: of the socket."""
        self._guests[name] = (
            f"[ivshmem {name}]\nsocket = {self._folder / name}.sock\nmode = {mode}\n"
            f"role = {role}\nallow-datanodes = {datanodes}\n"
        )
        if role == "datanode":
            self._guests[name] += f"publish-datanodes = {datanodes}\n"
        self._vreadd.sections = "".join(self._guests.values())
        self._vreadd.write_config()
        if self._server:
            self._server.send_signal(signal.SIGHUP)
            self._wait_socket(self.socket_of(name))
            self._vreadd.ask("reload")

    @property
    def pid(self) -> int:
        return self._vreadd.pid

    # ---- life ------------------------------------------------------------------

    def start(self) -> None:
        """Starts vreadd, and vread-ivshmem unless it runs."""
        self._vreadd.write_config()
        if not self._server:
            self._start_server()
        self._vreadd.start()

    def _start_server(self) -> None:
        with (self.host.folder / "vread-ivshmem.log").open("wb") as log:
            self._server = subprocess.Popen(
                [REPOSITORY / "build" / self._variant / "vread-ivshmem"]
                + ["-c", self._vreadd.config_path],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._wait_socket(self._control)  # until then SIGHUP would end it
        for name in self._guests:
            self._wait_socket(self.socket_of(name))

    def _wait_socket(self, path: Path) -> None:
        patience = Patience(READY_TIMEOUT)
        while not path.is_socket():
            status = self._server.poll()
            if status is not None or patience.is_over():
                log = (self.host.folder / "vread-ivshmem.log").read_text()
                raise LabError(f"vread-ivshmem has no socket {path.name} (exit {status}):\n{log}")
            time.sleep(0.05)

    def signal(self, name: str) -> None:
        """STOP or CONT, to vreadd."""
        if name == "STOP":
            self._vreadd.suspend()
        else:
            self._vreadd.resume()

    def kill(self) -> None:
        """Sends SIGKILL to vreadd; vread-ivshmem goes on."""
        self._vreadd.kill()

    def stop(self) -> int:
        """Ends vreadd in order; vread-ivshmem goes on."""
        self._vreadd.end()
        return 0

    @property
    def config_path(self) -> Path:
        return self._vreadd.config_path

    @property
    def control_socket(self) -> str:
        return self._vreadd.control_socket

    @property
    def server_pid(self) -> int:
        return self._server.pid

    def kill_server(self) -> None:
        """Kills vread-ivshmem."""
        self._server.kill()
        self._server.wait()
        self._server = None

    def end(self) -> None:
        """Ends all of it."""
        with contextlib.suppress(VreaddError):
            self._vreadd.stop()
        if self._server:
            self._server.send_signal(signal.SIGTERM)
            self._server.wait()

    # ---- guests ------------------------------------------------------------------

    def attach(self, guest: KvmGuest, allow: str = "*", role: str = "client") -> None:
        """Does nothing: a guest has its device from its start, by allow()."""

    def connect(self, guest: KvmGuest) -> None:
        """Loads the frontend in a guest, and waits until it is connected."""
        load_frontend(guest)
        self.wait_connected(guest)

    def wait_connected(self, guest: KvmGuest) -> None:
        self._wait_state(guest, "Connected")

    def wait_offered(self, guest: KvmGuest) -> None:
        """Waits until the guest's frontend has closed the device, and vreadd offers it again."""
        self._wait_state(guest, "InitWait")

    def _wait_state(self, guest: KvmGuest, state: str) -> None:
        patience = Patience(CONNECT_TIMEOUT)
        while (found := self.device(guest) or {}).get("state") != state:
            if patience.is_over():
                raise LabError(f"{guest.name}: not {state}: {found}\n{self.log()[-4000:]}")
            time.sleep(0.1)

    # ---- asking ------------------------------------------------------------------

    def status(self) -> dict:
        return self._vreadd.status()

    def device(self, guest: KvmGuest) -> dict | None:
        name = f"kvm:{guest.name}"
        return next((d for d in self.status()["devices"] if d["name"] == name), None)

    def bytes_read(self, guest: KvmGuest) -> int:
        """Bytes the guest's device was given since it connected."""
        return self.device(guest)["counters"]["bytes"]

    def published(self, datanode: str) -> dict[str, int]:
        found = {entry["datanode"]: entry for entry in self.status()["datanodes"]}
        return found[datanode]["published"]

    def log(self) -> str:
        return (self._folder / "vreadd.log").read_text(errors="replace")

    def cpu_seconds(self) -> float:
        return self._vreadd.cpu_seconds()


def start_client(
    backend: KvmBackend, name: str, blocks: Path, allow: str = "*", **guest
) -> KvmGuest:
    """As deployment.start_client()."""
    backend.allow(name, allow)
    client = backend.host.create_guest(name, **guest)
    client.put(blocks, BLOCKS)
    backend.connect(client)
    return client
