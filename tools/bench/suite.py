# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of all suites: sizes, number of rounds, path of the result file."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.bench import results
from tools.hdfs import HdfsError
from tools.images import ImageError
from tools.lab.paths import REPOSITORY


class BenchError(RuntimeError):
    """Nothing was measured, or the result has no meaning."""


FAILURES = (BenchError, HdfsError, ImageError)


@dataclass(frozen=True)
class Suite:
    name: str
    description: str
    mib: int  # defaults of the options
    block_mib: int
    rounds: int
    least_rounds: int
    measure: Callable[..., dict]  # (mib, block_mib, rounds, [only]) -> results.document()
    failures: tuple = ()  # what measure() may raise besides FAILURES
    groups: tuple = ()  # titles of groups of rows; measure() takes one as `only`
    table: Callable[[dict], str] = results.table

    def main(self, arguments) -> int:
        options = self._parser().parse_args(arguments)
        try:
            self._check(options)
            only = {"only": options.only} if self.groups else {}
            result = self.measure(options.mib, options.block_mib, options.rounds, **only)
        except (*FAILURES, *self.failures) as error:
            print(f"bench {self.name}: {error}", file=sys.stderr)
            return 1
        out = options.out or self._file(**only)
        results.write(out, result)
        print(self.table(result))
        print(f"written: {out}")
        return 0

    def say(self, text: str) -> None:
        print(f"bench {self.name}: {text}", file=sys.stderr, flush=True)

    def _file(self, only=None) -> Path:
        """The result of one group does not replace that of all rows."""
        name = f"{self.name}.{only}" if only else self.name
        return REPOSITORY / "build" / "bench" / f"{name}.json"

    def _check(self, options) -> None:
        if min(options.mib, options.block_mib) < 1:
            raise BenchError("--mib, --block-mib: expected 1 or more")
        if options.rounds < self.least_rounds:
            raise BenchError(f"--rounds: expected {self.least_rounds} or more")

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            prog=f"python -m tools.bench {self.name}",
            description=self.description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        number = {"type": int, "metavar": "N"}
        parser.add_argument("--mib", default=self.mib, help="file size (%(default)s)", **number)
        parser.add_argument(
            "--block-mib", default=self.block_mib, help="block size (%(default)s)", **number
        )
        parser.add_argument(
            "--rounds", default=self.rounds, help="of every row (%(default)s)", **number
        )
        if self.groups:
            parser.add_argument(
                "--only", choices=self.groups, help="measures the rows of one group alone"
            )
        parser.add_argument(
            "--out",
            type=Path,
            help=f"result file ({self._file()}; with --only, a file of the group's)"
            if self.groups
            else f"result file ({self._file()})",
        )
        return parser
