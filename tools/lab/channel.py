# SPDX-License-Identifier: GPL-2.0-or-later
"""The controller's end of the protocol of agent/frame.h.

host.py has a Channel to the agent in dom0, guest.py one to the agent in a
guest.  The owner passes received bytes to feed() and gives the Channel a
function that sends bytes.  So a Channel works over dom0's port, and also over a
command in dom0 that is joined to a guest's vchan.  Any thread may call any
method, but the thread that calls feed() must never wait for a Command.
"""

import re
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tools.patience import Patience

from .paths import LabError

VERSION = 1
FRAME_MAX = 64 << 10
WINDOW = 256 << 10
HEADER = struct.Struct("<IIB3x")
HELLO = HEADER.pack(4, 0, ord("H")) + struct.pack("<I", VERSION)  # an agent's first words
RUN = struct.Struct("<IIHH")
EXIT = struct.Struct("<III")
FLAG_PTY = 1
TIMED_OUT, STUCK = 1, 2

# The agent enforces a command's time limit.  This long after the limit the agent itself is stuck.
AGENT_GRACE = 30.0
# The longest a command may leave its standard input unread.
STALL = 120.0
SIGKILL = 9


@dataclass(frozen=True)
class Result:
    rc: int
    stdout: bytes
    stderr: bytes
    command: str

    @property
    def output(self) -> bytes:
        return self.stdout + self.stderr

    def check(self) -> "Result":
        if self.rc:
            raise CommandFailed(self)
        return self


class CommandFailed(LabError):
    def __init__(self, result: Result, what: str = "") -> None:
        what = what or f"exit status {result.rc}"
        text = result.output[-4000:].decode(errors="replace").strip()
        super().__init__(f"{result.command}: {what}\n{text}".rstrip())
        self.result = result


class CommandTimeout(CommandFailed):
    """The command's time was up; it was killed with its session."""


class CommandStuck(CommandTimeout):
    """The command's time was up and SIGKILL did not end it: it hangs in the kernel."""


class ChannelClosed(LabError):
    """The machine at the other end is gone."""


class Command:
    """A command that runs in an emulated machine."""

    def __init__(self, channel: "Channel", number: int, text: str, timeout: float | None) -> None:
        self._channel, self.number, self._text = channel, number, text
        self._patience = None if timeout is None else Patience(timeout + AGENT_GRACE)
        self._timeout = timeout
        self._changed = threading.Condition()
        self._output = {"O": bytearray(), "E": bytearray()}
        self._sinks: dict[str, Callable[[bytes], None] | None] = {}
        self._unacknowledged = 0
        self._exit: tuple[int, int, int] | None = None
        self._lost: Exception | None = None
        self.on_end: Callable[[], None] = lambda: None

    @property
    def stdout(self) -> bytes:
        """What the command has written so far."""
        with self._changed:
            return bytes(self._output["O"])

    @property
    def stderr(self) -> bytes:
        with self._changed:
            return bytes(self._output["E"])

    @property
    def running(self) -> bool:
        with self._changed:
            return self._exit is None and self._lost is None

    def wait(self, timeout: float | None = None) -> Result:
        """Waits for the result.  CommandTimeout: its time is up; TimeoutError: `timeout` is."""
        self._wait_for(lambda: self._exit is not None, timeout)
        status, flags, pid = self._exit
        result = Result(status, self.stdout, self.stderr, self._text)
        if flags & STUCK:
            raise CommandStuck(result, f"process {pid} survives SIGKILL after {self._timeout} s")
        if flags & TIMED_OUT:
            raise CommandTimeout(result, f"killed after {self._timeout} s")
        return result

    def wait_output(self, pattern: str, timeout: float) -> re.Match:
        """Waits until its standard output or standard error matches the pattern."""
        found = None

        def matches() -> bool:
            nonlocal found
            text = bytes(self._output["O"]) + b"\n" + bytes(self._output["E"])
            found = re.search(pattern.encode(), text)
            return bool(found) or self._exit is not None

        self._wait_for(matches, timeout)
        if not found:
            raise CommandFailed(self.wait(), f"ended without {pattern!r} in its output")
        return found

    def write(self, data: bytes) -> None:
        """Writes to its standard input; waits while the command does not read, at most STALL."""
        view = memoryview(data)
        while view:
            self._wait_for(self._takes_input, STALL)
            if self._done():
                return
            part, view = view[:FRAME_MAX], view[FRAME_MAX:]
            with self._changed:
                self._unacknowledged += len(part)
            self._channel.send("I", self.number, bytes(part))

    def close_stdin(self) -> None:
        if self.running:
            self._channel.send("I", self.number, b"")

    def kill(self, signal: int = SIGKILL) -> None:
        """Sends a signal to every process of its session."""
        if self.running:
            self._channel.send("K", self.number, struct.pack("<I", signal))

    def resize(self, rows: int, columns: int) -> None:
        self._channel.send("W", self.number, struct.pack("<HH", rows, columns))

    def _takes_input(self) -> bool:
        return self._unacknowledged + FRAME_MAX <= WINDOW or self._done()

    def _done(self) -> bool:
        return self._exit is not None or self._lost is not None

    def _wait_for(self, ready: Callable[[], bool], timeout: float | None = None) -> None:
        patience = None if timeout is None else Patience(timeout)
        with self._changed:
            while not ready():
                if self._lost:
                    raise self._lost
                if self._patience is not None and self._patience.is_over():
                    self._channel.stuck(f"no answer to {self._text!r}")
                if patience is not None and patience.is_over():
                    raise TimeoutError(f"{self._text}: not within {timeout} s")
                self._changed.wait(0.5)

    def _received(self, kind: str, data: bytes) -> None:
        sink = self._sinks.get(kind)
        if sink:
            sink(data)
            return
        with self._changed:
            if kind in self._output:
                self._output[kind] += data
            elif kind == "A":
                self._unacknowledged -= struct.unpack("<I", data)[0]
            elif kind == "X":
                self._exit = EXIT.unpack(data)
            self._changed.notify_all()
        if kind == "X":
            self.on_end()

    def _channel_closed(self, reason: Exception) -> None:
        with self._changed:
            self._lost = reason
            self._changed.notify_all()
        self.on_end()


class Channel:
    def __init__(
        self, send: Callable[[bytes], None], stuck: Callable[[str], None], numbered: int = 0
    ) -> None:
        """stuck: called when the agent does not answer; must raise.  numbered: how many commands an
        earlier channel gave to the same agent."""
        self._send, self.stuck = send, stuck
        self._lock = threading.Lock()  # guards the attributes below; never held during a send
        self._sending = threading.Lock()  # keeps frames whole; a send may wait for feed()
        self._ready = threading.Event()
        self._input = bytearray()
        self._commands: dict[int, Command] = {}
        self.numbered = numbered  # commands so far
        self._closed: Exception | None = None
        if numbered:
            self._ready.set()

    def wait_ready(self, seconds: float) -> bool:
        """True if the agent said hello within that time.  Raises if the agent is gone."""
        ready = self._ready.wait(seconds)
        if self._closed:
            raise self._closed
        return ready

    def popen(
        self,
        command: str | Sequence[str],
        *,
        shell: str,
        timeout: float | None = None,
        sink: Callable[[bytes], None] | None = None,
        error_sink: Callable[[bytes], None] | None = None,
        terminal: tuple[int, int] | None = None,
    ) -> Command:
        """Starts a command: a string for the shell, or arguments.  With `sink`
        its output goes there as it comes, on the thread that calls feed()."""
        arguments = [shell, "-c", command] if isinstance(command, str) else list(command)
        rows, columns = terminal or (0, 0)
        body = RUN.pack(
            int((timeout or 0) * 1000), FLAG_PTY if terminal else 0, rows, columns
        ) + b"".join(a.encode() + b"\0" for a in arguments)
        if len(body) > FRAME_MAX:
            raise LabError("command line too long; put it in a file or on standard input")
        with self._lock:
            if self._closed:
                raise self._closed
            self.numbered += 1
            text = command if isinstance(command, str) else " ".join(command)
            started = Command(self, self.numbered, text, timeout)
            started._sinks = {"O": sink, "E": error_sink}
            self._commands[started.number] = started
        self.send("R", started.number, body)
        return started

    def adopt(self, number: int, text: str, sink: Callable[[bytes], None] | None = None) -> Command:
        """Returns the command of that number, which an earlier channel to the agent started."""
        with self._lock:
            adopted = Command(self, number, text, None)
            adopted._sinks = {"O": sink}
            self._commands[number] = adopted
        return adopted

    def run(
        self,
        command: str | Sequence[str],
        *,
        shell: str,
        timeout: float,
        stdin: bytes | None = None,
    ) -> Result:
        started = self.popen(command, shell=shell, timeout=timeout)
        if stdin:
            started.write(stdin)
        started.close_stdin()
        return started.wait()

    def send(self, kind: str, number: int, body: bytes) -> None:
        frame = HEADER.pack(len(body), number, ord(kind)) + body
        with self._sending:
            if self._closed:
                raise self._closed
            self._send(frame)

    def feed(self, data: bytes) -> None:
        self._input += data
        while len(self._input) >= HEADER.size:
            length, number, kind = HEADER.unpack_from(self._input)
            end = HEADER.size + length
            if len(self._input) < end:
                return
            body = bytes(self._input[HEADER.size : end])
            del self._input[:end]
            self._dispatch(number, chr(kind), body)

    def close(self, reason: str) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = ChannelClosed(reason)
            commands = list(self._commands.values())
        self._ready.set()
        for command in commands:
            command._channel_closed(self._closed)

    def _dispatch(self, number: int, kind: str, body: bytes) -> None:
        if kind == "H":
            (version,) = struct.unpack("<I", body)
            if version != VERSION:
                self.close(f"agent speaks protocol {version}, not {VERSION}")
            self._ready.set()
            return
        with self._lock:
            command = self._commands.get(number)
            if kind == "X":
                self._commands.pop(number, None)
        if command:
            command._received(kind, body)
