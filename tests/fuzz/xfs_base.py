# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes an XFS as it lies in its image while its owner has it mounted, for fuzz_xfs.c.

    unshare -m python -m tests.fuzz.xfs_base IMAGE OPTION ...

Only the kernel can write the log of an XFS.  So this program mounts the XFS, in a mount namespace
that ends with the program, and copies the mounted image.  Times in the image are current.  Places
are the same in every run.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.hdfs_dir import POOL, DataDirectory

UUID = "11111111-2222-3333-4444-555555555555"
MIB = 20


def shred(path, pieces):
    """Writes a file of so many extents that they need a tree."""
    with open(path, "wb") as file:
        for i in range(pieces):
            file.seek(i * 16384)
            file.write(b"s" * 4096)


def sync(folder):
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def fill(root):
    directory = DataDirectory(root / "data")
    directory.add(1, 3000)
    current = root / "data/current" / POOL / "current"
    folder = current / "finalized/subdir0/subdir0"
    shred(folder / "blk_2", 120)
    (root / "many").mkdir()
    for i in range(200):
        (root / "many" / f"a_file_with_a_long_name_{i}").touch()
    yield  # unmounted and mounted: later changes are only in the log
    directory.add(3, 5000)
    sync(folder)
    directory.add(4, 700, finalized=False)
    for name in ("blk_3", "blk_3_1001.meta"):
        (folder / name).unlink()
    shred(folder / "blk_5", 40)
    for i in range(0, 200, 7):
        (root / "many" / f"a_file_with_a_long_name_{i}").unlink()
    (root / "link").symlink_to("/" * 400)  # in a block of its own
    sync(root)
    sync(root / "many")
    sync(folder)


def main():
    image, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        disk, root = Path(scratch, "disk"), Path(scratch, "root")
        root.mkdir()
        with open(disk, "wb") as file:
            file.truncate(MIB << 20)
        make = ["mkfs.xfs", "--unsupported", "-q", "-m", f"uuid={UUID}", *options, disk]
        subprocess.run(make, check=True, capture_output=True)
        steps = fill(root)
        for _ in range(2):
            subprocess.run(["mount", "-t", "xfs", "-o", "loop", disk, root], check=True)
            try:
                next(steps, None)
                shutil.copyfile(disk, image)
            finally:
                subprocess.run(["umount", root], check=True)


if __name__ == "__main__":
    main()
