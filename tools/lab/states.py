# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts that are restored instead of booted.  A State prepares a host once and keeps it; host.py
restores hosts from it.

    def prepare(host):                         # on a host that booted
        host.create_guest("one")
        return {"word": 1}                     # JSON, for those who restore it
    READY = State("ready", prepare)
    with XenHost("h", state=READY, files=...) as host:
        host.told["word"], host.guests["one"]  # as it was when prepare() returned

The first host of a state boots, is prepared and saved in build/lab/states/STEM/KEY; this host and
all others are restored from there.  KEY is a hash of inputs: emulator, hypervisor, kernel, root,
disks, sizes, and the inputs of prepare().  If an input changes, the state is made anew and the old
one removed.  `files` and `guest_files` are no inputs: they are copied into the host and its guests
after the restore.  Clocks are set then, too.

A folder there holds

    memory        the machine's memory, a sparse file, which each host maps privately
    devices       processor and devices, as the emulator saved them
    diskN.qcow2   what prepare() and the boot wrote to disk N, if its mode is "snapshot"
    kept.json     how guests are reached, and what prepare() returned

and is there as a whole or not at all.
"""

import contextlib
import errno
import fcntl
import functools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import qemu
from .cache import key_of
from .images import kernel_image, xen_image
from .paths import BUILD, CACHE, LabError

if TYPE_CHECKING:
    from .host import XenHost

STATES = BUILD / "states"
MEMORY, DEVICES, KEPT = "memory", "devices", "kept.json"
CHUNK = 1 << 20
LOCK, MAKING = ".lock", ".making-"


@dataclass(frozen=True)
class State:
    """prepare(host) brings a booted host into the state.  inputs(): all that prepare() depends on
    besides the machine."""

    stem: str
    prepare: Callable[["XenHost"], dict]
    inputs: Callable[[], Iterable[bytes]] = tuple

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Locks this state: only the holder may make, use and remove its folders."""
        self._home.mkdir(parents=True, exist_ok=True)
        with (self._home / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def folder(self, machine: qemu.Machine) -> Path:
        """The folder of the state with these inputs, which may not exist."""
        inputs = [self.stem.encode(), *_machine_inputs(machine), *self.inputs()]
        return self._home / key_of(inputs)

    def make(self, folder: Path, fill: Callable[[Path], None]) -> None:
        """Makes the folder with the files that fill(path) writes.  Removes folders of other inputs
        and those that a killed maker left."""
        for old in self._home.iterdir():
            if old.is_dir():
                shutil.rmtree(old)
        making = Path(tempfile.mkdtemp(prefix=MAKING, dir=self._home))
        try:
            fill(making)
            making.rename(folder)
        except BaseException:
            shutil.rmtree(making)
            raise

    @property
    def _home(self) -> Path:
        return STATES / self.stem


def original_disks(disks: Iterable[qemu.Disk], folder: Path) -> list[qemu.Disk]:
    """The disks of a host that will be saved, with qcow2 files that keep writes to snapshots."""
    made = []
    for number, disk in enumerate(disks):
        if disk.mode == "snapshot":
            path = folder / f"disk{number}.qcow2"
            command = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", disk.format]
            command += ["-b", disk.path.resolve(), path]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise LabError(f"{path}: {done.stderr.strip()}")
            disk = qemu.Disk(path, "write", "qcow2")
        made.append(disk)
    return made


def restored_machine(machine: qemu.Machine, folder: Path) -> qemu.Machine:
    """The machine that goes on with the memory and disks in the folder."""
    disks = []
    for number, disk in enumerate(machine.disks):
        path = folder / f"disk{number}.qcow2"
        disks.append(qemu.Disk(path, "snapshot", "qcow2") if path.exists() else disk)
    return replace(machine, disks=tuple(disks), image=qemu.Image(folder / MEMORY))


@contextlib.contextmanager
def memory_file() -> Iterator[int]:
    """Yields a descriptor of memory for a machine that will be saved.  Not a file on a disk: the
    kernel would write that out all the time, which slows the machine down."""
    descriptor = os.memfd_create("lab-memory")
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def copy_memory(descriptor: int, path: Path) -> None:
    """Copies the memory to a file; memory that was never used is a hole there, too."""
    size = os.fstat(descriptor).st_size
    with path.open("wb") as out:
        os.truncate(out.fileno(), size)
        for start, end in _used(descriptor, size):
            _copy(descriptor, out.fileno(), start, end)


def write_kept(folder: Path, kept: dict) -> None:
    (folder / KEPT).write_text(json.dumps(kept, indent=1) + "\n")


def read_kept(folder: Path) -> dict:
    return json.loads((folder / KEPT).read_text())


def _machine_inputs(machine: qemu.Machine) -> Iterator[bytes]:
    """The inputs in which a saved machine and one that goes on from it must agree."""
    yield _emulator()
    yield Path(qemu.__file__).read_bytes()
    images = xen_image(machine.debian), kernel_image(machine.debian.kernel)
    for path in (*images, machine.root):
        yield path.name.encode()  # all are of the cache, and named after what is in them
    sizes = machine.memory_mib, machine.dom0_mib, machine.cpus, machine.xen_options
    yield repr(sizes).encode()
    for disk in machine.disks:
        yield f"{disk.path} {disk.mode} {_version(disk.path)}".encode()


def _version(disk: Path) -> str:
    """A text that changes when the disk's content does.  "" for a file of the cache: its name
    changes with its content, and its time is that of its last use."""
    if disk.parent == CACHE:
        return ""
    found = disk.stat()
    return f"{found.st_size} {found.st_mtime_ns}"


def _used(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a hole until the end
                return
            raise
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, end


def _copy(source: int, target: int, start: int, end: int) -> None:
    while start < end:
        data = os.pread(source, min(CHUNK, end - start), start)
        start += os.pwrite(target, data, start)


@functools.cache
def _emulator() -> bytes:
    """The emulator's version and its host's processor, from whose clock a guest's is derived."""
    version = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, check=True)
    described = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    names = ("vendor_id", "cpu family", "model", "stepping")
    lines = [line for line in described if line.startswith(names)]
    return version.stdout + "\n".join(lines).encode()
