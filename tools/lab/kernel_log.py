# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds reports of bugs in kernel logs."""

import re

from .paths import LabError

CONTEXT = 40
REPORT = re.compile(
    r"WARNING: CPU:|\bBUG: |kernel BUG at|\bOops\b|Call Trace:|general protection fault|"
    r"Kernel panic|unable to handle|refcount_t:|UBSAN:|KASAN:|KFENCE:|kmemleak:|"
    r"possible (circular|recursive) locking|inconsistent lock state|suspicious RCU usage|"
    r"INFO: task .* blocked for more than|rcu: INFO: .* (stall|detected)|"
    r"stack-protector:|segfault at|still has locks held"
)


class KernelComplaint(LabError):
    """A kernel reported a bug; the message says which and where."""


def check_kernel_logs(logs: dict[str, str]) -> None:
    found = [report for name, text in logs.items() if (report := _report(name, text))]
    if found:
        raise KernelComplaint("\n".join(found))


def _report(name: str, text: str) -> str | None:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if REPORT.search(line):
            return "\n".join([f"{name}:", *lines[max(0, number - 3) : number + CONTEXT]])
    return None
