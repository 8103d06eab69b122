# SPDX-License-Identifier: GPL-2.0-or-later
"""A dom0 shell on this program's terminal, or fed from a pipe."""

import os
import select
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Callable

from .channel import Command
from .host import XenHost

LEAVE = b"\x1d"  # ctrl-]


def writer(stream) -> Callable[[bytes], None]:
    """A sink that passes bytes on to a text stream's file at once."""

    def write(data: bytes) -> None:
        stream.buffer.write(data)
        stream.buffer.flush()

    return write


def shell(host: XenHost) -> int:
    """Runs until the shell ends; its exit status."""
    if sys.stdin.isatty():
        return _interactive(host)
    return _piped(host)


def _interactive(host: XenHost) -> int:
    print(f"dom0 of {host.name}; leave with exit or ctrl-] (the host stops then)")
    columns, rows = shutil.get_terminal_size()
    command = host.popen(["bash", "-i"], sink=writer(sys.stdout), terminal=(rows, columns))
    signal.signal(signal.SIGWINCH, lambda *_: _resized(command))
    saved = termios.tcgetattr(sys.stdin)
    tty.setraw(sys.stdin)
    try:
        return _pump(command)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, saved)
        print()


def _pump(command: Command) -> int:
    while command.running:
        if not select.select([sys.stdin], [], [], 0.1)[0]:
            continue
        data = os.read(sys.stdin.fileno(), 4096)
        if not data or LEAVE in data:
            command.kill()
            return 0
        command.write(data)
    return command.wait().rc


def _piped(host: XenHost) -> int:
    command = host.popen(["bash"], sink=writer(sys.stdout), error_sink=writer(sys.stderr))
    while command.running and (data := os.read(sys.stdin.fileno(), 1 << 16)):
        command.write(data)
    command.close_stdin()
    return command.wait().rc


def _resized(command: Command) -> None:
    columns, rows = shutil.get_terminal_size()
    command.resize(rows, columns)
