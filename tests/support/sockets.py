# SPDX-License-Identifier: GPL-2.0-or-later
"""What waits in a process's UNIX sockets, as the kernel tells."""

import os
import subprocess


def has_unread(pid):
    """Whether a question has come that it has not read."""
    files = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    inodes = {f.removeprefix("socket:[").removesuffix("]") for f in files}
    listed = subprocess.run(["ss", "-xanH"], capture_output=True, text=True, check=True).stdout
    # Each: type, state, bytes not read, bytes not sent, its address and inode, the other end's.
    ends = [line.split() for line in listed.splitlines()]
    return any(end[5] in inodes and int(end[2]) > 0 for end in ends)
