# SPDX-License-Identifier: GPL-2.0-or-later
"""Mounts of disk images that vanish when this program ends.  Tests, benches and live clusters
(tools/hdfs) use them.

    with MountSpace() as space:
        space.mount_image("disk.raw", "/somewhere/disk", offset=0, length=1 << 30)
        subprocess.run([*space.enter, "ls", "/somewhere/disk"])
        os.listdir(space.view("/somewhere/disk"))

The mounts are in a mount namespace that one small process keeps open.  That process ends when this
program's end of its pipe closes, however this program ends.  When the last process in the namespace
has ended, the namespace, its mounts and their loop devices vanish.  Other processes see the mounts
only through view().  Needs root.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path

from tools.images.datanode import ImageError, _run

UNMOUNT_TIMEOUT = 20
# A new namespace also has all mounts that exist by now, and would keep their images in use after
# their owners unmounted them.  $1: the folder below which others mount images for a moment.
KEEP = """
mounts=$(cat /proc/self/mounts)
printf '%s\\n' "$mounts" | while read -r device point rest; do
    case $device:$point in /dev/loop*:"$1"/*) umount --lazy "$point" 2>/dev/null ;; esac
done
exec cat
"""


class MountSpace:
    def __init__(self):
        self._keeper = None

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, *_):
        self.close()

    def open(self):
        if os.geteuid() != 0:
            raise ImageError("mounting an image needs root")
        keep = ["unshare", "--mount", "--propagation", "private"]
        others = os.path.realpath(tempfile.gettempdir())
        self._keeper = subprocess.Popen(
            [*keep, "sh", "-c", KEEP, "sh", others], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        # The echo comes from the new namespace: from now on mounts in it do not show outside.
        self._keeper.stdin.write(b"\n")
        self._keeper.stdin.flush()
        if self._keeper.stdout.readline() != b"\n":
            self.close()
            raise ImageError(f"{' '.join(keep)}: cannot create a mount namespace")

    def close(self):
        """Mounts that are left vanish when the last process in the namespace has ended."""
        if self._keeper:
            self._keeper.stdin.close()
            self._keeper.stdout.close()
            self._keeper.wait()
            self._keeper = None

    @property
    def enter(self):
        """The words before a command that is to see the mounts; its paths must be absolute."""
        return ["nsenter", f"--mount=/proc/{self._keeper.pid}/ns/mnt"]

    def view(self, path):
        """The path by which this process finds a path of the namespace."""
        return Path(f"/proc/{self._keeper.pid}/root{Path(path).absolute()}")

    def mount_image(self, image, mount_point, offset, length, kind="ext4"):
        """Mounts the file system at [offset, offset + length) of an image file, read-write, by a
        loop device."""
        options = f"loop,offset={offset},sizelimit={length}"
        image, mount_point = Path(image).resolve(), Path(mount_point).absolute()
        mount_point.mkdir(parents=True, exist_ok=True)
        _run([*self.enter, "mount", "-t", kind, "-o", options, str(image), str(mount_point)])

    def unmount(self, mount_point):
        """Unmounts: afterwards the file system is clean and its loop device is free."""
        command = [*self.enter, "umount", str(Path(mount_point).absolute())]
        deadline = time.monotonic() + UNMOUNT_TIMEOUT
        while True:
            try:
                return _run(command)
            except ImageError as error:
                # Daemons that just ended may still be closing files.
                if "busy" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
