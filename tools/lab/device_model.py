# SPDX-License-Identifier: GPL-2.0-or-later
"""What dom0 needs to run HVM guests: Debian's device model, which is a QEMU, hvmloader, and what
these load.  tests/xen/test_hvm.py uses it.

The package of the device model is unpacked in build/lab and not installed.  libxl starts it by its
path.  The guest's kernel starts without a boot loader, as those of other guests do.
"""

from pathlib import Path

from . import apt
from .debian import BOOKWORM

PACKAGE = "qemu-system-xen"
PROGRAM = "/usr/libexec/xen-qemu-system-i386"
LOADED = (
    str(BOOKWORM.xen_tools.parent / "boot" / "hvmloader"),
    "/usr/share/seabios/bios-256k.bin",
    "/usr/share/qemu/linuxboot.bin",
    "/usr/share/qemu/linuxboot_dma.bin",
    "/usr/share/qemu/kvmvapic.bin",
    "/usr/share/qemu/keymaps/en-us",
)
KERNEL = "/boot/vmlinuz"  # in dom0; QEMU takes a bzImage
# Lines of an HVM guest's configuration.  Without tsc_mode the clock of an emulated host is wrong
# there, as in PVH guests.
CONFIG = (
    'type="hvm"',
    f'kernel="{KERNEL}"',
    'tsc_mode="native"',
    'vga="none"',
    "nographic=1",
    "vnc=0",
    'serial="pty"',
)


def files() -> dict[str, Path]:
    """{path in dom0: file}"""
    root = apt.unpacked(PACKAGE)
    found = {path: Path(path) for path in LOADED} | {KERNEL: BOOKWORM.kernel.image}
    return {PROGRAM: root / PROGRAM.lstrip("/")} | found
