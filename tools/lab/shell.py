# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands in an emulated machine, by its agent.  Hosts (host.py) and guests of both kinds
(guest.py, kvm.py) are such machines."""

from collections.abc import Callable, Sequence
from pathlib import Path

from .channel import Channel, Command, Result

COMMAND_TIMEOUT = 180.0  # ten times what it takes on a quiet machine with two cores


class Shell:
    """A machine has its agent's channel."""

    shell = "sh"  # that takes commands that are strings
    _channel: Channel | None

    def run(
        self,
        command: str | Sequence[str],
        timeout: float = COMMAND_TIMEOUT,
        stdin: bytes | None = None,
    ) -> Result:
        """Runs a command: a string for the shell, or a list of arguments."""
        return self._channel.run(command, shell=self.shell, timeout=timeout, stdin=stdin)

    def popen(
        self,
        command: str | Sequence[str],
        timeout: float | None = None,
        *,
        sink: Callable[[bytes], None] | None = None,
        error_sink: Callable[[bytes], None] | None = None,
        terminal: tuple[int, int] | None = None,
    ) -> Command:
        """Starts a command and returns at once."""
        return self._channel.popen(
            command,
            shell=self.shell,
            timeout=timeout,
            sink=sink,
            error_sink=error_sink,
            terminal=terminal,
        )

    def text(self, command: str | Sequence[str], timeout: float = COMMAND_TIMEOUT) -> str:
        """Standard output of a command that must succeed."""
        return self.run(command, timeout).check().stdout.decode()

    def dmesg(self) -> str:
        return self.run("dmesg").check().stdout.decode(errors="replace")

    def put(self, source: Path, path: str) -> None:
        """Copies a file into the machine, with its mode."""
        mode = f"{source.stat().st_mode & 0o777:o}"
        script = 'mkdir -p "$(dirname "$1")" && cat > "$1" && chmod "$2" "$1"'
        self.run(["sh", "-c", script, "put", path, mode], stdin=source.read_bytes()).check()

    def get(self, path: str, target: Path) -> None:
        """Copies a file out of the machine."""
        target.write_bytes(self.run(["cat", path]).check().stdout)
