# SPDX-License-Identifier: GPL-2.0-or-later
"""The result file of a bench suite.

    {"suite": "native",
     "conditions": {...},                     what was measured and how
     "results": [{"name", "unit": "MB/s" or "us", "n", "median", "min", "max", "cpu_s_per_gib"}],
     "ratios": {"vread.block.seq/image.pread.seq": 0.5, "cpu:A/B": 0.4},
     "targets": {"vread.block.seq/image.pread.seq": {"at_least": 0.35, "met": true},
                 "cpu:A/B": {"at_most": 0.5, "met": true}}}

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
    unit: str = "MB/s"  # or "us"
    values: list = field(default_factory=list)
    cpu: list = field(default_factory=list)  # CPU seconds per GiB

    def add(self, size, seconds, cpu_seconds):
        """A round that moved so many bytes."""
        self._add(size / MB / seconds, size, cpu_seconds)

    def add_latency(self, microseconds, size, cpu_seconds):
        """A round of many small reads of so many bytes in all; the typical one took so long."""
        self._add(microseconds, size, cpu_seconds)

    def clear(self):
        """Forgets the rounds so far."""
        self.values.clear()
        self.cpu.clear()

    def _add(self, value, size, cpu_seconds):
        self.values.append(value)
        self.cpu.append(cpu_seconds * GIB / size)

    def summary(self):
        return {
            "name": self.name,
            "unit": self.unit,
            "n": len(self.values),
            "median": round(statistics.median(self.values), 1),
            "min": round(min(self.values), 1),
            "max": round(max(self.values), 1),
            "cpu_s_per_gib": round(statistics.median(self.cpu), 4),
        }


@dataclass(frozen=True)
class Target:
    """What one row over another is to be: their values, or with `cpu` their CPU time."""

    row: str
    over: str
    at_least: float | None = None
    at_most: float | None = None
    cpu: bool = False

    @property
    def name(self):
        return f"{'cpu:' if self.cpu else ''}{self.row}/{self.over}"

    def ratio(self, rows):
        row, over = ((r.cpu if self.cpu else r.values) for r in (rows[self.row], rows[self.over]))
        return round(statistics.median(a / b for a, b in zip(row, over, strict=True)), 3)

    def verdict(self, ratio):
        if self.at_least is not None:
            return {"at_least": self.at_least, "met": ratio >= self.at_least}
        return {"at_most": self.at_most, "met": ratio <= self.at_most}


def document(suite, rows, targets, conditions):
    rows = list(rows)
    by_name = {row.name: row for row in rows}
    ratios = {target.name: target.ratio(by_name) for target in targets}
    return {
        "suite": suite,
        "conditions": conditions,
        "results": [row.summary() for row in rows],
        "ratios": ratios,
        "targets": {target.name: target.verdict(ratios[target.name]) for target in targets},
    }


def write(path, result):
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(result, indent=2) + "\n")
    fresh.rename(path)


def table(result):
    """The result as a short text."""
    lines = [f"{'':<26}{'median':>9}{'min':>9}{'max':>9}{'':>6}{'n':>4}{'CPU s/GiB':>11}"]
    for row in result["results"]:
        lines.append(
            f"{row['name']:<26}{row['median']:>9.0f}{row['min']:>9.0f}{row['max']:>9.0f}"
            f" {row['unit']:<5}{row['n']:>4}{row['cpu_s_per_gib']:>11.3f}"
        )
    for name, target in result["targets"].items():
        wanted = f">= {target['at_least']}x" if "at_least" in target else f"<= {target['at_most']}x"
        verdict = "met" if target["met"] else "MISSED"
        lines.append(f"{name}: {result['ratios'][name]:.2f}x, target {wanted}: {verdict}")
    return "\n".join(lines)
