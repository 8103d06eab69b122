# SPDX-License-Identifier: GPL-2.0-or-later
"""Lets other programs run commands in the machines of this process, through a UNIX socket.

    with Gate(socket, {"dom0": host, "client": guest}) as gate:
        subprocess.run([*gate.words("client"), "uname -r"])

words() are the words of enter.py, which passes standard input, output and error and the exit
status.  Whoever starts enter.py must read its output: a machine waits for it.

enter.py sends a line of JSON, {"machine", "command"}, then what it reads; the end of its standard
input is a shutdown.  It gets frames: a kind of one byte (O output, E error, X end), a length of 4
bytes, little endian, and that many bytes.  Those of X are the exit status in decimal digits.
"""

import contextlib
import json
import socketserver
import struct
import sys
import threading
from pathlib import Path

from .paths import LAB, LabError
from .shell import Shell

PIECE = 32 << 10


class Gate:
    def __init__(self, path: Path, machines: dict[str, Shell]) -> None:
        """path: of the socket; short, as paths of sockets are."""
        self.path, self.machines = path, machines
        self._server = _Server(str(path), _Caller)
        self._server.daemon_threads = True
        self._server.gate = self
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> "Gate":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.path.unlink(missing_ok=True)

    def words(self, machine: str) -> list[str]:
        """The program that runs a shell command, its last word, in the machine."""
        enter = str(LAB / "enter.py")
        return [sys.executable, "-S", "-E", enter, str(self.path), machine]


class _Server(socketserver.ThreadingUnixStreamServer):
    gate: Gate


class _Caller(socketserver.StreamRequestHandler):
    """One enter.py."""

    def handle(self) -> None:
        self._sending = threading.Lock()
        try:
            asked = json.loads(self.rfile.readline())
            machine = self.server.gate.machines[asked["machine"]]
            command = machine.popen(
                asked["command"],
                sink=lambda data: self._send(b"O", data),
                error_sink=lambda data: self._send(b"E", data),
            )
        except (LabError, KeyError, ValueError) as error:
            self._end(1, f"lab: {error!r}\n")
            return
        threading.Thread(target=self._feed, args=(command,), daemon=True).start()
        try:
            self._end(command.wait().rc)
        except LabError as error:
            self._end(1, f"lab: {error}\n")

    def _feed(self, command) -> None:
        """Passes standard input.  It ends, too, when the caller is gone."""
        with contextlib.suppress(LabError, OSError, ValueError, TimeoutError):
            while data := self.rfile.read1(PIECE):
                command.write(data)
            command.close_stdin()

    def _end(self, status: int, said: str = "") -> None:
        self._send(b"E", said.encode())
        self._send(b"X", str(status).encode())

    def _send(self, kind: bytes, data: bytes) -> None:
        with self._sending, contextlib.suppress(OSError):
            self.wfile.write(kind + struct.pack("<I", len(data)) + data)
