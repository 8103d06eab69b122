# SPDX-License-Identifier: GPL-2.0-or-later
"""vreadd ends just after it has started a process: the process notices that, and ends, too."""

import socket
import subprocess
import sys

import pytest

from tests.support.daemon import binary
from tests.support.owner import needs_root

# The middle process is in vreadd's place.  This one adopts its child, so the child has a parent all
# the time.  The child keeps both ends of its channels: no channel tells it that vreadd has ended.
ORPHAN = """
import ctypes, os, signal, socket, sys, time
program, kind, count, argument = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
middle = os.fork()
if middle == 0:
    middle = os.getpid()
    pairs = [socket.socketpair(socket.AF_UNIX, kind) for _ in range(count)]
    if os.fork() != 0:
        os._exit(0)
    while os.getppid() == middle:
        time.sleep(0.001)
    high = [os.dup2(s.fileno(), 300 + i) for i, s in enumerate(sum(pairs, ()))]
    for i in range(count):
        os.dup2(300 + 2 * i, 3 + i)
    os.execve(program, [program, *argument], {})
os.waitpid(middle, 0)
child, status = os.wait()
sys.exit(os.waitstatus_to_exitcode(status))
"""


@needs_root
@pytest.mark.parametrize("variant", ["release", "asan"])
@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("vread-parser", socket.SOCK_STREAM, 4),
        ("vread-opener", socket.SOCK_SEQPACKET, 16),
        ("vread-key-agent", socket.SOCK_SEQPACKET, 1),
    ],
)
def test_vreadd_has_ended_before_it_asks(tmp_path, variant, name, kind, count):
    config = tmp_path / "vread.conf"
    config.write_text("# defaults\n")
    arguments = [config] if name == "vread-opener" else []
    program = binary(variant).with_name(name)
    command = [sys.executable, "-c", ORPHAN, program, str(int(kind)), str(count)]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert "vreadd has ended" in done.stderr
