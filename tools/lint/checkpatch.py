# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's checkpatch.pl, which checks the style of kernel code, on whole files."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from tools.lab.cache import key_of
from tools.lab.paths import LabError

from .findings import Finding

OPTIONS = ("--no-tree", "--strict", "--terse", "--show-types", "--no-summary")
LINE = re.compile(r"(?P<file>[^:]+):(?P<line>\d+): [A-Z]+:(?P<rule>[A-Z0-9_]+): (?P<text>.*)")
SOME_FOUND = 1  # exit status; it is 0 if nothing was found


class Checkpatch:
    def __init__(self, scripts: Path) -> None:
        self.scripts = scripts

    def key(self, root: Path, names: list[str]) -> bytes:
        """checkpatch looks at one file at a time."""
        files = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")
        return key_of((self.scripts / name).read_bytes() for name in files).encode()

    def run(self, root: Path, names: list[str], all_names: list[str]) -> list[Finding]:
        # checkpatch leaves a file of names in the current folder, and looks there for an include/.
        with tempfile.TemporaryDirectory(prefix="checkpatch-") as scratch:
            (Path(scratch) / "include").mkdir()
            program = ["perl", str(self.scripts / "checkpatch.pl"), f"--root={scratch}", *OPTIONS]
            done = subprocess.run(
                [*program, "-f", *(str(root / name) for name in names)],
                cwd=scratch,
                env=os.environ | {"LC_ALL": "C", "GIT_DIR": f"{scratch}/none"},
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode not in (0, SOME_FOUND) or done.stderr:
            raise LabError(f"checkpatch.pl exited with {done.returncode}: {done.stderr}")
        found = [_finding(line, root) for line in done.stdout.splitlines() if line]
        if (done.returncode == SOME_FOUND) != bool(found):
            raise LabError(f"checkpatch.pl exited with {done.returncode}: {done.stdout}")
        return found


def _finding(line: str, root: Path) -> Finding:
    if not (read := LINE.fullmatch(line)):
        raise LabError(f"checkpatch.pl printed a line of no known form: {line}")
    file = Path(read["file"]).relative_to(root)
    return Finding(str(file), int(read["line"]), read["rule"], read["text"])
