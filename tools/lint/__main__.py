# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m tools.lint [FILE...]`: checks the sources of the guest's kernel module by the kernel's
checkpatch and by its rules for coccinelle.  `make lint` runs it.

Prints a line for each finding that exceptions.toml does not list, and exits with 1 if there is one.
Without files it checks all sources of the module, and an exception that excepts nothing is a
finding too.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from tools.lab.paths import REPOSITORY, LabError

from . import checkpatch, coccinelle, exceptions, kernel_scripts, results

SOURCES = ("linux-frontend/*.[ch]", "xenstore-schema/vreadif.h", "xenstore-schema/vread-ivshmem.h")


def sources() -> list[Path]:
    """All C files of the module that git knows, except files that were deleted."""
    command = ["git", "ls-files", "-z", "--", *SOURCES]
    listed = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    names = sorted(set(listed.stdout.split("\0")) - {""})
    return [path for name in names if (path := REPOSITORY / name).is_file()]


def complaints(files: list[Path], root: Path, memory: Path, complete: bool) -> list[str]:
    """One line for each thing that is wrong.  `files` are below `root`.  `memory` is the file of
    results.py.  `complete`: also complain about exceptions that except nothing."""
    scripts = kernel_scripts.folder()
    rules = exceptions.load()
    names = [str(path.relative_to(root)) for path in files]
    checks = (checkpatch.Checkpatch(scripts), coccinelle.Coccinelle(scripts, rules.left_out))
    found = results.findings(checks, root, names, memory)
    return exceptions.judge(found, rules.accepted, complete)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.lint", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", type=Path)
    given = parser.parse_args().files
    memory = kernel_scripts.BUILD / ("results-of-some.json" if given else "results.json")
    try:
        files = [path.resolve() for path in given] or sources()
        own = all(path.is_relative_to(REPOSITORY) for path in files)
        root = REPOSITORY if own else Path("/")
        lines = complaints(files, root, memory, complete=not given)
    except LabError as error:
        sys.exit(f"tools.lint: {error}")
    if lines:
        print(*lines, sep="\n", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
