# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads exceptions.toml, and says which findings it does not list."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import tomllib

from .findings import Finding

FILE = Path(__file__).with_name("exceptions.toml")


@dataclass(frozen=True)
class Accepted:
    rule: str
    reason: str
    files: list[str] = field(default_factory=lambda: ["*"])  # patterns; `*` matches `/` too
    text: str = ""  # a regular expression that is found in the finding's text

    def covers(self, finding: Finding) -> bool:
        return (
            finding.rule == self.rule
            and any(fnmatch(finding.file, pattern) for pattern in self.files)
            and re.search(self.text, finding.text) is not None
        )


@dataclass(frozen=True)
class Exceptions:
    accepted: list[Accepted]
    left_out: dict[str, str]  # rules of coccinelle that are not run, with the reasons


def load(file: Path = FILE) -> Exceptions:
    read = tomllib.loads(file.read_text())
    return Exceptions([Accepted(**entry) for entry in read["exception"]], read["left-out"])


def judge(findings: Iterable[Finding], exceptions: Iterable[Accepted], complete: bool) -> list[str]:
    """One line for each finding that no exception covers.  If `complete`, also one for each
    exception that covers no finding."""
    exceptions, used, lines = list(exceptions), set(), []
    for finding in findings:
        covering = {n for n, exception in enumerate(exceptions) if exception.covers(finding)}
        used |= covering
        if not covering:
            lines.append(str(finding))
    if complete:
        for n, exception in enumerate(exceptions):
            if n not in used:
                place = ", ".join(exception.files)
                lines.append(f"{FILE.name}: {exception.rule} in {place} excepts nothing: delete it")
    return lines
