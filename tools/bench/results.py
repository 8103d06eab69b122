# SPDX-License-Identifier: GPL-2.0-or-later
"""The result file of a bench suite, made from the rows and targets of the suite.

    {"suite": "native",
     "conditions": {...},                     what was measured and how; "note": is printed, too
     "results": [{"name", "unit": "MB/s", "us", "ms", "/s", "KiB", "s/GiB" or "",
                  "n", "median", "min", "max", "cpu_s_per_gib": null if it has no meaning}],
     "ratios": {"vread.block.seq/image.pread.seq": 0.5, "cpu:A/B": 0.4},
     "targets": {"vread.block.seq/image.pread.seq": {"at_least": 0.35, "met": true},
                 "cpu:A/B": {"at_most": 0.5, "met": true},
                 "open.ext4": {"at_most": 300, "met": true}}}     its median

A ratio is the median of the ratios of each round, whose rows ran one right after the other: the
machine's speed changes from minute to minute, and the ratio of two medians would mix that in.
"""

import json
import statistics
from dataclasses import dataclass, field

MB = 1e6
GIB = 1 << 30
NAME = 34  # columns of a row's name in the table
SMALL = ("", "s/GiB")  # units whose numbers have three decimals


@dataclass
class Row:
    """One thing measured, round by round."""

    name: str
    unit: str = "MB/s"  # or "us", "ms", "/s" (reads a second), "KiB"; "s/GiB" or "" for a figure
    values: list = field(default_factory=list)
    cpu: list = field(default_factory=list)  # CPU seconds per GiB

    def add(self, size, seconds, cpu_seconds):
        """Adds a round that moved `size` bytes."""
        self._add(size / MB / seconds, size, cpu_seconds)

    def add_latency(self, microseconds, size, cpu_seconds):
        """Adds a round of many small reads: the time of a typical one, the bytes of all."""
        self._add(microseconds, size, cpu_seconds)

    def add_time(self, microseconds):
        """Adds a round that moved no bytes."""
        self.values.append(microseconds)

    def add_figure(self, value):
        self.values.append(value)

    def clear(self):
        """Forgets the rounds so far."""
        self.values.clear()
        self.cpu.clear()

    def _add(self, value, size, cpu_seconds):
        self.values.append(value)
        self.cpu.append(cpu_seconds * GIB / size)

    def summary(self):
        digits = 3 if self.unit in SMALL else 1
        return {
            "name": self.name,
            "unit": self.unit,
            "n": len(self.values),
            "median": round(statistics.median(self.values), digits),
            "min": round(min(self.values), digits),
            "max": round(max(self.values), digits),
            "cpu_s_per_gib": round(statistics.median(self.cpu), 4) if self.cpu else None,
        }


@dataclass(frozen=True)
class Ratio:
    """The ratio of two rows: of their values, or with `cpu` of their CPU time."""

    row: str
    over: str
    cpu: bool = field(default=False, kw_only=True)

    @property
    def name(self):
        return f"{'cpu:' if self.cpu else ''}{self.row}/{self.over}"

    def ratio(self, rows):
        row, over = ((r.cpu if self.cpu else r.values) for r in (rows[self.row], rows[self.over]))
        return round(statistics.median(a / b for a, b in zip(row, over, strict=True)), 3)


@dataclass(frozen=True)
class Target(Ratio):
    """A limit for a ratio."""

    at_least: float | None = None
    at_most: float | None = None

    def verdict(self, rows):
        return _verdict(self, self.ratio(rows))


@dataclass(frozen=True)
class Limit:
    """A limit for the median of a row."""

    row: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def name(self):
        return self.row

    def verdict(self, rows):
        return _verdict(self, statistics.median(rows[self.row].values))


def _verdict(wanted, value):
    if wanted.at_least is not None:
        return {"at_least": wanted.at_least, "met": value >= wanted.at_least}
    return {"at_most": wanted.at_most, "met": value <= wanted.at_most}


def document(suite, rows, targets, conditions):
    """targets: Target, Limit, or a Ratio that is only told."""
    rows = list(rows)
    by_name = {row.name: row for row in rows}
    return {
        "suite": suite,
        "conditions": conditions,
        "results": [row.summary() for row in rows],
        "ratios": {t.name: t.ratio(by_name) for t in targets if isinstance(t, Ratio)},
        "targets": {t.name: t.verdict(by_name) for t in targets if isinstance(t, Target | Limit)},
    }


def medians(rounds):
    """{key: median over the rounds}; rounds: dictionaries with the same keys."""
    return {key: round(statistics.median(r[key] for r in rounds), 3) for key in rounds[0]}


def write(path, result):
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(result, indent=2) + "\n")
    fresh.rename(path)


def table(result):
    """The result as a short text."""
    lines = [f"{'':<{NAME}}{'median':>9}{'min':>9}{'max':>9}{'':>6}{'n':>4}{'CPU s/GiB':>11}"]
    rows = {row["name"]: row for row in result["results"]}
    for row in rows.values():
        values = "".join(
            f"{row[key]:>9.{3 if row['unit'] in SMALL else 0}f}" for key in ("median", "min", "max")
        )
        cpu = "" if row["cpu_s_per_gib"] is None else f"{row['cpu_s_per_gib']:.3f}"
        line = f"{row['name']:<{NAME}}{values} {row['unit']:<5}{row['n']:>4}{cpu:>11}"
        lines.append(line.rstrip())
    for name, target in result["targets"].items():
        sign, wanted = (
            (">=", target["at_least"]) if "at_least" in target else ("<=", target["at_most"])
        )
        verdict = "met" if target["met"] else "MISSED"
        if name in result["ratios"]:
            got, wanted = f"{result['ratios'][name]:.2f}x", f"{wanted}x"
        else:
            got = f"{rows[name]['median']:g}"
        lines.append(f"{name}: {got}, target {sign} {wanted}: {verdict}")
    for name, ratio in result["ratios"].items():
        if name not in result["targets"]:
            lines.append(f"{name}: {ratio:.2f}x")
    if "note" in result["conditions"]:
        lines.append(result["conditions"]["note"])
    return "\n".join(lines)
