# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest of QEMU without Xen, for the port of KVM.  vreadd and vread-ivshmem run beside it, on
this machine itself.

with KvmGuest("g1", files={...}, devices=shared_memory(socket)) as guest:
    guest.run("modprobe xen-vreadfront")

It is emulated, even if there is /dev/kvm, as qemu.py says.  Its agent is reached through a virtio
port, and its disks are virtio disks.
"""

import contextlib
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from .channel import HELLO, Channel, Command
from .claim import Claim
from .images import kernel_image
from .kernel_log import KernelLogs
from .monitor import Monitor
from .paths import LabError
from .qemu import CPU, Disk, Wire, disk_arguments, start_process, wire_arguments
from .rootfs import Tree, tree_of
from .roots import kvm_root
from .shell import Shell

# Ten times what each takes on a quiet machine with two cores.
BOOT_TIMEOUT = 240.0
SEND_TIMEOUT = struct.pack("ll", 60, 0)  # a struct timeval
HOTPLUG_PORT = "port0"  # of the PCI bus for devices that come and go


def shared_memory(path: Path, vectors: int = 5, name: str = "vread") -> list[str]:
    """The arguments of QEMU for the device of a guest whose socket of vread-ivshmem is path.  The
    device can be unplugged."""
    device = f"ivshmem-doorbell,id={name}-device,chardev={name},vectors={vectors}"
    return [
        *("-chardev", f"socket,id={name},path={path}"),
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
        disks: Sequence[Disk] = (),
        files: dict[str, Path] | Tree | None = None,
        devices: Sequence[str] = (),
        wire: Wire | None = None,
    ) -> None:
        """files: {path in the guest: source}; programs bring their libraries.  devices: more
        arguments of QEMU."""
        self.name, self._memory, self._cpus, self._wire = name, memory_mib, cpus, wire
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
        self.monitor.close()
        if self._claim:
            self._claim.release()

    def reset(self) -> None:
        """Resets the machine; returns when the guest takes commands again."""
        before = self._channel
        self.monitor.ask("stop")
        self._channel, self._unread = Channel(self._send, self._fail), b""
        self.monitor.ask("set-action", reboot="reset")
        self.monitor.ask("system_reset")
        self.monitor.ask("cont")
        before.close(f"{self.name}: reset")
        self._wait_up()
        self.monitor.ask("set-action", reboot="shutdown")  # again as of -no-reboot

    # ---- in the guest ----------------------------------------------------

    def adopt(self, number: int, text: str, sink: Callable[[bytes], None] | None = None) -> Command:
        raise LabError(f"{self.name}: no guest of this kind is restored from an image")

    def check_dmesg(self) -> None:
        """Raises KernelComplaint when the guest's kernel reported a bug since the last call.  Of a
        guest that is gone it reads the console only."""
        buffers = {self.name: self.dmesg()} if self.alive else {}
        self._kernel_logs.check({self.name: self.console()}, buffers)

    # ---- inside ----------------------------------------------------------

    def _launch(self) -> None:
        root = self._root()
        ours, theirs = socket.socketpair()
        with theirs:
            fds = [theirs.fileno(), self.monitor.theirs.fileno()]
            self._process = start_process(
                self._command(root, *fds), self.folder / "qemu.log", fds, self.folder
            )
        self.monitor.theirs.close()
        self._socket = ours
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, SEND_TIMEOUT)
        self._channel = Channel(self._send, self._fail)
        self._receiver = threading.Thread(
            target=self._receive, name=f"lab-{self.name}", daemon=True
        )
        self._receiver.start()

    def _command(self, root: Path, control: int, monitor: int) -> list[str]:
        arguments = f"console=ttyS0 loglevel=5 panic=1 lab.name={self.name} watchdog_thresh=60"
        if self._wire:
            arguments += f" lab.ip={self._wire.address.partition('/')[0]}"
        return [
            *("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", CPU, "-machine", "q35"),
            *("-smp", str(self._cpus), "-m", f"{self._memory}M", "-display", "none"),
            *("-vga", "none", "-nodefaults", "-no-user-config", "-no-reboot"),
            *("-serial", f"file:{self.console_log}"),
            *("-kernel", str(kernel_image()), "-initrd", str(root), "-append", arguments),
            *("-device", f"pcie-root-port,id={HOTPLUG_PORT},chassis=1,pref64-reserve=64M"),
            *("-chardev", f"socket,id=control,fd={control}"),
            *("-device", "virtio-serial-pci", "-device", "virtserialport,chardev=control,name=lab"),
            *("-chardev", f"socket,id=monitor,fd={monitor}"),
            *("-mon", "chardev=monitor,mode=control"),
            *disk_arguments(self._disks),
            *(wire_arguments(self._wire) if self._wire else ()),
            *self._devices,
        ]

    def _root(self) -> Path:
        """The guest's root file system with its files."""
        path = self.folder / "root.cpio"
        added = self.folder / "files.cpio"
        tree_of(self._files).write(added)
        path.write_bytes(kvm_root().read_bytes() + added.read_bytes())
        added.unlink()
        return path

    def _wait_up(self) -> None:
        if not self._channel.wait_ready(BOOT_TIMEOUT):
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

    def _fail(self, what: str) -> None:
        raise GuestGone(f"{self.name}: {what}\n{self._tails()}")

    def _tails(self) -> str:
        log = (self.folder / "qemu.log").read_text(errors="replace").partition("\n")[2]
        return f"---- its console\n{self.console()[-4000:]}\n---- emulator\n{log[-1000:]}"
