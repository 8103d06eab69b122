# SPDX-License-Identifier: GPL-2.0-or-later
"""Differencing VHDs, which no tool of Debian makes: children of another VHD, as in XenServer's
snapshots.

child(folder / "child.vhd", folder / "parent.vhd", {sector: 512 bytes, ...})

The layout is that of Microsoft's specification; libvhdi reads the result in tests/image.
"""

import struct

SECTOR = 512
BLOCK = 2 << 20
SECTORS = BLOCK // SECTOR
NO_BLOCK = 0xFFFFFFFF
FOOTER_SUM, HEADER_SUM = 64, 36
HEADER_AT, TABLE_AT = 512, 1536
ID = slice(68, 84)  # of the footer


def summed(raw, at):
    """raw with its checksum: the complement of the sum of all other bytes."""
    raw = bytearray(raw)
    raw[at : at + 4] = bytes(4)
    raw[at : at + 4] = struct.pack(">I", ~sum(raw) & 0xFFFFFFFF)
    return bytes(raw)


def footer_of(path):
    with open(path, "rb") as file:
        file.seek(-SECTOR, 2)
        return file.read(SECTOR)


def mac_url(path):
    """As blktap's libvhd writes it."""
    return b"MacX", b"file://" + str(path).encode()


def windows_path(path):
    return b"W2ru", str(path).replace("/", "\\").encode("utf-16-le")


def child(path, parent, sectors, locators=None, parent_id=None, unique=b"child of a paren"):
    """Writes a differencing VHD.  sectors: {number: bytes}.  locators: (platform, name) each; by
    default the parent's name beside the child, as URL.  parent_id: another than the parent has."""
    below = footer_of(parent)
    size = struct.unpack_from(">Q", below, 48)[0]
    blocks = -(-size // BLOCK)
    names_at = -(-(TABLE_AT + 4 * blocks) // SECTOR) * SECTOR
    locators = [mac_url(f"./{parent.name}")] if locators is None else locators
    names, entries = b"", b""
    for platform, name in locators:
        place = names_at + len(names)
        entries += struct.pack(">4sIIIQ", platform, SECTOR, len(name), 0, place)
        names += name.ljust(-(-len(name) // SECTOR) * SECTOR, b"\0")

    head = bytearray(1024)
    struct.pack_into(">8sQQIII", head, 0, b"cxsparse", 2**64 - 1, TABLE_AT, 0x10000, blocks, BLOCK)
    head[40:56] = below[ID] if parent_id is None else parent_id
    head[64 : 64 + 2 * len(parent.name)] = parent.name.encode("utf-16-be")
    head[576 : 576 + len(entries)] = entries

    foot = bytearray(below)
    struct.pack_into(">Q", foot, 16, HEADER_AT)
    struct.pack_into(">I", foot, 60, 4)
    foot[ID] = unique
    foot = summed(foot, FOOTER_SUM)

    table, data, at = [NO_BLOCK] * blocks, bytearray(), names_at + len(names)
    for block in sorted({sector // SECTORS for sector in sectors}):
        table[block] = (at + len(data)) // SECTOR
        bitmap, content = bytearray(SECTORS // 8), bytearray(BLOCK)
        for sector in range(block * SECTORS, (block + 1) * SECTORS):
            if sector in sectors:
                within = sector % SECTORS
                bitmap[within // 8] |= 0x80 >> within % 8
                content[within * SECTOR : (within + 1) * SECTOR] = sectors[sector]
        data += bytes(bitmap) + bytes(content)
    image = foot + summed(head, HEADER_SUM) + struct.pack(f">{blocks}I", *table)
    path.write_bytes(image.ljust(names_at, b"\0") + names + bytes(data) + foot)
    return path
