# SPDX-License-Identifier: GPL-2.0-or-later
"""An owner whose file system is XFS; everything else is as in owner.py."""

import subprocess
from pathlib import Path

import pytest

from tests.support.hdfs_dir import POOL, DataDirectory
from tests.support.owner import Owner, wait_until_unmounted

# Options of mkfs.xfs.  Tests need sizes so small that mkfs.xfs does not support them.
VARIANTS = {
    "default": [],
    "larger-log": ["-l", "size=10m"],
    "1k": ["-b", "size=1024", "-m", "reflink=0,rmapbt=0"],
    "16k": ["-b", "size=16384"],
    "large-directory-blocks": ["-b", "size=1024", "-n", "size=8192"],
    "reverse-map": ["-m", "rmapbt=1"],
    "old-features": ["-m", "reflink=0,bigtime=0,inobtcount=0,finobt=0", "-i", "sparse=0"],
    "large-counts": ["-i", "nrext64=1,size=2048"],
    "large-sectors": ["-s", "size=4096"],
    "log-in-stripes": ["-d", "su=64k,sw=2"],
}
# Two are enough for daily work: one with the usual block size, one with several blocks in a page.
QUICK = ("default", "1k")
PARAMS = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in VARIANTS
]


def make_xfs(path, options=(), mib=64):
    with open(path, "wb") as image:
        image.truncate(mib << 20)
    command = ["mkfs.xfs", "--unsupported", "-q", "-f", *options, path]
    subprocess.run(command, check=True, capture_output=True)


class XfsOwner(Owner):
    LATE = ()  # XFS writes after thirty seconds, which is late enough

    def __init__(self, folder, variant="default", mib=64, name="disk"):
        self.variant = variant
        self.path = Path(folder) / f"{name}.raw"
        self.root = Path(folder) / f"{name}.mnt"
        self.root.mkdir()
        self.current = self.root / "data/current" / POOL / "current"
        make_xfs(self.path, VARIANTS[variant], mib)
        self.mount()
        DataDirectory(self.root / "data")
        self.unmount()

    def mount(self, *options):
        done = subprocess.run(
            ["mount", "-t", "xfs", "-o", ",".join(("loop", *options)), self.path, self.root],
            capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            pytest.skip(f"no such mount here: {done.stderr.strip()}")

    def unmount(self):
        # os.path.ismount() does not work on a file system that was shut down.
        if f" {self.root} " in Path("/proc/mounts").read_text():
            subprocess.run(["umount", self.root], check=True, timeout=120)
            wait_until_unmounted(self.path)

    def crash(self, name="crash.raw"):
        """From now on nothing is written.  The file system can only be unmounted."""
        subprocess.run(
            ["xfs_io", "-x", "-c", "shutdown", self.root], check=True, capture_output=True
        )
        return super().crash(name)
