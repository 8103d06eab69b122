# SPDX-License-Identifier: GPL-2.0-or-later
"""A slow disk, or one that hangs, below a disk image: for hdfs_slow.py and hdfs_hedged.py.

    with SlowDisk(image, folder, bytes_per_second=50_000_000) as disk:
        ...               # reads of disk.path are reads of the image at that rate
        disk.hang()       # reads of disk.path wait
        disk.answer()     # until now

disk.path is a file that qemu-storage-daemon exports by FUSE.  Reads of it reach the daemon however
they are made, also by io_uring, if they are made with O_DIRECT.  Who uses the image itself notices
nothing.  Needs root.
"""

import os
import signal
import subprocess
import time

from tools.bench.suite import BenchError
from tools.patience import Patience
from tools.vreadd import stop_process

PROGRAM = "qemu-storage-daemon"
TIMEOUT = 120


class SlowDisk:
    def __init__(self, image, folder, bytes_per_second=0):
        """bytes_per_second: of reads; 0: no limit."""
        self.path = folder / "slow.raw"
        self._log = folder / "slow.log"
        self._image = image
        self._rate = bytes_per_second
        self._process = None

    def __enter__(self):
        self.path.touch()
        try:
            with open(self._log, "wb") as log:
                self._process = subprocess.Popen(
                    ["setpriv", "--pdeathsig", "KILL", *self._command()],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                )  # fmt: skip
            self._wait_until_mounted()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._process:
            self.answer()
            self._process.terminate()
            try:
                self._process.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if os.path.ismount(self.path):
            subprocess.run(["umount", "--lazy", self.path], check=True)
        self.path.unlink(missing_ok=True)

    def hang(self):
        """Returns when the disk answers no more reads."""
        stop_process(self._process.pid)

    def answer(self):
        self._process.send_signal(signal.SIGCONT)

    def _command(self):
        read_only = "read-only=on"
        return [
            PROGRAM,
            *("--object", f"throttle-group,id=limit,x-bps-read={self._rate}"),
            # Without locks: the DataNode's file system is mounted from the image.
            "--blockdev",
            f"file,node-name=file,filename={self._image},locking=off,{read_only}",
            *("--blockdev", f"raw,node-name=disk,file=file,{read_only}"),
            *("--blockdev", f"throttle,node-name=slow,throttle-group=limit,file=disk,{read_only}"),
            *("--export", f"fuse,id=slow,node-name=slow,mountpoint={self.path},writable=off"),
        ]

    def _wait_until_mounted(self):
        patience = Patience(TIMEOUT)
        while not os.path.ismount(self.path):
            if self._process.poll() is not None:
                raise BenchError(f"{PROGRAM} ended: {self._log.read_text(errors='replace')}")
            if patience.is_over():
                raise BenchError(f"{PROGRAM}: no {self.path} within {TIMEOUT} s")
            time.sleep(0.02)
