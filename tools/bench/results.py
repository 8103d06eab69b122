# SPDX-License-Identifier: GPL-2.0-or-later
"""The result file of a bench suite.

    {"suite": "native",
     "conditions": {...},                     what was measured and how
     "results": [{"name", "unit": "MB/s", "n", "median", "min", "max", "cpu_s_per_gib"}],
     "ratios": {"vread.block.seq/image.pread.seq": 0.5},
     "targets": {"vread.block.seq/image.pread.seq": {"at_least": 0.35, "met": true}}}

A ratio is the median of the ratios of each round, whose rows ran one right after the other: the
machine's speed changes from minute to minute, and the ratio of two medians would mix that in.
"""

import json
import statistics
from dataclasses import dataclass, field

MB = 1e6
GIB = 1 << 30


@dataclass
class Row:
    """One thing measured, round by round."""

    name: str
    speeds: list = field(default_factory=list)  # MB/s
    cpu: list = field(default_factory=list)  # CPU seconds per GiB

    def add(self, size, seconds, cpu_seconds):
        self.speeds.append(size / MB / seconds)
        self.cpu.append(cpu_seconds * GIB / size)

    def summary(self):
        return {
            "name": self.name,
            "unit": "MB/s",
            "n": len(self.speeds),
            "median": round(statistics.median(self.speeds), 1),
            "min": round(min(self.speeds), 1),
            "max": round(max(self.speeds), 1),
            "cpu_s_per_gib": round(statistics.median(self.cpu), 4),
        }


@dataclass(frozen=True)
class Target:
    """The speed of one row over that of another is to be at least this."""

    row: str
    over: str
    at_least: float

    @property
    def name(self):
        return f"{self.row}/{self.over}"


def document(suite, rows, targets, conditions):
    by_name = {row.name: row for row in rows}
    ratios = {
        target.name: round(_ratio(by_name[target.row], by_name[target.over]), 3)
        for target in targets
    }
    return {
        "suite": suite,
        "conditions": conditions,
        "results": [row.summary() for row in rows],
        "ratios": ratios,
        "targets": {
            target.name: {
                "at_least": target.at_least,
                "met": ratios[target.name] >= target.at_least,
            }
            for target in targets
        },
    }


def _ratio(row, over):
    return statistics.median(a / b for a, b in zip(row.speeds, over.speeds, strict=True))


def write(path, result):
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(result, indent=2) + "\n")
    fresh.rename(path)


def table(result):
    """The result as a short text."""
    lines = [f"{'MB/s':<26}{'median':>9}{'min':>9}{'max':>9}{'n':>4}{'CPU s/GiB':>11}"]
    for row in result["results"]:
        lines.append(
            f"{row['name']:<26}{row['median']:>9.0f}{row['min']:>9.0f}{row['max']:>9.0f}"
            f"{row['n']:>4}{row['cpu_s_per_gib']:>11.3f}"
        )
    for name, target in result["targets"].items():
        verdict = "met" if target["met"] else "MISSED"
        lines.append(
            f"{name}: {result['ratios'][name]:.2f}x, target {target['at_least']}x: {verdict}"
        )
    return "\n".join(lines)
