# SPDX-License-Identifier: GPL-2.0-or-later
"""Users of this host at the local port, for tests that root runs.

with as_user(1001, daemon.socket) as path:
    front = LocalFront(path)       # of the user 1001, also after the with
"""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from tests.support.owner import needs_root

__all__ = ["as_user", "folder_of", "needs_root"]


@contextlib.contextmanager
def as_user(uid, path):
    """Within the with the process is the user, and the path that is yielded leads to the socket.
    The mode of the socket must let the user connect.  The folders above need not."""
    fd = os.open(path, os.O_PATH)
    try:
        os.seteuid(uid)
        try:
            yield f"/proc/self/fd/{fd}"
        finally:
            os.seteuid(0)
    finally:
        os.close(fd)


@contextlib.contextmanager
def folder_of(account):
    """A folder of the user (of the pwd module), for sockets and state, that all users may search.
    pytest's own folders are root's alone."""
    path = Path(tempfile.mkdtemp(prefix="vread-user-"))
    os.chown(path, account.pw_uid, account.pw_gid)
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)
