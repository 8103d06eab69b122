# SPDX-License-Identifier: GPL-2.0-or-later
"""vRead as an operator would run it on an emulated Xen host: vreadd in dom0 with its
configuration and layouts, a device for a guest, the module loaded there.  Tests,
benches and demos use it.

with XenHost("h", disks=[image], files=..., guest_files=...) as host:
    backend = Backend(host, {"dn1": Datanode("/dev/vda", layout)})
    backend.start()
    client = start_client(backend, "client", blocks_file)
    file_digest(client)
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from tools.patience import Patience

from .guest import Guest
from .host import XenHost
from .paths import LabError
from .product import load, unload

LOG = "/var/log/vreadd.log"
BLOCKS = "/blocks.txt"
READY_TIMEOUT = 150.0
CONNECT_TIMEOUT = 150.0
STOP_TIMEOUT = 120.0
DIGEST_TIMEOUT = 300.0
READ_TIMEOUT_MS = 30000  # an emulated host is slow, and a busy one slower
CONNECTED = "4"
# OPENSSL_ia32cap(3): no SSSE3.  The emulator makes a call for each SSSE3 instruction, so ChaCha20
# takes twice as long with SSSE3 as with plain instructions.
OPENSSL_CPU = "~0x20000000000"
# A sanitized vreadd keeps freed memory for a while; the default of 256 MiB is more than a dom0 has.
SANITIZER = "quarantine_size_mb=16"


@dataclass(frozen=True)
class Datanode:
    """A datanode that vreadd serves.  image: path in dom0.  layout: file to copy to dom0; without
    one, data_dirs: paths inside the image's file systems.  mode, tokens: vread.conf's image-mode
    and tokens."""

    image: str
    layout: Path | None = None
    data_dirs: tuple[str, ...] = ()
    mode: str = "auto"
    tokens: str = "auto"


class Backend:
    """vreadd in dom0.  One without a name serves guests.  Others (name=, xen=False) may run beside
    it, for programs in dom0 only.  Programs in dom0 connect to `endpoint`.  extra: appended to the
    configuration at each start."""

    def __init__(
        self,
        host: XenHost,
        datanodes: dict[str, Datanode],
        name: str = "",
        xen: bool = True,
        extra: str = "",
    ) -> None:
        self.host, self._datanodes, self.extra = host, datanodes, extra
        self._xen = "auto" if xen else "no"
        self.config_path = f"/etc/vread/vread{name}.conf"
        self._log = LOG.replace(".log", f"{name}.log")
        self.control_socket = f"/run/vread/control{name}.sock"
        self.endpoint = f"/run/vread/local{name}.sock"
        self.program = "vreadd"  # what start() runs
        self._process = None
        self.pid = 0

    def start(self) -> None:
        """Configures and starts it; returns when it answers and has looked into its images."""
        self._configure()
        self._process = self.host.popen(f"{self._command()} >>{self._log} 2>&1")
        patience = Patience(READY_TIMEOUT)
        while self.host.run(self._ask("--json")).rc != 0:
            if not self._process.running or patience.is_over():
                raise LabError(f"vreadd did not come up:\n{self.log()}")
            time.sleep(0.3)
        self.pid = self.status()["pid"]
        while any(dn["state"] == "looking" for dn in self.status()["datanodes"]):
            if not self._process.running or patience.is_over():
                raise LabError(f"vreadd did not look into its images:\n{self.log()}")
            time.sleep(0.3)

    def _command(self) -> str:
        return (
            f"mkdir -p /run/vread; OPENSSL_ia32cap={OPENSSL_CPU} ASAN_OPTIONS={SANITIZER} "
            f"exec {self.program} --config {self.config_path} --log-level debug"
        )

    def _ask(self, *options: str) -> list[str]:
        return ["xl-vread", "status", "--socket", self.control_socket, *options]

    def _configure(self) -> None:
        lines = [
            "[vreadd]",
            f"control-socket = {self.control_socket}",
            "[xen]",
            f"enabled = {self._xen}",
        ]
        lines += ["[local]", f"socket = {self.endpoint}"]
        if self._datanodes:
            lines.append(f"allow-datanodes = {' '.join(self._datanodes)}")
        for name, datanode in self._datanodes.items():
            lines += [f"[datanode {name}]", f"image = {datanode.image}"]
            lines += [f"image-mode = {datanode.mode}", f"tokens = {datanode.tokens}"]
            if datanode.layout:
                layout = f"/var/lib/vread/layouts/{name}.json"
                self.host.put(datanode.layout, layout)
                lines.append(f"layout = {layout}")
            else:
                lines.append(f"data-dirs = {' '.join(datanode.data_dirs)}")
        text = "\n".join(lines) + "\n" + self.extra
        self.host.run(f"mkdir -p /etc/vread; cat >{self.config_path}", stdin=text.encode()).check()

    def signal(self, name: str) -> None:
        """Sends a signal.  After STOP waits until every thread has stopped: they do not stop at
        once."""
        self.host.run(f"kill -{name} {self.pid}").check()
        if name == "STOP":
            running = f"grep -L ') T ' /proc/{self.pid}/task/*/stat"
            self.host.run(f'until [ -z "$({running})" ]; do sleep 0.1; done').check()

    def kill(self) -> None:
        """Sends SIGKILL and waits until vreadd is gone."""
        self.signal("KILL")
        self._process.wait(STOP_TIMEOUT)

    def stop(self) -> int:
        """Sends SIGTERM; returns the exit code."""
        self.signal("TERM")
        return self._process.wait(STOP_TIMEOUT).rc

    def running(self) -> bool:
        return self._process is not None and self._process.running

    def status(self) -> dict:
        return json.loads(self._answer("--json"))

    def status_text(self) -> str:
        """The status as an operator sees it."""
        return self._answer()

    def _answer(self, *options: str) -> str:
        """Repeats `xl-vread status`, whose time limit is too short for a busy host."""
        patience = Patience(READY_TIMEOUT)
        while (answer := self.host.run(self._ask(*options))).rc and self.running():
            if patience.is_over():
                break
            time.sleep(0.3)
        return answer.check().stdout.decode()

    def device(self, guest: Guest) -> dict | None:
        """The guest's device in vreadd's status; None if it has none."""
        name = f"xen:{guest.domid}/0"
        return next((d for d in self.status()["devices"] if d["name"] == name), None)

    def bytes_read(self, guest: Guest) -> int:
        """Bytes the guest's device was given since it connected."""
        return self.device(guest)["counters"]["bytes"]

    def log(self) -> str:
        return self.host.text(f"cat {self._log}")

    # ---- devices -----------------------------------------------------------

    def attach(self, guest: Guest, allow: str = "*", role: str = "client") -> None:
        """Gives the guest device 0 until it reboots."""
        device = f"role={role},datanodes={allow}"
        self.host.run(["xl-vread", "attach", "--temporary", str(guest.domid), device]).check()

    def published(self, datanode: str) -> dict[str, int]:
        """How many events of each kind the datanode has published, and blocks withdrawn now."""
        found = {entry["datanode"]: entry for entry in self.status()["datanodes"]}
        return found[datanode]["published"]

    def backend_path(self, guest: Guest) -> str:
        return f"/local/domain/0/backend/vread/{guest.domid}/0"

    def frontend_path(self, guest: Guest) -> str:
        return f"/local/domain/{guest.domid}/device/vread/0"

    def states(self, guest: Guest) -> tuple[str, str]:
        """xenbus states of the guest's device: (backend, frontend); "" where there is none."""
        paths = [f"{self.backend_path(guest)}/state", f"{self.frontend_path(guest)}/state"]
        found = [self.host.run(["xenstore-read", path]) for path in paths]
        backend, frontend = (r.stdout.decode().strip() if r.rc == 0 else "" for r in found)
        return backend, frontend

    def wait_states(self, guest: Guest, backend: str, frontend: str) -> None:
        """Waits until the two ends are in these states; "" stands for a removed directory."""
        patience = Patience(CONNECT_TIMEOUT)
        while (now := self.states(guest)) != (backend, frontend):
            if patience.is_over():
                raise LabError(
                    f"{guest.name}: states are {now}, wanted {(backend, frontend)}\n{self.log()}"
                )
            time.sleep(0.2)

    def wait_offered(self, guest: Guest) -> None:
        """Waits until the guest's frontend has closed the device, and vreadd offers it again."""
        self.wait_states(guest, "2", "6")

    def wait_connected(self, guest: Guest) -> None:
        """Waits for a connection to this vreadd: xenstore states may be left by one that died."""
        patience = Patience(CONNECT_TIMEOUT)
        while (found := self.device(guest) or {}).get("state") != "Connected":
            if patience.is_over():
                raise LabError(f"{guest.name}: not connected: {found}\n{self.log()}")
            time.sleep(0.2)
        self.wait_states(guest, CONNECTED, CONNECTED)

    def connect(self, guest: Guest) -> None:
        """Loads the frontend in a guest that has a device, and waits until it is connected."""
        load_frontend(guest)
        self.wait_connected(guest)


def load_frontend(guest: Guest, parameters: str = "") -> None:
    guest.run(load(parameters), timeout=CONNECT_TIMEOUT).check()


def unload_frontend(guest: Guest) -> None:
    """Fails if a process has the device open."""
    guest.run(unload(), timeout=CONNECT_TIMEOUT).check()


def start_client(
    backend: Backend, name: str, blocks: Path, allow: str = "*", frontend: bool = True, **guest
) -> Guest:
    """Starts a domU with a vRead device and the list of blocks as /blocks.txt.  frontend: loads
    the module and waits until it is connected.  `guest`: more arguments of create_guest()."""
    client = backend.host.create_guest(name, **guest)
    client.put(blocks, BLOCKS)
    backend.attach(client, allow)
    if frontend:
        backend.connect(client)
    return client


def file_digest(guest: Guest) -> str:
    """SHA-256 of the client's blocks, read through /dev/vread and put together."""
    read = f"vread cat --timeout {READ_TIMEOUT_MS} --blocks-from {BLOCKS}"
    return guest.text(f"set -o pipefail; {read} | sha256sum", timeout=DIGEST_TIMEOUT).split()[0]
