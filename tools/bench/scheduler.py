# SPDX-License-Identifier: GPL-2.0-or-later
"""The scheduler suite: the time of a small read in a guest that shares its processor with a busy
one.

An emulated Xen host has two processors.  dom0, with vreadd, has processor 0 alone.  The guests
`client` and `busy` are on processor 1.  A program in `busy` computes without end.  The client makes
positional reads of 4 KiB, one after the other, out of vreadd's cache.  Two workloads:

    reads       nothing else runs in the client
    computes    beside the reads a program in the client computes without end, too

The ways to schedule the two guests.  Each round boots a host for either scheduler:

    alone           credit2; `busy` is paused
    credit2         Xen's default
    limit100        credit2 with the least rate limit (100 us instead of 1 ms): a guest that runs is
                    preempted sooner, after vSlicer (Xu et al., HPDC 2012)
    nolimit         credit2 without a rate limit
    weight          credit2, the client with eight times the weight
    weight.limit100 both
    credit          the scheduler credit, as Xen has it (slices of 30 ms)
    slice           credit with slices of 1 ms and a rate limit of 100 us, set by xl

A row is the median, the 99th percentile or the mean of one round.  The conditions have the value of
each round, and which part of a processor each domain took.  A read takes milliseconds on an
emulated host; only ratios of rows of one round mean something.

Where others use this machine, an emulated processor waits for a real one, which looks as if the
guest had waited.  So each host is also measured with `busy` paused, first and last, where nothing
in it can make a read wait.  If the 99th percentile there is more than three times the least median
of all rounds, the round does not count and is repeated.
"""

import os
import statistics

from tools.bench import results
from tools.bench.load import Load
from tools.bench.results import Ratio, Row
from tools.bench.suite import BenchError, Suite
from tools.hdfs.demo_data import demo_image
from tools.lab import LabError, XenHost, deployment, product
from tools.lab.paths import REPOSITORY

VARIANT = "release"
VREADBENCH = "/usr/local/bin/vreadbench"
REQUEST, READS = 4096, 500
READ_TIMEOUT = 300.0
CLIENT, BUSY, SHARED = "client", "busy", "1"  # SHARED: the processor of both guests
COMPUTE = "while :; do :; done"
WORKLOADS = ("reads", "computes")
FIGURES = ("p50", "p99", "mean")

LIMIT, WEIGHT = "xl sched-credit2 -s -r", f"xl sched-credit2 -d {CLIENT} -w"
PAUSE, UNPAUSE = f"xl pause {BUSY}", f"xl unpause {BUSY}"
QUIET = 3.0
TRIES = 4  # times the rounds that were asked for
CREDIT_SLICE = "xl sched-credit -s -t 1 -r 100"
# scheduler: ((way, command before it), ...).  Each way goes on from the one before.
WAYS = {
    "credit2": (
        ("alone", PAUSE),
        ("credit2", UNPAUSE),
        ("limit100", f"{LIMIT} 100"),
        ("nolimit", f"{LIMIT} 0"),
        ("weight", f"{LIMIT} 1000 && {WEIGHT} 2048"),
        ("weight.limit100", f"{LIMIT} 100"),
    ),
    "credit": (
        ("credit", "true"),
        ("slice", CREDIT_SLICE),
    ),
}
NAMES = tuple(way for ways in WAYS.values() for way, _ in ways)


def _ratios():
    """Every way beside Xen's default, and `slice` beside credit, too."""
    for workload in WORKLOADS:
        for way in NAMES:
            for figure in FIGURES:
                row = f"{workload}.{way}.{figure}"
                if way != "credit2":
                    yield Ratio(row, f"{workload}.credit2.{figure}")
                if way == "slice":
                    yield Ratio(row, f"{workload}.credit.{figure}")


RATIOS = tuple(_ratios())


def run(mib, block_mib, rounds):
    """Measures; the document that results.write() takes."""
    if os.cpu_count() < 2:
        raise BenchError("the emulated host has two processors, this machine has one")
    load = Load()
    data = demo_image(mib=mib, block_mib=block_mib, layout=False)
    bench = _Bench(data)
    for number in range(1, rounds * TRIES + 1):
        SUITE.say(f"round {number}; {len(bench.quiet_rounds())} of {rounds} count")
        bench.round()
        if len(bench.quiet_rounds()) == rounds:
            break
    bench.fill_rows()
    conditions = {
        "emulated_cpus": 2,
        "cpus": os.cpu_count(),
        "cpus_used_by_others": load.told_by(SUITE),
        "dom0": "one virtual CPU on processor 0, with vreadd and nothing else",
        "guests": f"one virtual CPU each, on processor {SHARED}",
        "request_bytes": REQUEST,
        "reads_a_row_and_round": READS,
        "reads": "vread_pread() at random places of one block, one after the other",
        "rounds_that_did_not_count": len(bench.rounds) - len(bench.quiet_rounds()),
        "paused_us": [each["paused"] for each in bench.rounds],
        "cpu_share": bench.shares(),
        "rounds_us": {name: [round(v) for v in row.values] for name, row in bench.rows.items()},
        "ratio": "median of the rounds' ratios",
        "note": "An emulated host: times mean nothing, ratios within a round do.",
    }
    return results.document("scheduler", bench.rows.values(), RATIOS, conditions)


class _Bench:
    def __init__(self, data):
        self._data = data
        self.rows = {}
        self.rounds = []  # {"times": {row: us}, "shares": {way: ...}, "paused": [(p50, p99), ...]}

    def round(self):
        """Boots a host for each scheduler, and measures all of its ways."""
        self.rounds.append({"times": {}, "shares": {}, "paused": []})
        for scheduler, ways in WAYS.items():
            with self._host(scheduler) as host:
                client = self._start_guests(host)
                self._check_quiet(host, client)
                for way, command in ways:
                    host.run(command).check()
                    self._measure_way(host, client, way)
                self._check_quiet(host, client)
                host.check_dmesg()

    def quiet_rounds(self):
        """The rounds in which nobody else kept the machine busy."""
        paused = [check for each in self.rounds for check in each["paused"]]
        limit = QUIET * min((p50 for p50, _ in paused), default=0)
        return [each for each in self.rounds if max(p99 for _, p99 in each["paused"]) <= limit]

    def fill_rows(self):
        rounds = self.quiet_rounds()
        if not rounds:
            raise BenchError("others use this machine: no round counts")
        for name in rounds[0]["times"]:
            self.rows[name] = Row(name, "us")
            for each in rounds:
                self.rows[name].add_time(each["times"][name])

    def shares(self):
        """{workload.way: {domain: part of a processor}}, medians."""
        rounds = self.quiet_rounds()
        return {
            name: results.medians([each["shares"][name] for each in rounds])
            for name in rounds[0]["shares"]
        }

    def _host(self, scheduler):
        return XenHost(
            "bench-scheduler",
            memory_mib=1536,
            dom0_mib=768,
            cpus=2,
            disks=[self._data.image],
            files=product.dom0_files(VARIANT),
            guest_files=product.guest_files(VARIANT),
            xen_options=[f"sched={scheduler}", "dom0_max_vcpus=1", "dom0_vcpus_pin"],
        )

    def _start_guests(self, host):
        datanode = deployment.Datanode("/dev/vda", data_dirs=self._data.data_dirs)
        backend = deployment.Backend(host, {"dn1": datanode})
        backend.start()
        pin = [f'cpus="{SHARED}"']
        files = {VREADBENCH: REPOSITORY / "build" / VARIANT / "vreadbench"}
        client = deployment.start_client(
            backend, CLIENT, self._data.blocks_file, files=files, config=pin
        )
        if deployment.file_digest(client) != self._data.sha256:
            raise BenchError("vRead gives another SHA-256 than the file's")
        host.create_guest(BUSY, config=pin).popen(COMPUTE)
        return client

    def _check_quiet(self, host, client):
        host.run(PAUSE).check()
        p50, p99, _ = _figures(_times(client))
        host.run(UNPAUSE).check()
        self.rounds[-1]["paused"].append((p50, p99))

    def _measure_way(self, host, client, way):
        self._add(host, client, f"reads.{way}")
        computing = client.popen(COMPUTE)
        self._add(host, client, f"computes.{way}")
        computing.kill()
        computing.wait(READ_TIMEOUT)

    def _add(self, host, client, name):
        before, started = host.cpu_seconds(), host.uptime
        times = _times(client)
        seconds, after = host.uptime - started, host.cpu_seconds()
        for figure, value in zip(FIGURES, _figures(times), strict=True):
            self.rounds[-1]["times"][f"{name}.{figure}"] = value
        shares = {domain: (after[domain] - before[domain]) / seconds for domain in after}
        self.rounds[-1]["shares"][name] = shares


def _times(client):
    """The microseconds of each read."""
    command = f"{VREADBENCH} -e /dev/vread -a latency -r {REQUEST} -n {READS}"
    lines = client.text(f"head -n 1 {deployment.BLOCKS} | {command}", READ_TIMEOUT).split()
    if len(lines) != READS:
        raise BenchError(f"{len(lines)} reads of {READS}")
    return sorted(map(float, lines))


def _figures(times):
    """FIGURES of sorted times."""
    return statistics.median(times), times[len(times) * 99 // 100], statistics.mean(times)


SUITE = Suite(
    "scheduler",
    __doc__,
    mib=16,
    block_mib=2,
    rounds=7,
    least_rounds=1,
    measure=run,
    failures=(LabError,),
)
