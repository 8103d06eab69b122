# SPDX-License-Identifier: GPL-2.0-or-later
"""An owner whose disk is QEMU's: the ext4 lies in a qcow2 or VHD, which a qemu-storage-daemon has
open for writing, as the QEMU of a domain would.  This machine's kernel mounts the exported disk.

    with QemuOwner(tmp_path, "qcow2") as owner, owner.blockctl() as blocks: ...
"""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.formats import CONVERT, overlay, run
from tests.support.owner import Owner
from tests.support.waiting import eventually
from tools.vreadd import DataDirs


def whole(*options):
    def make(raw, path):
        run(*CONVERT, "-f", "raw", "-O", "qcow2", *options, raw, path)

    return make


def over_compressed(raw, path):
    """As cloud images are used: the first content is compressed and lies in a backing file."""
    base = path.with_name("base.qcow2")
    run(*CONVERT, "-f", "raw", "-O", "qcow2", "-c", raw, base)
    overlay(path, base.name, "qcow2")


def dynamic_vhd(raw, path):
    run(*CONVERT, "-f", "raw", "-O", "vpc", "-o", "force_size=on", raw, path)


# Name: QEMU's driver, the format in vread.conf(5), and the function that makes it from a raw image.
KINDS = {
    "qcow2": ("qcow2", "qcow2", whole()),
    "qcow2-4k": ("qcow2", "qcow2", whole("-o", "cluster_size=4k")),
    "qcow2-over-compressed": ("qcow2", "qcow2", over_compressed),
    "vhd-dynamic": ("vpc", "vhd", dynamic_vhd),
}


class QemuOwner(Owner):
    def __init__(self, folder, kind, variant="default", mib=64):
        super().__init__(folder, variant, mib)
        self.driver, prefix, make = KINDS[kind]
        self.file = Path(folder) / "disk.image"
        make(self.path, self.file)
        self.path.unlink()
        self.spec = f"{prefix}:{self.file}"
        self.path = Path(folder) / "disk.export"
        self.path.touch()
        self.mount_options = "discard"
        self.daemon = None

    def served(self):
        return DataDirs(self.spec, ["/data"])

    def __enter__(self):
        self.start()
        try:
            return super().__enter__()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        try:
            super().__exit__()
        finally:
            self.stop()

    def start(self):
        if not os.path.exists("/dev/fuse"):
            pytest.skip("no FUSE here")
        size = self.path.stat().st_size
        self.daemon = subprocess.Popen(
            [
                "qemu-storage-daemon",
                "--blockdev", f"file,node-name=file,filename={self.file},discard=unmap",
                "--blockdev", f"{self.driver},node-name=disk,file=file,discard=unmap",
                "--export", f"fuse,id=x,node-name=disk,mountpoint={self.path},writable=on",
            ],
        )  # fmt: skip

        def exported():
            assert self.daemon.poll() is None, "qemu-storage-daemon ended"
            return self.path.stat().st_size != size

        eventually(exported)

    def stop(self):
        self.daemon.send_signal(signal.SIGTERM)
        assert self.daemon.wait(300) == 0
