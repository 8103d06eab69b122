# SPDX-License-Identifier: GPL-2.0-or-later
"""libguestfs for an emulated dom0: a fixed appliance, and the files that dom0 needs to start it.
tests/xen/test_provision_in_dom0.py uses it.

appliance = Appliance()
with XenHost("h", disks=[image, appliance.disk], files=appliance.files | ...) as host:
    appliance.install(host, "/dev/vdb")
    host.popen(["env", *SETTINGS, "vread-provision", ...])

An emulator inside an emulator takes minutes to boot.  So this appliance differs from libguestfs's
own, of whose parts supermin makes it: its first process is root/init.appliance, its kernel is the
unpacked one that dom0 has for its guests, and its time passes with its instructions
(root/qemu-virtual-time).
"""

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from .cache import key_of
from .debian import BOOKWORM
from .host import XenHost
from .paths import LAB, REPOSITORY, LabError, kernel_release
from .qemu import Disk
from .roots import BUSYBOX, DOMU_KERNEL

FOLDER = REPOSITORY / "build" / "appliance"
PARTS = Path("/usr/lib/x86_64-linux-gnu/guestfs/supermin.d")
INSTALLED = Path("/var/lib/dpkg/status")
INIT = LAB / "root" / "init.appliance"
VIRTUAL_TIME = LAB / "root" / "qemu-virtual-time"
PLACE = "/var/lib/appliance"  # in dom0

EMULATOR = [
    "/usr/bin/qemu-system-x86_64",
    "/usr/bin/qemu-img",
    "/usr/lib/x86_64-linux-gnu/qemu/accel-tcg-x86_64.so",
    "/usr/share/seabios/bios-256k.bin",
    "/usr/share/qemu/kvmvapic.bin",
    "/usr/share/qemu/pvh.bin",
]

# Environment of programs that use libguestfs.  No XSAVE, and so no AVX, for the reason in qemu.py.
# Mitigations and more kernel messages would cost time.
SETTINGS = [
    f"LIBGUESTFS_PATH={PLACE}",
    f"LIBGUESTFS_HV={PLACE}/{VIRTUAL_TIME.name}",
    "LIBGUESTFS_MEMSIZE=512",
    "LIBGUESTFS_APPEND=noxsave mitigations=off loglevel=6",
    "LIBGUESTFS_DEBUG=1",
]


class Appliance:
    """Made once for given packages; kept under build/appliance."""

    def __init__(self) -> None:
        self._folder = _folder()
        self.disk = Disk(self._folder / "root", "readonly")
        self.files = {path: Path(path) for path in EMULATOR}
        self.files[f"{PLACE}/initrd"] = self._folder / "initrd"
        self.files[f"{PLACE}/{VIRTUAL_TIME.name}"] = VIRTUAL_TIME

    def install(self, host: XenHost, device: str) -> None:
        """Makes libguestfs's folder of the appliance in dom0, where `disk` is `device`."""
        links = f"ln -s {DOMU_KERNEL} kernel && ln -s {device} root && touch README.fixed"
        host.run(f"mkdir -p /var/tmp && cd {PLACE} && {links}").check()


def _folder() -> Path:
    folder = FOLDER / _key()
    if not folder.is_dir():
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        with tempfile.TemporaryDirectory(dir=FOLDER, prefix=".making-") as scratch:
            _build(Path(scratch)).rename(folder)
    return folder


def _key() -> str:
    if not PARTS.is_dir():
        raise LabError(f"no {PARTS}: install libguestfs0 (make setup does)")
    inputs = [*sorted(PARTS.iterdir()), INSTALLED, INIT, BOOKWORM.file(BUSYBOX)]
    return key_of([kernel_release().encode(), *(path.read_bytes() for path in inputs)])


def _build(scratch: Path) -> Path:
    parts, made = scratch / "supermin.d", scratch / "appliance"
    shutil.copytree(PARTS, parts)
    _write_init(parts / "init.tar.gz")
    release = kernel_release()
    kernel = {
        "SUPERMIN_KERNEL": f"/boot/vmlinuz-{release}",
        "SUPERMIN_MODULES": f"/lib/modules/{release}",
    }
    command = ["supermin", "--build", "-f", "ext2", "--host-cpu", "x86_64", parts, "-o", made]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | kernel, check=False
    )
    if done.returncode:
        raise LabError(f"supermin --build {PARTS}: {(done.stderr or done.stdout).strip()}")
    return made


def _write_init(path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, source in (("init", INIT), ("usr/bin/busybox", BOOKWORM.file(BUSYBOX))):
            member = tarfile.TarInfo(name)
            data = source.read_bytes()
            member.mode, member.size = 0o755, len(data)
            archive.addfile(member, io.BytesIO(data))
