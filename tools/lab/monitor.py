# SPDX-License-Identifier: GPL-2.0-or-later
"""The emulator's monitor.  By it host.py saves and restores a machine, and tests plug and unplug
devices.  The memory of a machine that is saved is a file (qemu.Image), which the monitor does not
touch."""

import json
import shlex
import socket
from pathlib import Path

from .paths import LabError

TIMEOUT = 300.0


class Monitor:
    def __init__(self) -> None:
        self._ours, self.theirs = socket.socketpair()
        self._greeted = False
        self._ours.settimeout(TIMEOUT)
        self._lines = self._ours.makefile("rb")

    def close(self) -> None:
        for end in (self._lines, self._ours, self.theirs):
            end.close()

    def ask(self, command: str, **arguments) -> object:
        """Carries out one command of QMP, and returns its answer.  LabError: it failed."""
        if not self._greeted:
            self._ask("qmp_capabilities")
        self._greeted = True
        return self._ask(command, **arguments)

    def wait_event(self, name: str) -> dict:
        """Waits for an event that comes after the last command."""
        return self._event(name)

    def save(self, devices: Path) -> None:
        """Stops the machine and writes its processor and devices to the file `devices`."""
        self._prepare()
        self._ask("stop")
        self._ask("migrate", uri=f"exec:cat >{shlex.quote(str(devices))}")
        self._wait(devices)

    def restore(self, devices: Path) -> None:
        self._prepare()
        self._ask("migrate-incoming", uri=f"exec:cat {shlex.quote(str(devices))}")
        self._wait(devices)
        self._ask("cont")  # it was stopped when it was saved

    def _prepare(self) -> None:
        names = ("events", "x-ignore-shared")
        capabilities = [{"capability": name, "state": True} for name in names]
        self.ask("migrate-set-capabilities", capabilities=capabilities)

    def _wait(self, devices: Path) -> None:
        while (state := self._event("MIGRATION")["status"]) != "completed":
            if state == "failed":
                raise LabError(f"{devices}: the emulator could not save or restore its machine")

    def _ask(self, command: str, **arguments) -> object:
        words = {"execute": command, "arguments": arguments}
        self._ours.sendall(json.dumps(words).encode() + b"\n")
        while "return" not in (answer := self._line()):
            if "error" in answer:
                raise LabError(f"{command}: {answer['error']['desc']}")
        return answer["return"]

    def _event(self, name: str) -> dict:
        while (line := self._line()).get("event") != name:
            pass
        return line["data"]

    def _line(self) -> dict:
        line = self._lines.readline()
        if not line:
            raise LabError("the emulator closed its monitor")
        return json.loads(line)
