# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the native suite: the client is on the DataNode's machine and short-circuit reads are
configured and possible.

    colocated.off    a stock client, so it reads by short circuit
    colocated.on     the same configuration with vRead's plug-in

Both read the suite's file, warm.  The plug-in may read by vRead or leave a block to the stock
client: the conditions say how much vreadd served.
"""

from tools.bench.hdfs import FILE, REQUEST, SHORT_CIRCUIT, bytes_served
from tools.bench.results import Row, Target
from tools.bench.scaffold import Scaffold
from tools.hdfs.plug_in import READER

ON, OFF = "colocated.on", "colocated.off"
WARM_UP_ROUNDS = 2


class Colocated(Scaffold):
    """bed: HdfsRows."""

    TITLE = "colocated"
    MOST_ROUNDS = 11
    TARGETS = (Target(ON, OFF, 0.98),)

    def __init__(self, bed):
        super().__init__()
        self._bed = bed
        self._vreadd = None
        self._served = self._rounds = 0
        self.rows = {name: Row(name) for name in (ON, OFF)}

    def _start(self):
        vread = self._bed.vread(ON, SHORT_CIRCUIT | READER)
        self._vreadd = self._stack.enter_context(vread)
        for _ in range(WARM_UP_ROUNDS):
            self.round()
        for row in self.rows.values():
            row.clear()
        self._served = 0

    def round(self):
        names = [ON, OFF]
        self._rounds += 1
        if self._rounds % 2:
            names.reverse()
        for name in names:
            mounted = ON if name == ON else "shortcircuit"
            served = bytes_served(self._vreadd)
            measured = self._bed.measure(
                ("seq", mounted, FILE, REQUEST), self._vreadd, self._bed.size, must_serve=False
            )
            self._served += bytes_served(self._vreadd) - served
            self.rows[name].add(measured["bytes"], measured["seconds"], measured["cpu_seconds"])

    def conditions(self):
        rounds = len(self.rows[ON].values)
        return {
            "file": "warm, on the DataNode of the client's machine",
            "share_that_vreadd_served": round(self._served / self._bed.size / rounds, 3),
        }
