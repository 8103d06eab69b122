# SPDX-License-Identifier: GPL-2.0-or-later
"""The hypervisor and kernels as uncompressed ELF files, made of those in /boot of a
release of Debian: the emulator's multiboot loader and the PV domain builder need this form."""

import gzip
import lzma
import struct
import subprocess
from pathlib import Path

from .cache import cached, key_of
from .debian import BOOKWORM, Debian
from .kernels import Kernel
from .paths import LabError

# Offsets in a bzImage's header, from the kernel's x86 boot protocol.
SETUP_SECTORS = 0x1F1
PAYLOAD_OFFSET = 0x248
XZ_MAGIC, ZSTD_MAGIC = b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"


def xen_image(debian: Debian = BOOKWORM) -> Path:
    packed = debian.hypervisor.read_bytes()
    return cached("xen", "", key_of([packed]), lambda p: _write(p, gzip.decompress(packed)))


def kernel_image(kernel: Kernel | None = None) -> Path:
    source = (kernel or BOOKWORM.kernel).image
    packed = source.read_bytes()
    if packed.startswith(b"\x7fELF"):
        return source
    return cached("vmlinux", "", key_of([packed]), lambda p: _write(p, _payload(source, packed)))


def _payload(source: Path, image: bytes) -> bytes:
    setup = (image[SETUP_SECTORS] + 1) * 512
    offset, length = struct.unpack_from("<II", image, PAYLOAD_OFFSET)
    # The last four bytes are the length of the unpacked kernel.
    payload = image[setup + offset : setup + offset + length - 4]
    if payload.startswith(XZ_MAGIC):
        return lzma.decompress(payload)
    if payload.startswith(ZSTD_MAGIC):
        return subprocess.run(
            ["zstd", "-dc"], input=payload, capture_output=True, check=True
        ).stdout
    raise LabError(f"{source}: payload is compressed with neither xz nor zstd")


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
