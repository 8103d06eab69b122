# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk that does not answer, for tests with a vreadd on this machine.

disk = HangingDisk(tmp_path, image)
daemon = Daemon(tmp_path, image, wrapper=disk.wrapper)
disk.hang()
eventually(disk.reads)
disk.let_pass()  # one of the reads that wait
os.close(disk.answer())
"""

import os
import subprocess
from pathlib import Path

MANY = 4096  # more reads than ever wait


class HangingDisk:
    """Reads of the image of an Image wait between hang() and answer()."""

    def __init__(self, folder, image):
        self.open_gate = None
        self.gate, self.log = folder / "gate", folder / "hung-reads"
        library = folder / "hanging_disk.so"
        source = Path(__file__).with_name("hanging_disk.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        self.wrapper = [
            "env",
            f"LD_PRELOAD={library}",
            "ASAN_OPTIONS=verify_asan_link_order=0",
            f"HANGING_DISK_GATE={self.gate}",
            f"HANGING_DISK_IMAGE={image.path}",
            f"HANGING_DISK_LOG={self.log}",
        ]

    def hang(self):
        os.mkfifo(self.gate)

    def reads(self):
        """How many reads have begun to wait."""
        return len(self.log.read_bytes()) if self.log.exists() else 0

    def let_pass(self, reads=1):
        """Lets reads through, those first that have waited longest."""
        if self.open_gate is None:
            self.open_gate = os.open(self.gate, os.O_RDWR)
        os.write(self.open_gate, bytes(reads))

    def answer(self):
        self.let_pass(MANY)
        self.gate.unlink()
        open_gate, self.open_gate = self.open_gate, None
        return open_gate  # reads that are on their way to the FIFO get through while this is open
