# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes the place of the measuring client in tests of vread-bench: the same lines, no HDFS.

Its answer depends on the cell and the round only.  It counts CPU time in FOLDER/cpu.  A file
FOLDER/block-N makes round N wait between `go` and its answer until the file is gone or standard
input ends; it makes FOLDER/blocked first.  FOLDER/wrong-N makes round N report wrong bytes,
FOLDER/wrong-warm all rounds before `go`.  FOLDER/starts has a line for each start, and
FOLDER/properties one for each property with the number of its round.
Usage: stub_client.py FOLDER
"""

import hashlib
import json
import select
import sys
import time
from pathlib import Path

FOLDER = Path(sys.argv[1])


def draw(text, least, most):
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    return least + number % (most - least)


def wait(block):
    while block.exists():
        (FOLDER / "blocked").touch()
        if select.select([sys.stdin], [], [], 0.02)[0]:
            sys.exit()
        time.sleep(0.001)


def grow_cpu(milliseconds):
    path = FOLDER / "cpu"
    path.write_text(str(int(path.read_text() if path.exists() else 0) + milliseconds))


def answer(words):
    cell, number = words["cell"].rsplit(" ", 1)
    key = f"{cell} {number}"
    with open(FOLDER / "calls", "a") as calls:
        calls.write(f"{key}\n")
    wait(FOLDER / f"block-{number}")
    grow_cpu(draw(f"cpu {key}", 100, 900))
    if (FOLDER / f"wrong-{number}").exists():
        return {"wrong": f"round {number}: bytes 4096..8191"}
    size = int(words["size"]) * int(words["readers"])
    latency = draw(f"latency {key}", 100, 5000)
    times = {"mean": 1, "p50": 1, "p90": 2, "p99": 4, "p999": 8, "max": 16}
    vread = size if cell.endswith("/vread") else 0
    return {
        "bytes": size,
        "seconds": draw(f"seconds {key}", 1000, 9000) / 1000,
        "latency_us": {name: latency * factor for name, factor in times.items()},
        "histogram": "",
        "bytes_by": {"vread": vread, "short_circuit": 0, "stock": size - vread},
        "reasons": {},
        "cpu_seconds": draw(f"client {key}", 100, 900) / 1000,
        "check_cpu_seconds": 0.05,
    }


def main():
    with open(FOLDER / "starts", "a") as starts:
        starts.write("start\n")
    words, properties = {}, []
    for line in iter(sys.stdin.readline, ""):
        name, _, value = line.rstrip("\n").partition(" ")
        words[name] = value
        if name == "new":
            words, properties = {}, []
        elif name == "property":
            properties.append(value)
        elif name == "cell":
            with open(FOLDER / "properties", "a") as told:
                told.writelines(f"{value}: {text}\n" for text in properties)
        elif name == "ready":
            early = (FOLDER / "wrong-warm").exists()
            print('{"wrong": "bytes 0..4095"}' if early else '{"ready": true}', flush=True)
        elif name == "go":
            print(json.dumps(answer(words)), flush=True)
        elif name == "check":
            size = int(words["size"]) * int(words["readers"])
            print(json.dumps({"checked_bytes": size}), flush=True)
        elif name == "make":
            print('{"files": 2, "bytes": 8388608}', flush=True)


main()
