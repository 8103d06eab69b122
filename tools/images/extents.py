# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the bytes of a file lie in an image, as debugfs reports it.  Tests and benches call it.

It does not use vRead's own ext4 code.  So tests can compare the two, and benches can read the same
bytes without vRead.
"""

import re
from dataclasses import dataclass

from tools.images.datanode import ImageError, _run

# Level/levels, entry/entries, first - last logical block, first - last physical block, count.
LEAF = re.compile(
    r"^\s*(\d+)/\s*(\d+)\s+\d+/\s*\d+\s+(\d+)\s*-\s*(\d+)\s+(\d+)\s*-\s*(\d+)\s+(\d+)(\s+Uninit)?\s*$"
)


@dataclass(frozen=True)
class Extent:
    logical: int  # bytes from the file's start
    physical: int  # bytes from the image's start
    length: int


def file_extents(image, path, size):
    """The extents of the first `size` bytes of a file; a hole or unwritten part is an error."""
    device = f"{image.path}?offset={image.offset}"
    listing = _run(["debugfs", "-R", f"dump_extents -l {path}", device])
    found = []
    for line in listing.splitlines():
        match = LEAF.match(line)
        if not match or match[1] != match[2]:
            continue
        first, last, physical = int(match[3]), int(match[4]), int(match[5])
        if match[8]:
            raise ImageError(f"{path}: unwritten extent at block {first}")
        unit = image.block_size
        found.append(
            Extent(first * unit, image.offset + physical * unit, (last - first + 1) * unit)
        )
    return _cut(path, sorted(found, key=lambda extent: extent.logical), size)


def _cut(path, extents, size):
    """Merges adjoining extents and cuts the last one to the file's size.  A gap is an error."""
    merged = []
    position = 0
    for extent in extents:
        if position >= size:
            break
        if extent.logical != position:
            raise ImageError(f"{path}: hole at byte {position}")
        length = min(extent.length, size - position)
        if merged and merged[-1].physical + merged[-1].length == extent.physical:
            last = merged.pop()
            merged.append(Extent(last.logical, last.physical, last.length + length))
        else:
            merged.append(Extent(position, extent.physical, length))
        position += length
    if position < size:
        raise ImageError(f"{path}: extents end at byte {position} of {size}")
    return merged
