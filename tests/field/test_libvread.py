# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that use libvread and are stopped for long, as users of other clients reported."""

import mmap
import os
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

from tests.field.reading_threads import PIECE
from tests.libvread.backend import REQ_PROD, RSP_PROD
from tests.support.clock import Clock
from tests.support.hdfs_dir import DataDirectory
from tests.support.waiting import eventually
from tools.images import make_datanode_image, write_layout
from tools.vreadd import Vreadd, stop_process

REPOSITORY = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("reading_threads.py")
LIBRARY = REPOSITORY / "build/release/libvread.so.1"
THREADS = 12
LONG = 10  # s; a call's timeout is 2 s


def ring_of(process):
    """The ring of a process that has one connection of one queue."""
    for entry in Path(f"/proc/{process.pid}/fd").iterdir():
        if os.readlink(entry).startswith("/memfd:vread-rings"):
            with open(entry, "rb") as file:
                return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    raise AssertionError("no ring")


def index(ring, offset):
    return struct.unpack_from("<I", ring, offset)[0]


def test_process_that_was_stopped_while_its_answers_came(tmp_path):
    """A container is frozen, or a virtual machine paused, while its threads wait for answers, for
    longer than their timeout.  The answers are there when it goes on: nobody gives up."""
    directory = DataDirectory(tmp_path / "data")
    block = directory.add(1073741825, THREADS * PIECE)
    image = make_datanode_image([directory.path], tmp_path / "dn.raw")
    write_layout(image, tmp_path / "layout.json")
    clock = Clock(tmp_path / "clock")
    with Vreadd({"dn1": (image.path, tmp_path / "layout.json")}) as daemon:
        name = [block.pool, block.id, block.genstamp, block.storage]
        command = [sys.executable, PROGRAM, LIBRARY, daemon.endpoint, *name, THREADS]
        with subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | clock.environment | {"PYTHONPATH": str(REPOSITORY)},
        ) as program:
            assert program.stdout.readline() == "open\n"
            with ring_of(program) as ring:
                asked = index(ring, REQ_PROD) + THREADS
                daemon.suspend()
                program.stdin.write("\n")
                program.stdin.flush()
                eventually(lambda: index(ring, REQ_PROD) == asked, what="all requests")
                stop_process(program.pid)
                os.kill(daemon.pid, signal.SIGCONT)
                eventually(lambda: index(ring, RSP_PROD) == asked, what="all answers")
            clock.advance(LONG)
            os.kill(program.pid, signal.SIGCONT)
            lines, _ = program.communicate()
    content = block.content()
    pieces = [content[n * PIECE : (n + 1) * PIECE] for n in range(THREADS)]
    assert lines.split("\n")[:-1] == [str(zlib.crc32(piece)) for piece in pieces]
