# SPDX-License-Identifier: GPL-2.0-or-later
"""What the checks share: a finding, and what a check is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, order=True)
class Finding:
    file: str  # relative to the root that the check was given
    line: int
    rule: str  # a type of checkpatch (LINE_SPACING), or a rule of coccinelle (free/kfree)
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.text}"


class Check(Protocol):
    def key(self, root: Path, names: list[str]) -> bytes:
        """All that the findings in a file depend on besides the file itself.  `names` are the
        files that are checked together with it, relative to `root`."""

    def run(self, root: Path, names: list[str], all_names: list[str]) -> list[Finding]:
        """Checks the files `names`, which are some of `all_names`."""
