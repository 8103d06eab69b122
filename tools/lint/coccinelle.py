# SPDX-License-Identifier: GPL-2.0-or-later
"""coccinelle with the kernel's rules (scripts/coccinelle/*/*.cocci), in their mode "report".

They find what a compiler does not: a use after kfree(), a lock taken twice, an allocation nobody
looks at.
"""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.lab.cache import key_of
from tools.lab.paths import LabError

from .findings import Finding

LINE = re.compile(r"(?P<file>[^:]+):(?P<line>\d+):\d+-\d+: (?P<text>.*)")
OPTIONS = re.compile(r"^// *Options:(.*)$", re.M)
# spatch takes Python from PATH.  Debian's fits; one of pyenv also needs 0.3 s for each start.
PATH = "/usr/bin:/bin"


class Coccinelle:
    def __init__(self, scripts: Path, left_out: dict[str, str]) -> None:
        """`left_out`: rules that are not run, with the reasons."""
        self.folder = scripts / "coccinelle"
        files = sorted(self.folder.rglob("*.cocci"))
        rules = {str(path.relative_to(self.folder).with_suffix("")): path for path in files}
        if unknown := set(left_out) - set(rules):
            raise LabError(f"{self.folder} has no rule {', '.join(sorted(unknown))} to leave out")
        self.rules = {name: path for name, path in rules.items() if name not in left_out}

    def key(self, root: Path, names: list[str]) -> bytes:
        """coccinelle learns types from the module's headers."""
        headers = [(root / name).read_bytes() for name in names if name.endswith(".h")]
        rules = [part for n, path in self.rules.items() for part in (n.encode(), path.read_bytes())]
        return key_of([self._version(), *headers, *rules]).encode()

    def _version(self) -> bytes:
        return self._spatch(["--version"]).encode()

    def run(self, root: Path, names: list[str], all_names: list[str]) -> list[Finding]:
        # The module's files include headers by their names, or by the names of their folders too.
        folders = {(root / name).parent for name in all_names if name.endswith(".h")}
        folders |= {folder.parent for folder in folders if folder != root}
        includes = [word for path in sorted(folders) for word in ("-I", str(path))]
        files = [str(root / name) for name in names]

        def report(rule: str) -> list[Finding]:
            path = self.rules[rule]
            own = " ".join(OPTIONS.findall(path.read_text())).split()
            mode = ["-D", "report", "--very-quiet", "--no-show-diff", *own]
            lines = self._spatch([*mode, *includes, "--cocci-file", str(path), *files])
            return [_finding(line, root, rule) for line in lines.splitlines() if line]

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return [finding for some in pool.map(report, self.rules) for finding in some]

    def _spatch(self, arguments: list[str]) -> str:
        done = subprocess.run(
            ["spatch", *arguments],
            env=os.environ | {"LC_ALL": "C", "PATH": PATH},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise LabError(f"spatch {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout


def _finding(line: str, root: Path, rule: str) -> Finding:
    if not (read := LINE.fullmatch(line)):
        raise LabError(f"spatch printed a line of no known form for {rule}: {line}")
    path = Path(read["file"])
    file = path.relative_to(root) if path.is_relative_to(root) else path
    return Finding(str(file), int(read["line"]), rule, read["text"])
