# SPDX-License-Identifier: GPL-2.0-or-later
"""LVM2's metadata in a file, which tests read, and change without LVM.

copy = Metadata(path)
copy.replace(lambda text: text.replace(b"striped", b"thin"))     # with a correct checksum
"""

import struct
import zlib

SECTOR = 512
INITIAL = 0xF597A6CF


def checksum(data):
    return zlib.crc32(data, INITIAL ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


class Metadata:
    """The first metadata area of the physical volume at that offset of a file."""

    def __init__(self, path, offset=0):
        self.path, self.base = path, offset
        label = next(
            sector
            for sector in (self._read(offset + n * SECTOR, SECTOR) for n in range(4))
            if sector.startswith(b"LABELONE")
        )
        (header,) = struct.unpack_from("<I", label, 20)
        self.uuid = label[header : header + 32].decode()
        at = header + 40
        while struct.unpack_from("<Q", label, at)[0]:
            at += 16
        self.area, self.size = struct.unpack_from("<QQ", label, at + 16)

    def header(self):
        return self._read(self.base + self.area, SECTOR)

    def place(self):
        """Offset, size, checksum and flags of the newest text."""
        return struct.unpack_from("<QQII", self.header(), 40)

    def wraps(self):
        offset, size, _, _ = self.place()
        return offset + size > self.size

    def text(self):
        offset, size, _, _ = self.place()
        area = self._read(self.base + self.area, self.size)
        return (area[offset:] + area[SECTOR:])[:size]

    def replace(self, change, damage=False):
        """Replaces the text by change(text).  damage: with a wrong checksum."""
        text = change(self.text().rstrip(b"\0")) + b"\0"
        assert len(text) <= self.size - SECTOR
        self._write(self.base + self.area + SECTOR, text)
        self.point_to(SECTOR, len(text), checksum(text) ^ damage)

    def point_to(self, offset, size, crc, flags=0):
        header = bytearray(self.header())
        struct.pack_into("<QQII", header, 40, offset, size, crc, flags)
        struct.pack_into("<I", header, 0, checksum(bytes(header[4:])))
        self._write(self.base + self.area, header)

    def flip(self, offset):
        """Flips a bit of the area."""
        at = self.base + self.area + offset
        self._write(at, bytes([self._read(at, 1)[0] ^ 1]))

    def _read(self, offset, length):
        with open(self.path, "rb") as file:
            file.seek(offset)
            return file.read(length)

    def _write(self, offset, data):
        with open(self.path, "r+b") as file:
            file.seek(offset)
            file.write(data)
