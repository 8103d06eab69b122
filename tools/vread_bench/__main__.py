# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of vread-bench; vread-bench(1) describes it."""

import argparse
import os
import signal
import sys
from pathlib import Path

from . import client, machine, pages, plan, result, session, spec, targets
from .errors import BenchError, PlaceError, PlaceErrors

PIPE_CLOSED = 128 + signal.SIGPIPE  # as a shell says of a program that SIGPIPE has ended


def main(words=None):
    try:
        try:
            options = _parser().parse_args(words)
            return options.run(options)
        finally:
            sys.stdout.flush()
    except session.Stopped as stopped:
        print(f"vread-bench: {stopped}", file=sys.stderr)
        return 130
    except BenchError as error:
        several = isinstance(error, PlaceErrors)
        for text in str(error).splitlines() if several else [error]:
            print(f"vread-bench: {text}", file=sys.stderr)
        return 1
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            print(f"vread-bench: {error}", file=sys.stderr)
            return 1
        # Whoever read the output has closed it, as `head` does.  Python flushes at exit, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED


def _run(options):
    wanted, known = _read(options)
    out = options.out or Path(f"{wanted.name}.json")
    journal = out.with_name(out.name + ".journal")
    if out.exists() and not journal.exists():
        raise BenchError(f"{out}: exists. Give another --out")
    text = options.targets.read_text()
    try:
        head, rounds = session.run(wanted, known, text, journal)
        result.write(out, result.document(wanted, head, rounds))
        journal.unlink()
    except OSError as error:
        raise BenchError(
            f"{out} or its journal: {error.strerror}. The rounds that have ended are kept; the "
            "same command goes on from here"
        ) from error
    print(f"written: {out}")
    wrong = [record for record in rounds if "wrong" in record]
    for record in wrong:
        print(f"WRONG BYTES: {record['cell']}: {record['wrong']}", file=sys.stderr)
    return 2 if wrong else 0


def _plan(options):
    wanted, _ = _read(options)
    for step in plan.plan(wanted):
        print(f"{step.index + 1} round {step.round + 1} {step.cell.id}")
    return 0


def _prepare(options):
    wanted, known = _read(options)
    for name, place in sorted({(cell.target, cell.place) for cell in wanted.cells}):
        target = known[name]
        client.put_jars(target)
        commands = target.places[place]
        for command in commands.enter:
            command.run()
        try:
            made = client.make_files(target, wanted, place)
        finally:
            for command in commands.leave:
                command.run()
        print(f"{name}: {place}: {made['files']} files, {made['bytes']} bytes")
    return 0


def _report(options):
    names = {path.name for path in options.files}
    if len(names) < len(options.files):
        raise BenchError("two result files have the same name")
    pages.write([(path.name, result.read(path)) for path in options.files], options.out)
    print(f"written: {options.out / 'report.html'} and {options.out / 'report.md'}")
    return 0


def _read(options):
    """The Spec and the targets.  The mistakes of both files are told at once."""
    try:
        known = targets.read(options.targets)
    except PlaceError as error:
        try:
            spec.read(options.spec, None)
        except PlaceError as more:
            raise PlaceErrors([error, more]) from more
        raise
    return spec.read(options.spec, known), known


def _parser():
    parser = argparse.ArgumentParser(
        prog="vread-bench",
        description="Measures stock HDFS, vRead and short-circuit reads, and reports.",
    )
    version = f"vread-bench {machine.version()}"
    parser.add_argument("--version", action="version", version=version, help="show the version")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, text in (
        ("plan", _plan, "check the files and list the rounds in their order"),
        ("prepare", _prepare, "write the files that the rounds read, and their digests"),
        ("run", _run, "run all rounds, or those that an interrupted run has left"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        command.add_argument("--targets", type=Path, required=True, help="the targets file")
        if name == "run":
            command.add_argument("--out", type=Path, help="the result file (NAME.json)")
        command.add_argument("spec", type=Path, metavar="SPEC")
    text = "make a page in HTML and one in Markdown of result files"
    command = commands.add_parser("report", help=text, description=text)
    command.set_defaults(run=_report)
    command.add_argument(
        "--out", type=Path, default=Path("report"), help="the folder of the pages (%(default)s)"
    )
    command.add_argument("files", type=Path, nargs="+", metavar="FILE")
    return parser


if __name__ == "__main__":
    sys.exit(main())
