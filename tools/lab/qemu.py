# SPDX-License-Identifier: GPL-2.0-or-later
"""The emulator process of one host, started by host.py, and of one guest without Xen, started by
kvm.py.

It is plain emulation, even if there is /dev/kvm, because not every machine can
run a nested hypervisor.  The CPU has no SMAP: with SMAP dom0 does not come up.
It has no AVX: with AVX programs crash now and then.  It has no ERMS: with ERMS
kernels and C libraries copy single bytes, which in emulation takes six times as
long as copying eight bytes at a time.

The emulator dies with this program: the kernel sends it SIGKILL when the thread
that started it ends.  So a thread that never ends starts it.
"""

import os
import socket
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .counter import counter_arguments
from .debian import BOOKWORM, Debian
from .images import kernel_image, xen_image
from .paths import LabError

CPU = "max,-smap,-avx,-avx2,-xsave,-erms"
SOCKET_PATH_MAX = 107
UNPLUGGED = "52:54:00:00:00:00"
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lab-start")


@dataclass(frozen=True)
class Disk:
    """A raw image as a virtio disk.  mode: "snapshot" (writes are thrown away),
    "readonly" or "write".  name: in /dev of a guest without Xen, beside its own name."""

    path: Path
    mode: str = "snapshot"
    format: str = "raw"
    name: str = ""


@dataclass(frozen=True)
class Wire:
    """One end of a cable between two hosts; it is eth0 of dom0.  One of the two
    listens on the socket and starts first.  Guests without Xen have such wires, too.
    rdma: with a soft-RoCE device on it, rxe0.
    more: sockets of further cables, joined to this one by a hub at this end, which listens on
    all of them."""

    path: Path
    address: str  # of dom0 on it, as in "10.0.0.1/24"
    listen: bool = False
    rdma: bool = False
    more: tuple[Path, ...] = ()

    @property
    def mac(self) -> str:
        octets = self.address.partition("/")[0].split(".")
        return "52:54:" + ":".join(f"{int(octet):02x}" for octet in octets)


@dataclass(frozen=True)
class Image:
    """The memory, a file, of a machine that its monitor saves or restores.  memory: of a machine
    that will be saved, a descriptor; of a restored one, the path of the saved memory, to which the
    machine's own writes do not go."""

    memory: int | Path

    def arguments(self, mib: int) -> list[str]:
        saved = isinstance(self.memory, Path)
        place = _escaped(self.memory) if saved else f"/proc/self/fd/{self.memory}"
        backend = f"memory-backend-file,id=ram,size={mib}M,mem-path={place}"
        arguments = ["-object", f"{backend},share={'off' if saved else 'on'}"]
        arguments += ["-machine", "memory-backend=ram"]
        return arguments + (["-incoming", "defer"] if saved else [])

    @property
    def descriptors(self) -> list[int]:
        return [] if isinstance(self.memory, Path) else [self.memory]


@dataclass(frozen=True)
class Machine:
    name: str
    memory_mib: int
    dom0_mib: int
    root: Path
    share: Path
    console: Path
    disks: tuple[Disk, ...] = ()
    wire: Wire | None = None
    cpus: int = 1
    xen_options: tuple[str, ...] = ()
    image: Image | None = None
    counter: Path | None = None  # of instructions; see counter.py
    debian: Debian = BOOKWORM

    def command(self, control_fd: int, monitor_fd: int | None = None) -> list[str]:
        dom0 = f"console=hvc0 loglevel=5 panic=1 lab.name={self.name} watchdog_thresh=60"
        dom0 += " rcupdate.rcu_cpu_stall_timeout=120"  # as for guests
        if self.image:
            dom0 += " lab.image"
        return [
            *("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", CPU),
            *(
                "-smp",
                str(self.cpus),
                "-m",
                f"{self.memory_mib}M",
                "-display",
                "none",
                "-vga",
                "none",
                "-nodefaults",
            ),
            *("-no-user-config", "-no-reboot", "-serial", f"file:{self.console}"),
            *("-kernel", str(xen_image(self.debian)), "-append", self._xen_arguments()),
            *("-initrd", f"{kernel_image(self.debian.kernel)} {dom0},{self.root}"),
            *("-fsdev", f"local,id=lab,path={_escaped(self.share)},security_model=none"),
            *("-device", "virtio-9p-pci,fsdev=lab,mount_tag=lab"),
            *("-chardev", f"socket,id=control,fd={control_fd}"),
            *("-device", "virtio-serial-pci", "-device", "virtserialport,chardev=control,name=lab"),
            *disk_arguments(self.disks),
            *self._wire_arguments(),
            *(self.image.arguments(self.memory_mib) if self.image else ()),
            *_monitor_arguments(monitor_fd),
            *(counter_arguments(self.counter) if self.counter else ()),
        ]

    def _xen_arguments(self) -> str:
        memory = f"dom0_mem={self.dom0_mib}M,max:{self.dom0_mib}M"
        # Without scrubbing, memory that was never used is a hole in an image.
        unused = ["bootscrub=0"] if self.image else []
        return " ".join(["console=com1 com1=115200,8n1", memory, *unused, *self.xen_options])

    def _wire_arguments(self) -> list[str]:
        if not self.wire and self.image:
            # A host restored from this image may have a wire, so the image has the adapter.
            return ["-netdev", "hubport,id=wire,hubid=0", "-device", _adapter(UNPLUGGED)]
        return wire_arguments(self.wire) if self.wire else []


def disk_arguments(disks: Sequence[Disk]) -> list[str]:
    # With a thread of their own, disks do not take the lock that the emulated processor needs.  A
    # long queue takes requests of 1 MiB whole.
    arguments = ["-object", "iothread,id=disks"]
    for i, disk in enumerate(disks):
        mode = {"snapshot": ",snapshot=on", "readonly": ",readonly=on", "write": ""}[disk.mode]
        drive = f"file={_escaped(disk.path)},format={disk.format},if=none,id=disk{i}{mode}"
        device = f"virtio-blk-pci,drive=disk{i},iothread=disks,queue-size=1024"
        named = f",serial={disk.name}" if disk.name else ""
        arguments += ["-drive", drive, "-device", device + named]
    return arguments


def wire_arguments(wire: Wire) -> list[str]:
    device = _adapter(wire.mac)
    if not wire.more:
        return [*_cable(wire, "wire", wire.path), "-device", device]
    arguments = ["-netdev", "hubport,id=wire,hubid=0"]
    for i, path in enumerate((wire.path, *wire.more)):
        arguments += _cable(wire, f"cable{i}", path)
        arguments += ["-netdev", f"hubport,id=port{i},hubid=0,netdev=cable{i}"]
    return [*arguments, "-device", device]


def _cable(wire: Wire, name: str, path: Path) -> list[str]:
    if len(str(path)) > SOCKET_PATH_MAX:
        raise LabError(f"{path}: socket paths have at most {SOCKET_PATH_MAX} bytes")
    server = "on" if wire.listen else "off"
    return ["-netdev", f"stream,id={name},server={server},addr.type=unix,addr.path={path}"]


def start_process(
    command: Sequence[str], log: Path, descriptors: Sequence[int], folder: Path
) -> subprocess.Popen:
    """Starts an emulator in the folder, with these descriptors.  The log gets its output."""
    command = ["setpriv", "--pdeathsig", "KILL", "--", *command]
    with log.open("wb") as output:
        output.write((" ".join(command) + "\n").encode())
        output.flush()
        return _starter.submit(
            subprocess.Popen,
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=descriptors,
            start_new_session=True,
            cwd=os.fspath(folder),
        ).result()


def start(
    machine: Machine, log: Path, monitor: socket.socket | None = None
) -> tuple[subprocess.Popen, socket.socket]:
    """Starts the emulator; returns the process and this program's end of its control port.
    monitor: the emulator's end of the pair of monitor.py."""
    ours, theirs = socket.socketpair()
    with theirs:
        fds = [end.fileno() for end in (theirs, monitor) if end]
        passed = [*fds, *(machine.image.descriptors if machine.image else [])]
        return start_process(machine.command(*fds), log, passed, machine.share), ours


def _adapter(mac: str) -> str:
    return f"virtio-net-pci,netdev=wire,mac={mac},romfile="


def _monitor_arguments(fd: int | None) -> list[str]:
    if fd is None:
        return []
    return ["-chardev", f"socket,id=monitor,fd={fd}", "-mon", "chardev=monitor,mode=control"]


def _escaped(path: Path) -> str:
    return str(path.resolve()).replace(",", ",,")
