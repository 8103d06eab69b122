# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures and tables of the vRead paper (Middleware 2015), and which of our cells face them.

`pages` goes through FIGURES.  `paper` quotes what the paper says in words; most of its plots have
no numbers in the text, and nothing here was read off a plot.  docs/benchmarking.md has a spec for
each figure.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from . import summary

MIB = 1 << 20
READS = {"sequential": "caches emptied", "re-read": "from caches"}
PLACES = ("local", "remote-rdma", "remote-plain", "remote-tls", "hybrid")
DISKS = ("1vm-1disk", "1vm-2disks", "1vm-4disks", "2vms-1disk", "2vms-2disks", "4vms-1disk")

LOCAL = {"place": ("local",), "readers": (1,)}
BOTH = {"way": ("stock", "vread")}
PLACED = BOTH | {"request": (MIB,), "readers": (1,), "place": PLACES}


@dataclass(frozen=True)
class Panel:
    """A plot.  Cells that match `only` are shown, a curve for each way and value of other keys.
    Nothing is shown unless a cell also matches `needs`."""

    title: str
    only: dict  # {key: allowed values}
    x: tuple  # the keys that make the x axis
    parts: bool = False  # bars of CPU time, stacked by part
    needs: dict = field(default_factory=dict)  # {key: allowed values}


@dataclass(frozen=True)
class Figure:
    name: str
    title: str
    paper: str
    unit: str
    quantity: Callable | None = None
    panels: tuple = ()
    note: str = ""


def _read_panels(only, *x, needs=None):
    return tuple(
        Panel(f"{workload}: {text}", {"workload": (workload,)} | only, x, needs=needs or {})
        for workload, text in READS.items()
    )


def _settings_panels(*settings):
    """One setting beside the other, where the last one was measured."""
    only = LOCAL | {"request": (MIB,), "setting": settings}
    return _read_panels(only, "setting", "load", needs={"setting": settings[-1:]})


def _cpu_figure(name, title, paper, *places, note=""):
    only = {"place": places, "load": ("2vms",), "request": (MIB,), "readers": (1,)}
    only |= {"way": ("stock", "vread"), "workload": tuple(READS)}
    x = ("place", "workload", "image") if len(places) > 1 else ("workload", "image")
    panel = Panel("CPU time by part", only, x, parts=True)
    return Figure(
        name, title, paper, "CPU s/GiB", summary.cpu(*summary.PARTS), (panel,), note=note
    )  # fmt: skip


FIGURES = (
    Figure(
        "Figure 2",
        "Delay of reads: HDFS in a co-located VM against local reads",
        "The delay of HDFS in a co-located VM is “significantly higher than the baseline read for "
        "all cases”: “at least 5 data copies” against 2. The text gives no other number.",
        "ms for each request",
        summary.delay,
        _read_panels(LOCAL | {"load": ("2vms",), "way": ("stock", "short-circuit")}, "request"),
        note="The paper's baseline is the file system of the client's VM. Ours is HDFS' "
        "short-circuit read, which needs client and DataNode in one operating system.",
    ),
    _cpu_figure(
        "Figure 6",
        "CPU time of a co-located read",
        "“around 40% of the CPU cycles on the client side and around 65% on the datanode side” "
        "are saved (1 GB, requests of 1 MB).",
        "local",
    ),
    _cpu_figure(
        "Figure 7",
        "CPU time of a remote read with RDMA",
        "“around 45% of the CPU cycles on client side and more than 50% on datanode side” are "
        "saved.",
        "remote-rdma",
    ),
    _cpu_figure(
        "Figure 8",
        "CPU time of a remote read with TCP",
        "The total is “still slightly lower than the vanilla case”.",
        "remote-plain",
        "remote-tls",
        note="The paper's daemons speak plain TCP, as ours do in remote-plain. By default ours "
        "encrypt (remote-tls), which the stock client in this comparison does not.",
    ),
    Figure(
        "Figure 9",
        "Delay of reads by request size",
        "Less than vanilla by “up to 40% for the 2 VMs scenario and up to 50% for the 4 VMs "
        "scenario”.",
        "ms for each request",
        summary.delay,
        _read_panels(LOCAL | BOTH, "request"),
    ),
    Figure(
        "Figure 11",
        "Read throughput",
        "“around 20% throughput improvement” at 3.2 GHz and “around 41%” at 1.6 GHz with 2 VMs; "
        "“up to 65% improvement” with 4 VMs, where vanilla “drops by up to 22%” (TestDFSIO, 5 GB, "
        "1 MB).",
        "MB/s",
        summary.throughput,
        _read_panels(PLACED, "place", "load"),
        note="Ours is one sequential reader of the HDFS client, without MapReduce.",
    ),
    Figure(
        "Figure 12",
        "CPU time of reads",
        "vRead “still saves significant CPU cycles along with gaining better throughput”. The text "
        "gives no number.",
        "CPU s/GiB",
        summary.cpu(*summary.PARTS),
        _read_panels(PLACED, "place", "load"),
        note="The sum of all parts that the target tells.",
    ),
    Figure(
        "Figure 13",
        "Write throughput",
        "The overhead of vRead on writes “is negligible”.",
        "MB/s",
        summary.throughput,
        (
            Panel(
                "write",
                PLACED | {"workload": ("write",)},
                ("place", "load"),
            ),
        ),
    ),
    Figure(
        "Instructions",
        "Instructions executed for each byte",
        "It counts cycles of processors only.",
        "instructions/byte",
        summary.each_byte("instructions"),
        (
            Panel(
                "all workloads",
                BOTH | {"place": ("local",), "readers": (1,), "load": ("2vms",)},
                ("workload", "request"),
            ),
        ),
        note="Not in the paper. Of emulated targets that count them: the whole machine, with dom0 "
        "and hypervisor.",
    ),
    Figure(
        "Fairness",
        "Readers that read at once",
        "It measures one reader.",
        "Jain's index",
        summary.fairness,
        _read_panels(BOTH | {"place": PLACES, "readers": tuple(range(2, 65))}, "readers", "load"),
        note="Not in the paper. 1: all readers have the same rate; 1/n: one of n has everything. "
        "Threads of one client, each with a stream of its own.",
    ),
    Figure(
        "Disks",
        "DataNodes with several disks",
        "It does not vary the number of disks.",
        "MB/s",
        summary.throughput,
        _read_panels(BOTH | {"place": DISKS}, "place"),
        note="Not in the paper. Several readers at once, each with a file of its own; files spread "
        "over the DataNodes, and blocks over the disks of each. How the rate can grow with the "
        "disks depends on whether they are disks of their own: see where the target's images are.",
    ),
    Figure(
        "Read-ahead",
        "Reads with and without read-ahead",
        "It does not vary read-ahead. Of the study of HDFS's portability (Shafer, Rixner, Cox, "
        "ISPASS 2010) we had the abstract only: “portability limitations prevent the Java "
        "implementation from exploiting features of the native platform”.",
        "MB/s",
        summary.throughput,
        _settings_panels("default", "no-read-ahead"),
        note="Off is the read-ahead of HDFS and that of vRead, in client and vreadd. That of the "
        "kernel goes on.",
    ),
    Figure(
        "Cache modes",
        "Images read through the host's page cache and past it",
        "It does not vary how an image is read.",
        "MB/s",
        summary.throughput,
        _settings_panels("buffered", "direct"),
        note="Not in the paper. Direct: neither the DataNode's disk nor vreadd uses the page cache "
        "of the host (as QEMU's cache=none, and as block devices of Xen); the DataNode's system "
        "has its own.",
    ),
    Figure(
        "Table 2",
        "HBase",
        "Scan 6.26 to 7.97 MB/s (27.3% more), SequentialRead 3.01 to 3.72 (23.6%), RandomRead 2.48 "
        "to 2.91 (17.3%).",
        "MB/s",
        note="vread-bench does not run HBase.",
    ),
    Figure(
        "Table 3",
        "Hive and Sqoop",
        "Select of Hive 17.945 to 14.117 s (21.3% less), export of Sqoop 385.136 to 342.508 s "
        "(11.3%).",
        "s",
        note="vread-bench runs neither.",
    ),
)
