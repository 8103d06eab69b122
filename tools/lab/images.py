# SPDX-License-Identifier: GPL-2.0-or-later
"""The hypervisor and the kernel in the form the emulator's multiboot loader
and the PV domain builder take: uncompressed ELF, out of Debian's /boot."""

import gzip
import lzma
import struct
from pathlib import Path

from .cache import cached, key_of
from .paths import LabError, kernel_release, newest

# Offsets in a bzImage's header, from the kernel's x86 boot protocol.
SETUP_SECTORS = 0x1F1
PAYLOAD_OFFSET = 0x248
XZ_MAGIC = b"\xfd7zXZ\x00"


def xen_image() -> Path:
    packed = newest("/boot", "xen-4.*-amd64.gz", "xen-hypervisor-4.17-amd64").read_bytes()
    return cached("xen", "", key_of([packed]), lambda p: _write(p, gzip.decompress(packed)))


def kernel_image() -> Path:
    source = Path("/boot") / f"vmlinuz-{kernel_release()}"
    packed = source.read_bytes()
    return cached("vmlinux", "", key_of([packed]), lambda p: _write(p, _payload(source, packed)))


def _payload(source: Path, image: bytes) -> bytes:
    setup = (image[SETUP_SECTORS] + 1) * 512
    offset, length = struct.unpack_from("<II", image, PAYLOAD_OFFSET)
    payload = image[setup + offset : setup + offset + length]
    if not payload.startswith(XZ_MAGIC):
        raise LabError(f"{source}: payload is not compressed with xz, which is all the lab reads")
    # A four-byte length follows the stream; a decompressor object ignores it.
    return lzma.LZMADecompressor().decompress(payload)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
