# SPDX-License-Identifier: GPL-2.0-or-later
"""The sockets of another process: their unread bytes, and copies of the sockets."""

import contextlib
import ctypes
import os
import subprocess

PIDFD_GETFD = 438  # the number of the system call, on every architecture


def has_unread(pid):
    """True if a question has arrived that the process has not read."""
    files = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    inodes = {f.removeprefix("socket:[").removesuffix("]") for f in files}
    listed = subprocess.run(["ss", "-xanH"], capture_output=True, text=True, check=True).stdout
    # Fields: type, state, bytes not read, bytes not sent, address, inode, and the other end's.
    ends = [line.split() for line in listed.splitlines()]
    return any(end[5] in inodes and int(end[2]) > 0 for end in ends)


@contextlib.contextmanager
def copies(pid):
    """Keeps all sockets of the process open, even if the process closes them.  A child that vreadd
    has just spawned does the same until it runs its own program."""
    libc = ctypes.CDLL(None, use_errno=True)
    with contextlib.ExitStack() as held:
        process = os.pidfd_open(pid)
        held.callback(os.close, process)
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:"):
                    copy = libc.syscall(PIDFD_GETFD, process, int(fd), 0)
                    assert copy >= 0, os.strerror(ctypes.get_errno())
                    held.callback(os.close, copy)
        yield
