# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds reports of bugs in kernel logs, each once, for XenHost.check_dmesg().

A console log only grows, so the number of lines seen is remembered.  The
kernel's own buffer loses its oldest lines, so the last time stamp is remembered;
a line without a time stamp belongs to the line before.
"""

import re

from .paths import LabError

BEFORE, AFTER = 3, 40
REPORT = re.compile(
    r"WARNING: CPU:|\bBUG: |kernel BUG at|\bOops\b|Call Trace:|general protection fault|"
    r"Kernel panic|unable to handle|refcount_t:|UBSAN:|KASAN:|KFENCE:|kmemleak: [0-9]+ new|"
    r"possible (circular|recursive) locking|inconsistent lock state|suspicious RCU usage|"
    r"INFO: task .* blocked for more than|rcu: INFO: .* (stall|detected)|"
    r"stack-protector:|segfault at|still has locks held|ODEBUG:|pagealloc: memory corruption|"
    r"\bBUG [\w-]+ \(.*\): |WARNING: (bad unlock balance|held lock freed|Nested lock)|"
    r"lock held when returning to user space|INFO: trying to register non-static key|"
    r"Invalid wait context|lock ordering"
)
STAMP = re.compile(r"^\[ *(\d+\.\d+)\]")


class KernelComplaint(LabError):
    """A kernel reported a bug; the message says which and where."""


class KernelLogs:
    def __init__(self) -> None:
        self._seen: dict[str, float] = {}

    def check(self, consoles: dict[str, str], buffers: dict[str, str]) -> None:
        """Raises KernelComplaint for new reports.  Both arguments: {name: whole text so far}."""
        news = {
            f"console of {name}": self._new_of_console(name, consoles[name]) for name in consoles
        }
        news |= {f"dmesg of {name}": self._new_of_buffer(name, buffers[name]) for name in buffers}
        found = [f"{name}:\n{report}" for name, lines in news.items() if (report := _report(lines))]
        if found:
            raise KernelComplaint("\n".join(found))

    def _new_of_console(self, name: str, text: str) -> list[str]:
        key, lines = f"console {name}", text.splitlines()
        start, self._seen[key] = int(self._seen.get(key, 0)), len(lines)
        return lines[start:]

    def _new_of_buffer(self, name: str, text: str) -> list[str]:
        key = f"buffer {name}"
        seen = stamp = self._seen.get(key, -1.0)
        new = []
        for line in text.splitlines():
            if match := STAMP.match(line):
                stamp = float(match[1])
            if stamp > seen:
                new.append(line)
        self._seen[key] = max(seen, stamp)
        return new


def _report(lines: list[str]) -> str:
    for number, line in enumerate(lines):
        if REPORT.search(line):
            return "\n".join(lines[max(0, number - BEFORE) : number + AFTER])
    return ""
