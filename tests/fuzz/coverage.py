# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists which functions of xen-backend/ a target's corpus reaches, and how many of their edges.

python -m tests.fuzz.coverage [TARGET ...]
"""

import argparse
import re
import subprocess

from tests.fuzz.corpus import BUILT, REPOSITORY, TARGETS, write_seeds
from tests.fuzz.run import command, environment

FUNCTION = re.compile(
    r"^(COVERED|UNCOVERED)_FUNC: hits: (\d+) edges: (\d+)/(\d+) (\S+) (\S+?):\d+", re.MULTILINE
)


def functions(target):
    """For each file: (function, edges reached, edges)."""
    corpus = BUILT / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        command(target, "-runs=0", "-print_coverage=1", corpus, write_seeds(target)),
        capture_output=True, text=True, env=environment(), check=True,
    )  # fmt: skip
    files = {}
    for _, hits, reached, edges, name, path in FUNCTION.findall(done.stderr):
        path = path.removeprefix(f"{REPOSITORY}/")
        if path.startswith("xen-backend/"):
            found = files.setdefault(path, [])
            found.append((name, int(reached) if int(hits) else 0, int(edges)))
    return files


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.coverage")
    parser.add_argument("target", nargs="*", choices=[[], *TARGETS], metavar="TARGET")
    options = parser.parse_args()
    for target in options.target or TARGETS:
        print(f"{target}:")
        for path, found in sorted(functions(target).items()):
            reached = sum(f[1] for f in found)
            if not reached:
                continue
            print(f"  {path}: {reached} of {sum(f[2] for f in found)} edges")
            missed = [name for name, n, _ in found if not n]
            if missed and options.target:
                print(f"    not reached: {', '.join(missed)}")


if __name__ == "__main__":
    main()
