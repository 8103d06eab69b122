# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest of QEMU without Xen, for the port of KVM.  vreadd and vread-ivshmem run beside it, on
this machine itself.

with KvmGuest("g1", files={...}, devices=shared_memory(socket)) as guest:
    guest.run("modprobe vread-ivshmem")
    guest.unplug()
    guest.save(path)
    guest.restore(path)
    guest.plug(socket)

It is emulated, even if there is /dev/kvm, as qemu.py says.  Its agent is reached through a virtio
port, and its disks are virtio disks.
"""

import contextlib
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tools.patience import Patience

from .channel import HELLO, Channel, Command
from .claim import Claim
from .guest import KERNEL_PATIENCE
from .images import kernel_image
from .kernel_log import KernelLogs
from .kernels import Kernel
from .monitor import Monitor
from .paths import LabError
from .qemu import CPU, Disk, Wire, disk_arguments, start_process, wire_arguments
from .rootfs import Tree, tree_of
from .roots import kvm_root
from .shell import Shell

# Ten times what each takes on a quiet machine with two cores.
BOOT_TIMEOUT = 240.0
WAIT_STEP = 0.2
UNPLUG_TIMEOUT = 300.0
SEND_TIMEOUT = struct.pack("ll", 60, 0)  # a struct timeval
HOTPLUG_PORT = "port0"  # of the PCI bus for devices that come and go
DRIVER, CHARDEV, DEVICE = "ivshmem-doorbell", "vread", "vread-device"


def shared_memory(path: Path, vectors: int = 5) -> list[str]:
    """The arguments of QEMU for the device of a guest whose socket of vread-ivshmem is path.  The
    device can be unplugged."""
    device = f"{DRIVER},id={DEVICE},chardev={CHARDEV},vectors={vectors}"
    return [
        *("-chardev", f"socket,id={CHARDEV},path={path}"),
        *("-device", f"{device},bus={HOTPLUG_PORT}"),
    ]


class GuestGone(LabError):
    """A guest that died or does not answer; the message has its console."""


class KvmGuest(Shell):
    def __init__(
        self,
        name: str,
        *,
        memory_mib: int = 256,
        cpus: int = 1,
        kernel: Kernel | None = None,
        disks: Sequence[Disk] = (),
        files: dict[str, Path] | Tree | None = None,
        devices: Sequence[str] = (),
        wire: Wire | None = None,
    ) -> None:
        """kernel: None is this machine's.  files: {path in the guest: source}; programs bring their
        libraries.  devices: more arguments of QEMU."""
        self.name, self._memory, self._cpus, self._wire = name, memory_mib, cpus, wire
        self._kernel = kernel
        self._disks, self._files, self._devices = tuple(disks), files or {}, list(devices)
        self.folder: Path | None = None
        self.host = None  # the KvmHost that made it
        self.monitor = Monitor()
        self._claim: Claim | None = None
        self._process: subprocess.Popen | None = None
        self._socket: socket.socket | None = None
        self._channel: Channel | None = None
        self._receiver: threading.Thread | None = None
        self._unread: bytes | None = None
        self._saved = 0
        self._kernel_logs = KernelLogs()

    def __enter__(self) -> "KvmGuest":
        return self.start()

    def __exit__(self, *exception) -> None:
        self.kill()

    def start(self) -> "KvmGuest":
        """Boots the guest; returns when it takes commands."""
        self._claim = Claim(self.name)
        self.folder = self._claim.folder
        try:
            self.folder.mkdir()
            self._launch()
            self._wait_up()
        except BaseException:
            self.kill()
            raise
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def console_log(self) -> Path:
        return self.folder / "console.log"

    def console(self) -> str:
        log = self.console_log
        return log.read_text(errors="replace") if log.exists() else ""

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """The guest is gone at once, as in a crash of QEMU."""
        self._end()
        self.monitor.close()
        if self._claim:
            self._claim.release()

    def _end(self) -> None:
        """Ends QEMU.  The guest's folder stays."""
        if self._process:
            self._process.kill()
            self._process.wait()
        if self._socket:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            if self._receiver:
                self._receiver.join()  # it may read the logs
            self._socket.close()
        if self._channel:
            self._channel.close(f"{self.name}: stopped")

    def reset(self) -> None:
        """Resets the machine; returns when the guest takes commands again."""
        self.monitor.ask("stop")
        with self._rebooting():
            self.monitor.ask("system_reset")
            self.monitor.ask("cont")

    def reboot(self) -> None:
        """The guest's kernel shuts its devices down, and resets the machine.  Returns when the
        guest takes commands again."""
        with self._rebooting() as before:
            before.popen(["reboot", "-f"], shell=self.shell)

    def plug(self, path: Path, vectors: int = 5) -> None:
        """Adds the device of a guest whose socket of vread-ivshmem is path."""
        address = {"type": "unix", "data": {"path": str(path)}}
        backend = {"type": "socket", "data": {"addr": address, "server": False}}
        self.monitor.ask("chardev-add", id=CHARDEV, backend=backend)
        device = {"id": DEVICE, "chardev": CHARDEV, "vectors": vectors}
        self.monitor.ask("device_add", driver=DRIVER, bus=HOTPLUG_PORT, **device)

    def unplug(self) -> None:
        """Removes the device, and QEMU's connection to vread-ivshmem."""
        self.ask_unplug()
        self.wait_unplugged()

    def ask_unplug(self) -> None:
        """Asks the guest to let the device go.  The guest may do so when wait_unplugged() waits."""
        self.monitor.ask("device_del", id=DEVICE)

    def wait_unplugged(self) -> None:
        patience = Patience(UNPLUG_TIMEOUT)
        while not self._forgot_device():
            if patience.is_over():
                self._fail("does not let the device go")
            time.sleep(0.1)

    def _forgot_device(self) -> bool:
        """Ends the connection to vread-ivshmem.  QEMU uses the connection for a moment longer than
        it lists the device."""
        listed = self.monitor.ask("qom-list", path="/machine/peripheral")
        if DEVICE in (entry["name"] for entry in listed):
            return False
        try:
            self.monitor.ask("chardev-remove", id=CHARDEV)
        except LabError as error:
            if "is busy" not in str(error):
                raise
            return False
        return True

    def save(self, path: Path) -> None:
        """Saves the machine, and ends its QEMU.  restore() makes another QEMU."""
        self.monitor.save(path)
        self._saved = self._channel.numbered
        self._end()
        self.monitor.close()

    def restore(self, path: Path) -> None:
        """Starts a QEMU with the saved machine, which has none of the devices of the argument."""
        self.monitor, self._devices = Monitor(), ["-incoming", "defer"]
        self._launch(self._saved)
        self.monitor.restore(path)

    # ---- in the guest ----------------------------------------------------

    def adopt(self, number: int, text: str, sink: Callable[[bytes], None] | None = None) -> Command:
        raise LabError(f"{self.name}: no guest of this kind is restored from an image")

    def check_dmesg(self) -> None:
        """Raises KernelComplaint when the guest's kernel reported a bug since the last call.  Of a
        guest that is gone it reads the console only."""
        buffers = {self.name: self.dmesg()} if self.alive else {}
        self._kernel_logs.check({self.name: self.console()}, buffers)

    # ---- inside ----------------------------------------------------------

    @contextlib.contextmanager
    def _rebooting(self) -> Iterator[Channel]:
        """The body makes the machine reboot.  Yields the channel to the agent of before."""
        before = self._channel
        self.monitor.ask("set-action", reboot="reset")
        self._unread = b""
        self._channel = Channel(self._send, self._fail)
        yield before
        before.close(f"{self.name}: reboots")
        self._wait_up()
        self.monitor.ask("set-action", reboot="shutdown")  # again as of -no-reboot

    def _launch(self, numbered: int = 0) -> None:
        """numbered: how many commands the agent of a restored machine was given."""
        root = self._root()
        ours, theirs = socket.socketpair()
        with theirs:
            fds = [theirs.fileno(), self.monitor.theirs.fileno()]
            self._process = start_process(
                self._command(root, *fds), self.folder / "qemu.log", fds, self.folder
            )
        self.monitor.theirs.close()
        self._join(ours, numbered)

    def _join(self, ours: socket.socket, numbered: int = 0) -> None:
        """Takes this program's end of the agent's port."""
        self._socket = ours
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, SEND_TIMEOUT)
        self._channel = Channel(self._send, self._fail, numbered)
        self._receiver = threading.Thread(
            target=self._receive, name=f"lab-{self.name}", daemon=True
        )
        self._receiver.start()

    def _command(self, root: Path, control: int, monitor: int) -> list[str]:
        # QEMU leaves barriers out of a machine that can only have one processor (CF_PARALLEL, in
        # its tcg/tcg-op.c): locked instructions, too.  vreadd, which is not emulated, needs them.
        processors = f"{self._cpus},maxcpus={max(self._cpus, 2)}"
        return [
            *("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", CPU, "-machine", "q35"),
            *("-smp", processors, "-m", f"{self._memory}M", "-display", "none"),
            *("-vga", "none", "-nodefaults", "-no-user-config", "-no-reboot"),
            *("-chardev", f"file,id=console,path={self.console_log},append=on"),
            *(
                "-serial",
                "chardev:console",
                "-kernel",
                str(kernel_image(self._kernel)),
                "-initrd",
                str(root),
            ),
            *("-append", self._kernel_arguments()),
            *("-device", f"pcie-root-port,id={HOTPLUG_PORT},chassis=1,pref64-reserve=64M"),
            *("-chardev", f"socket,id=control,fd={control}"),
            *("-device", "virtio-serial-pci", "-device", "virtserialport,chardev=control,name=lab"),
            *("-chardev", f"socket,id=monitor,fd={monitor}"),
            *("-mon", "chardev=monitor,mode=control"),
            *disk_arguments(self._disks),
            *(wire_arguments(self._wire) if self._wire else ()),
            *self._devices,
        ]

    def _kernel_arguments(self) -> str:
        arguments = f"console=ttyS0 loglevel=5 panic=1 lab.name={self.name} {KERNEL_PATIENCE}"
        if self._wire:
            arguments += f" lab.ip={self._wire.address.partition('/')[0]}"
        return arguments

    def _root(self) -> Path:
        """The guest's root file system with its files."""
        path = self.folder / "root.cpio"
        added = self.folder / "files.cpio"
        tree_of(self._files).write(added)
        path.write_bytes(kvm_root(self._kernel).read_bytes() + added.read_bytes())
        added.unlink()
        return path

    def _wait_up(self) -> None:
        patience = Patience(BOOT_TIMEOUT)
        while not self._channel.wait_ready(WAIT_STEP):
            if patience.is_over():
                self._fail(f"not up after {BOOT_TIMEOUT:.0f} s")

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            self._fail(f"takes no input ({os.strerror(error.errno)})")

    def _receive(self) -> None:
        data = b"-"
        while data:
            try:
                data = self._socket.recv(1 << 18)
            except OSError:
                break
            self._feed(data)
        self._channel.close(f"{self.name}: the emulator is gone\n{self._tails()}")

    def _feed(self, data: bytes) -> None:
        """What comes before an agent's first words is of the machine before a reset."""
        if self._unread is not None:
            self._unread += data
            start = self._unread.find(HELLO)
            if start < 0:
                return
            data, self._unread = self._unread[start:], None
        self._channel.feed(data)

    @property
    def _emulator_log(self) -> Path:
        return self.folder / "qemu.log"

    def _fail(self, what: str) -> None:
        raise GuestGone(f"{self.name}: {what}\n{self._tails()}")

    def _tails(self) -> str:
        log = self._emulator_log.read_text(errors="replace").partition("\n")[2]
        return f"---- its console\n{self.console()[-4000:]}\n---- emulator\n{log[-1000:]}"
