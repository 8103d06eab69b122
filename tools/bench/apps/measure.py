# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs an application by both ways in turn, and sums up what it measured.

Each operation runs WARM_UPS times by each way, and then in pairs, one way right after the other;
each pair begins with the other way.  The data are in the page cache.  All results must be equal.
"""

import statistics
from collections import Counter
from dataclasses import dataclass, field

from tools.bench.apps.application import WAYS

GOT = "bytes"
# Each reads two average reads by both ways, or six if the way in use loses (io.vread.compete).
PROBES = "probes"


@dataclass
class Way:
    """What was measured of one operation by one way, run by run."""

    seconds: list = field(default_factory=list)
    cpu: list = field(default_factory=list)  # of the application's programs
    got: list = field(default_factory=list)  # bytes that clients got through vRead
    counts: list = field(default_factory=list)

    def summary(self):
        return {
            "n": len(self.seconds),
            "median": round(statistics.median(self.seconds), 3),
            "min": round(min(self.seconds), 3),
            "max": round(max(self.seconds), 3),
            "cpu_s": {
                "application": round(statistics.median(self.cpu), 2),
                "hdfs": round(statistics.median(each.cpu_seconds for each in self.counts), 2),
            },
        }

    def bytes(self):
        """Bytes of a median run."""
        vread = int(statistics.median(self.got))
        stock = int(statistics.median(each.stock_bytes for each in self.counts))
        read = vread + stock
        return {
            "by_vread": vread,
            "by_stock": stock,
            "share_by_vread": round(vread / read, 4) if read else None,
            "served_by_vreadd": int(statistics.median(each.vread_bytes for each in self.counts)),
        }


class Measured:
    """One row of the result: an operation of an application."""

    def __init__(self, application, operation):
        self._application = application
        self._operation = operation
        self._ways = {way: Way() for way in WAYS}
        self._digests = set()
        self._reasons = Counter()

    def run(self, way, counted=True):
        application, programs = self._application, self._application.programs(way)
        before, told = application.bed.counts(), _told(programs, way)
        application.ready(way)
        cpu = sum(program.cpu_seconds() for program in programs)
        seconds = application.run(way, self._operation.name)
        cpu = sum(program.cpu_seconds() for program in programs) - cpu
        counts, told = application.bed.counts() - before, _told(programs, way) - told
        self._digests.add(application.digest(way, self._operation.name))
        if counted:
            measured = self._ways[way]
            measured.seconds.append(seconds)
            measured.cpu.append(cpu)
            measured.got.append(told.pop(GOT, 0))
            measured.counts.append(counts)
            self._reasons += told

    def summary(self):
        stock, vread = (self._ways[way] for way in WAYS)
        ratio = statistics.median(a / b for a, b in zip(stock.seconds, vread.seconds, strict=True))
        operation = self._operation
        row = {
            "application": self._application.NAME,
            "operation": operation.name,
            "what": operation.what,
            "unit": "s",
            "stock": stock.summary(),
            "vread": vread.summary(),
            "ratio": round(ratio, 3),
            "equal": len(self._digests) == 1,
            "stock_bytes": stock.bytes(),
            "vread_bytes": vread.bytes(),
            "reasons": dict(self._reasons),
        }
        if operation.at_least:
            row["target"] = {
                "at_least": operation.at_least,
                "from": operation.target,
                "met": ratio >= operation.at_least,
            }
        return row


def _told(programs, way):
    """What the plug-ins have counted so far: the bytes that they gave to clients, and why the
    stock client read."""
    told = Counter()
    for program in programs if way == "vread" else ():
        if counted := program.statistics():
            told[GOT] += counted["vread"]["bytes"]
            told.update(counted["fallback"]["reasons"])
            failed = counted["vread"]["reasons"].items()
            told.update({f"failed: {reason}": n for reason, n in failed})
            told[PROBES] += sum(counted["compete"].values())
    return told


def measure(application, rounds, say):
    """The rows of an application that is prepared."""
    rows = {each.name: Measured(application, each) for each in application.OPERATIONS}
    for number in range(application.WARM_UPS):
        say(f"{application.NAME}: warming up, {number + 1} of {application.WARM_UPS}")
        for row in rows.values():
            for way in WAYS:
                row.run(way, counted=False)
    for number in range(rounds):
        say(f"{application.NAME}: pair {number + 1} of {rounds}")
        for row in rows.values():
            for way in WAYS if number % 2 == 0 else reversed(WAYS):
                row.run(way)
    return [row.summary() for row in rows.values()]
