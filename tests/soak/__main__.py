# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a soak and prints its ledger; `make soak` calls it.

Exit status: 0 if no byte was wrong, no read failed and nothing leaked; 1 if not; 2 for a wrong
command line.  The ledger is also in build/soak/ledger.json, the times of all disturbances are in
build/soak/disturbances.log, and what all said in a standstill in build/soak/standstill-N.json
(standstill.py).
"""

import argparse
import json
import random
import re
import shutil
import sys
import time
from pathlib import Path

from tests.soak.run import is_good, soak
from tools.hdfs import HdfsError
from tools.vreadd import VreaddError

FOLDER = Path("build/soak")
UNITS = {"s": 1, "m": 60, "h": 3600}


def duration(text):
    found = re.fullmatch(r"(\d+)([smh])", text)
    if not found or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a time, such as 90s, 30m or 4h")
    return int(found[1]) * UNITS[found[2]]


def main():
    parser = argparse.ArgumentParser(
        prog="soak", description="Disturbs vRead at random, and judges."
    )
    parser.add_argument("--for", dest="seconds", type=duration, default="30m", metavar="TIME")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--variant", choices=("asan", "release"), default="asan")
    arguments = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    print(f"soak: {arguments.seconds} s, seed {arguments.seed}, {arguments.variant}", flush=True)
    start = time.monotonic()
    with open(FOLDER / "disturbances.log", "w", buffering=1) as log:

        def tell(name):
            minutes, seconds = divmod(int(time.monotonic() - start), 60)
            print(f"{minutes:3}:{seconds:02} {name}", file=log)
            print(f"\r{minutes:3}:{seconds:02} {name:40}", end="", flush=True)

        try:
            told = soak(FOLDER / "bed", arguments.seconds, arguments.seed, arguments.variant, tell)
        except (AssertionError, HdfsError, VreaddError) as error:
            print(f"\nsoak: failed: {error}\nseed {arguments.seed}; see {FOLDER}")
            return 1
    print()
    (FOLDER / "ledger.json").write_text(json.dumps(told, indent=1) + "\n")
    complaints = told.pop("complaints")
    print(json.dumps(told, indent=1))
    if is_good(told):
        if not told["standstills"]:
            shutil.rmtree(FOLDER / "bed")
        print("soak: ok")
        return 0
    for kind, texts in complaints.items():
        print(f"{kind}:", *texts, sep="\n  ")
    print(f"soak: failed; seed {arguments.seed}; see {FOLDER}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
