# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the tests several times on a busy machine and lists every test whose verdict ever differed;
called by `make test-steady`.

Each run has its modules in another order, which follows from the printed seed.  The output of the
runs is kept in a folder (build/steady): run-K.log and run-K.xml (JUnit's format), and under
differed/ the log of each test that differed.  series.json is what --resume goes on from.

Exit status: 0 if all runs gave each test the same verdict and nothing failed, 1 if not, 2 for a
wrong command line.
"""

import argparse
import contextlib
import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

FOLDER = Path("build/steady")
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
MISSING = "not run"


@contextlib.contextmanager
def busy_processes(count):
    """Keeps `count` processes busy, each of which needs a processor."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run_tests(folder, number, seed, arguments):
    """One run: {test: (verdict, log)}, and its exit status."""
    report = folder / f"run-{number}.xml"
    command = [sys.executable, "-m", "pytest", f"--shuffle={seed}", f"--junitxml={report}"]
    with open(folder / f"run-{number}.log", "wb") as log:
        status = subprocess.run([*command, *arguments], stdout=log, stderr=log).returncode
    if not report.exists():
        raise SystemExit(f"steady: run {number} made no report; see {log.name}")
    return verdicts(report), status


def verdicts(report):
    """{test: (verdict, log)} of a file in JUnit's format; a test that failed in its set-up or its
    end has failed."""
    told = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        for verdict in ("failure", "error", "skipped"):
            if (found := case.find(verdict)) is not None:
                told[name] = (verdict, f"{found.get('message')}\n{found.text}")
                break
        else:
            told.setdefault(name, ("passed", ""))
    return told


def differing(runs):
    """{test: [verdict in each run]} of tests whose verdicts differ."""
    names = sorted(set().union(*runs))
    told = {name: [run.get(name, (MISSING, ""))[0] for run in runs] for name in names}
    return {name: words for name, words in told.items() if len(set(words)) > 1}


def failing(runs):
    """Tests that failed in every run: they do not differ, and are no success."""
    bad = ("failure", "error")
    return sorted(
        name for name in runs[0] if all(run.get(name, (MISSING, ""))[0] in bad for run in runs)
    )


def keep_logs(folder, name, runs):
    """The log of each run in which the test did not pass, in one file; its path."""
    path = folder / "differed" / re.sub(r"[^\w.-]+", "_", name)
    path.parent.mkdir(exist_ok=True)
    texts = [
        f"==== run {number}: {verdict}\n{log}\n"
        for number, run in enumerate(runs, 1)
        for verdict, log in [run.get(name, (MISSING, ""))]
        if verdict != "passed"
    ]
    path.write_text("".join(texts))
    return path


def report(folder, runs):
    """Prints differing and failing tests.  Returns True if there were none."""
    differed, failed = differing(runs), failing(runs)
    for name, words in differed.items():
        print(f"steady: DIFFERED {name}: {', '.join(words)}; see {keep_logs(folder, name, runs)}")
    for name in failed:
        print(f"steady: FAILED each time: {name}; see {keep_logs(folder, name, runs)}")
    same = len(set().union(*runs)) - len(differed)
    print(f"steady: {len(runs)} runs, {same} tests with the same verdict, {len(differed)} differed")
    return not differed and not failed


def tested_tree():
    """Names the tree that is tested: its commit, and what was changed since.  "": not in git."""
    commands = (["git", "rev-parse", "HEAD"], ["git", "diff", "HEAD"])
    done = [subprocess.run(command, capture_output=True) for command in commands]
    if any(d.returncode for d in done):
        return ""
    return hashlib.sha256(b"".join(d.stdout for d in done)).hexdigest()


class Series:
    """The runs of one tree, in a folder.  `series.json` there says what they are runs of, and the
    exit status of each that has ended, so that an interrupted series can be resumed."""

    def __init__(self, folder, load, arguments):
        self.folder = folder
        self.of = {"load": load, "pytest": arguments, "tree": tested_tree()}
        self.seed, self.statuses, self.runs = 0, [], []

    def begin(self, seed):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.seed = seed

    def resume(self):
        """Reads the runs that have ended.  Exits if they are of another tree or otherwise made."""
        try:
            kept = json.loads((self.folder / "series.json").read_text())
        except FileNotFoundError:
            raise SystemExit(f"steady: {self.folder}: no series to resume") from None
        changed = [key for key, value in self.of.items() if kept[key] != value]
        if changed:
            raise SystemExit(
                f"steady: {self.folder}: its runs have another {', '.join(changed)}:"
                " begin a new series"
            )
        self.seed, self.statuses = kept["seed"], kept["statuses"]
        numbers = range(1, len(self.statuses) + 1)
        self.runs = [verdicts(self.folder / f"run-{number}.xml") for number in numbers]

    def run(self):
        """Makes the next run; returns what to print of it."""
        number, began = len(self.runs) + 1, time.monotonic()
        seed = self.seed + number - 1
        told, status = run_tests(self.folder, number, seed, self.of["pytest"])
        self.runs.append(told)
        self.statuses.append(status)
        kept = self.of | {"seed": self.seed, "statuses": self.statuses}
        (self.folder / "series.json").write_text(json.dumps(kept))
        words = [verdict for verdict, _ in told.values()]
        counts = ", ".join(f"{words.count(w)} {w}" for w in sorted(set(words)))
        minutes = (time.monotonic() - began) / 60
        return f"run {number}, seed {seed}: {counts} in {minutes:.1f} min, status {status}"


def main():
    parser = argparse.ArgumentParser(
        prog="steady", description="Runs the tests several times and compares their verdicts."
    )
    parser.add_argument("-n", "--runs", type=int, default=5, help="how many runs (5)")
    parser.add_argument("-l", "--load", type=int, default=2, help="busy processes beside them (2)")
    parser.add_argument("-s", "--seed", type=int, help="of the first run's order (any)")
    parser.add_argument("-o", "--folder", type=Path, default=FOLDER, help=f"logs ({FOLDER})")
    parser.add_argument(
        "-r", "--resume", action="store_true", help="go on after the last run that ended"
    )
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, behind a --")
    arguments = parser.parse_args()
    if arguments.runs < 1 or arguments.load < 0:
        parser.error("expected at least 1 run and no negative load")
    series = Series(arguments.folder, arguments.load, arguments.pytest)
    if arguments.resume:
        series.resume()
    else:
        any_seed = random.randrange(1_000_000)
        series.begin(any_seed if arguments.seed is None else arguments.seed)
    with busy_processes(arguments.load):
        while len(series.runs) < arguments.runs:
            print(f"steady: {series.run()}", flush=True)
    agree = report(series.folder, series.runs)
    return 0 if agree and not any(series.statuses) else 1


if __name__ == "__main__":
    sys.exit(main())
