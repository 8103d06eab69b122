# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes and reads result files: one JSON document with everything that a report needs.

    {"format": 1, "name", "seed", "rounds", "size", "files", "preads",
     "targets": {NAME: {"kind", "emulated", "client": {machine}, "versions"}},
     "cells": [{"id", "target": "xen" | "kvm" | "bare", "target_name", "way", "workload", "request",
                "load", "place", "image", "setting", "readers"}],
                setting: not in files of older versions, whose cells all are `default`
     "raw": [ROUND]}        in the order in which they ran

A ROUND has `index`, `round`, `cell` (an id), `began` (Unix time) and `cold` (caches were emptied;
null: not asked for), and either `wrong` (which bytes) or the numbers:

    bytes, checked_bytes, seconds
    reader_rates: [bytes per second of each reader]  not in files of older versions
    latency_us: {mean, p50, p90, p99, p999, max}     of a request
    histogram: HdrHistogram in nanoseconds, compressed, base64
    bytes_by: {vread, short_circuit, stock}, reasons: {WHY: blocks that vRead did not read}
    cpu_seconds: {client, datanode, host, network}   null: the target does not tell
    counters: {copied-bytes, instructions}           null: the target does not tell
"""

import json
import math
import os
from dataclasses import asdict

from .errors import BenchError
from .spec import DEFAULT

FORMAT = 1
HEAD = ("format", "name", "seed", "rounds", "size", "files", "preads", "targets")
CELL = ("id", "target", "target_name", "way", "workload", "request", "load", "place", "image",
        "setting", "readers")  # fmt: skip


def document(spec, head, rounds):
    cells = []
    for cell in spec.cells:
        kind = head["targets"][cell.target]["kind"]
        cells.append(asdict(cell) | {"id": cell.id, "target": kind, "target_name": cell.target})
    return {key: head[key] for key in HEAD} | {"cells": cells, "raw": rounds}


def write(path, result):
    """Replaces the file whole, and returns when it is on disk."""
    fresh = path.with_name(path.name + ".new")
    with open(fresh, "w") as file:
        json.dump(result, file, indent=1, sort_keys=True)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def read(path):
    """A result file that report() can use.  Others are errors."""
    try:
        result = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BenchError(f"{path}: no result file: {error}") from error
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise BenchError(f"{path}: no result file of format {FORMAT}")
    for key in (*HEAD, "cells", "raw"):
        if key not in result:
            raise BenchError(f"{path}: lacks {key}")
    ids = set()
    for cell in result["cells"]:
        cell.setdefault("setting", DEFAULT)
        lacking = [key for key in CELL if key not in cell]
        if lacking:
            raise BenchError(f"{path}: a cell lacks {lacking[0]}")
        ids.add(cell["id"])
    for record in result["raw"]:
        if record.get("cell") not in ids:
            raise BenchError(f"{path}: round {record.get('index')} is of no cell")
        bad = None if "wrong" in record else _not_as_described(record)
        if bad:
            raise BenchError(f"{path}: round {record.get('index')}: {bad}: {record.get(bad)!r}")
    return result


def _not_as_described(record):
    """The first key of a round that a report could not use; None: there is none."""
    for key in ("bytes", "seconds"):
        if not _number(record.get(key)) or record[key] == 0:
            return key
    rates = record.get("reader_rates", [])
    if not isinstance(rates, list) or not all(_number(rate) and rate for rate in rates):
        return "reader_rates"
    if not isinstance(record.get("round"), int):
        return "round"
    for key, needed in {"latency_us": "mean", "bytes_by": "vread"}.items():
        values = record.get(key)
        if not isinstance(values, dict) or not all(
            map(_number, ({needed: None} | values).values())
        ):
            return key
    for key in ("cpu_seconds", "counters"):
        values = record.get(key)
        if not isinstance(values, dict):
            return key
        if not all(value is None or _number(value) for value in values.values()):
            return key
    return None


def _number(value):
    """JSON's true is no number, and NaN is none."""
    return type(value) in (int, float) and math.isfinite(value) and value >= 0
