# SPDX-License-Identifier: GPL-2.0-or-later
"""Fuzzes targets one after the other, for `make fuzz`; see docs/testing.md.

    python -m tests.fuzz.run [--seconds N] [TARGET ...]

build/fuzz/corpus/TARGET grows.  A failing input goes to build/fuzz/crashes, libFuzzer's output to
build/fuzz/log.  build/fuzz/summary.json has the results of each target's last run.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time

from tests.fuzz.corpus import BUILT, DEFAULT_MAX_LENGTH, MAX_LENGTH, SOURCES, TARGETS, write_seeds

SUMMARY = BUILT / "summary.json"
INPUT_SECONDS = 60  # for one input, on a busy machine
MEMORY_MIB = 2048


def command(target, *arguments, crashes=None):
    """The command that runs the target's program."""
    dictionary = SOURCES / f"{target}.dict"
    return [
        str(BUILT / "bin" / target),
        f"-timeout={INPUT_SECONDS}",
        f"-report_slow_units={INPUT_SECONDS}",
        f"-rss_limit_mb={MEMORY_MIB}",
        "-detect_leaks=1",
        f"-max_len={MAX_LENGTH.get(target, DEFAULT_MAX_LENGTH)}",
        "-len_control=0",
        "-print_final_stats=1",
        f"-artifact_prefix={crashes or BUILT / 'crashes'}/{target}-",
        *([f"-dict={dictionary}"] if dictionary.exists() else []),
        *map(str, arguments),
    ]


def environment():
    return {
        **os.environ,
        "FUZZ_BASES": str(BUILT / "bases"),
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1",
    }


def numbers(log):
    """The numbers that libFuzzer prints at its end."""
    progress = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", log)
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", log)
    coverage, features, corpus = map(int, progress[-1]) if progress else (0, 0, 0)
    return {
        "executions": int(executed[1]) if executed else 0,
        "coverage": coverage,
        "features": features,
        "corpus": corpus,
    }


def fuzz(target, seconds):
    corpus, crashes, logs = (BUILT / name for name in ("corpus", "crashes", "log"))
    for folder in (corpus / target, crashes, logs):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(crashes.glob(f"{target}-*"))
    begin = time.monotonic()
    with open(logs / f"{target}.log", "w+") as log:
        done = subprocess.run(
            command(target, f"-max_total_time={seconds}", corpus / target, write_seeds(target)),
            stdout=log, stderr=subprocess.STDOUT, env=environment(),
        )  # fmt: skip
        log.seek(0)
        said = log.read()
    found = sorted(path.name for path in set(crashes.glob(f"{target}-*")) - before)
    if done.returncode and not found:
        found = [f"exit status {done.returncode}: see {logs / target}.log"]
    return {"seconds": round(time.monotonic() - begin), **numbers(said), "crashes": found}


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("target", nargs="*", choices=[[], *TARGETS], metavar="TARGET")
    options = parser.parse_args()
    summary = json.loads(SUMMARY.read_text()) if SUMMARY.exists() else {}
    failed = False
    for target in options.target or TARGETS:
        print(f"{target:10} ", end="", flush=True)
        result = summary[target] = fuzz(target, options.seconds)
        SUMMARY.write_text(json.dumps(summary, indent=2, sort_keys=True) + "\n")
        print(
            f"{result['seconds']:5} s {result['executions']:9} inputs, "
            f"{result['coverage']:5} edges, {len(result['crashes'])} crashes"
        )
        for crash in result["crashes"]:
            print(f"           {crash}")
        failed |= bool(result["crashes"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
