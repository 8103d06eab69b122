# SPDX-License-Identifier: GPL-2.0-or-later
"""A Java program that stays up in a guest: each line it reads is a command, which it answers with a
line of JSON.  On an emulated machine the start of a JVM takes longer than most commands.
"""

import json
import queue
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tools.hdfs import hadoop_class_path
from tools.patience import Patience

from .cache import cached, key_of
from .guest import Guest
from .paths import LAB, LabError
from .product import PLUGIN

TIMEOUT = 600.0
POLL = 0.5


class LineProgram:
    def __init__(self, guest: Guest, name: str, command: str, running: int | None = None) -> None:
        """Starts the command.  running: the `number` of a program that was up when the guest's
        host was saved, and is used instead."""
        self._main = name
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._partial = b""
        if running is None:
            self._process = guest.popen(command, sink=self._received)
        else:
            self._process = guest.adopt(running, command, sink=self._received)

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.close()

    @property
    def number(self) -> int:
        """For the argument `running`, after the guest's host is restored."""
        return self._process.number

    @property
    def complaints(self) -> str:
        """The end of the program's standard error."""
        return self._process.stderr[-4000:].decode(errors="replace")

    def say(self, line: str) -> None:
        """Sends a command; hear() waits for the answer."""
        self._process.write(line.encode() + b"\n")

    @property
    def answered(self) -> bool:
        """True if hear() would not wait."""
        running = self._process.running
        return not self._lines.empty() or not running

    def hear(self, timeout: float = TIMEOUT) -> dict:
        patience = Patience(timeout)
        while True:
            running = self._process.running
            try:
                return json.loads(self._lines.get(timeout=POLL))
            except queue.Empty:
                if not running:
                    raise LabError(f"{self._main} ended:\n{self.complaints}") from None
                if patience.is_over():
                    what = f"{self._main}: no answer within {timeout:.0f} s"
                    raise LabError(f"{what}:\n{self.complaints}") from None

    def close(self) -> None:
        """Ends its standard input and waits: then all that it writes at its end is written."""
        if self._process.running:
            self._process.close_stdin()
            self._process.wait(TIMEOUT)

    def _received(self, data: bytes) -> None:
        *whole, self._partial = (self._partial + data).split(b"\n")
        for line in whole:
            self._lines.put(line)


class JavaProgram(LineProgram):
    """A class of a jar, with Hadoop's class path."""

    def __init__(
        self,
        guest: Guest,
        main: str,
        jar: str,
        options: str = "",
        heap: str = "64m",
        running: int | None = None,
    ) -> None:
        """jar: its path in the guest.  running: as LineProgram's."""
        environment = f"HADOOP_CLASSPATH={PLUGIN}:{jar} HADOOP_HEAPSIZE_MAX={heap}"
        command = f'{environment} HADOOP_OPTS="{options}" exec hdfs {main}'
        super().__init__(guest, main, command, running)


class WarmShell(JavaProgram):
    """`hdfs dfs` without the start of a JVM: java/WarmShell.java."""

    JAR = "/usr/share/java/warm-shell.jar"

    def __init__(self, guest: Guest, running: int | None = None) -> None:
        super().__init__(guest, "WarmShell", self.JAR, running=running)

    @staticmethod
    def files() -> dict[str, Path]:
        return {WarmShell.JAR: compiled("warm-shell", [LAB / "java" / "WarmShell.java"])}

    def run(self, arguments: str, properties: dict[str, str] | None = None) -> dict:
        """status; bytes and sha256 of standard output; read: all bytes read of HDFS so far."""
        self.start(arguments, properties)
        return self.hear()

    def start(self, arguments: str, properties: dict[str, str] | None = None) -> None:
        defined = [f"-D {name}={value}" for name, value in (properties or {}).items()]
        self.say(" ".join([*defined, arguments]))


def compiled(stem: str, sources: Iterable[Path]) -> Path:
    """The jar of these sources, compiled against Hadoop."""
    sources = sorted(sources)
    key = key_of([path.read_bytes() for path in sources])
    return cached(stem, ".jar", key, lambda path: _compile(sources, path))


def _compile(sources: list[Path], jar: Path) -> None:
    with tempfile.TemporaryDirectory() as classes:
        for command in (
            ["javac", "-nowarn", "-d", classes, "-cp", f"{hadoop_class_path()}/*", *sources],
            ["jar", "cf", jar, "-C", classes, "."],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise LabError(f"{command[0]}, {sources[0]}: {done.stderr.strip()}")
