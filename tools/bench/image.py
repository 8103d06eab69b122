# SPDX-License-Identifier: GPL-2.0-or-later
"""The image suite: blocks out of a disk image that is not in the page cache, by many readers, and
how long an OPEN takes.

Every round runs, one right after the other, over a file of real HDFS blocks in a datanode image
(made once and kept):

    image.pread.cold     pread at the blocks' extents in the image, 1 MiB at a time
    seq.cold             vread_read, 1 MiB at a time: all is verified
    seq.warm             the same with the image in the page cache, vreadd started anew
    image.pread.odirect  pread with O_DIRECT from a loop device that itself reads with O_DIRECT
    seq.odirect          vreadd serves that loop device
    fio.8readers         eight fio jobs, each reading as much as a reader from where its blocks
                         begin, with the requests of libvread: 512 KiB, four at a time
    seq.8readers         eight clients of one vreadd, each reading blocks of its own

All but seq.warm begin with none of the image's pages in the page cache: they are dropped
(posix_fadvise) and looked for (mincore).  What the machine's disk, or a host below, keeps is
beyond that.  CPU time is the clients' and vreadd's together.  fairness:seq.8readers is Jain's
index of the eight readers' speeds: 1 if all are equal.  Then come the rows of
tools/bench/image_open.py.  Needs root.
"""

import json
import os
import resource
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tools.bench import clients, image_open, results
from tools.bench.load import Load
from tools.bench.native import BINARIES, REQUEST, STEP_TIMEOUT, extent_list, step
from tools.bench.results import Limit, Row, Target
from tools.bench.suite import BenchError, Suite
from tools.hdfs.demo_data import demo_image
from tools.images import write_layout
from tools.vread_bench.summary import jain
from tools.vreadd import REPOSITORY, Vreadd, VreaddError

READERS = 8
# As a sequential reader of libvread has in flight: 2 MiB of read-ahead, in READs of 512 KiB.
FIO_REQUEST, FIO_DEPTH = 512 << 10, 4
MAX_RESIDENT = 0.01  # of the image, while it counts as cold
LIVE = {"gib": 1024, "blocks": 8192, "opens": 200}
MILLION = 1_000_000  # blocks of open.million
FAIRNESS = "fairness:seq.8readers"
TARGETS = (
    Target("seq.cold", "image.pread.cold", 0.9),
    Target("seq.8readers", "fio.8readers", 0.9),
    *image_open.TARGETS,
    Limit(FAIRNESS, at_least=0.95),
)


def run(mib, block_mib, rounds):
    """Measures; the document that results.write() takes."""
    load = Load()
    data = demo_image(mib=mib, block_mib=block_mib, layout=False)
    build = REPOSITORY / "build"
    small = mib < SUITE.mib
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="bench-image-", dir=build))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        SUITE.say("making live file systems")
        sizes = {"gib": 16, "blocks": 256, "opens": 8} if small else LIVE
        names = {"million": 2048 if small else MILLION}
        opens = {
            which: stack.enter_context(
                image_open.OpenRows(folder, which, **sizes, names=names.get(which, 0))
            )
            for which in image_open.ROWS
        }
        bench = stack.enter_context(_Bench(data, folder))
        bench.check_agreement()
        for number in range(1, rounds + 1):
            SUITE.say(f"round {number} of {rounds}")
            bench.round()
            for live in opens.values():
                live.round()
    others = load.told_by(SUITE)
    conditions = {
        "cpus": os.cpu_count(),
        "cpus_used_by_others": others,
        "bytes": mib << 20,
        "block_bytes": block_mib << 20,
        "request_bytes": REQUEST,
        "readers": READERS,
        "fio": {"request_bytes": FIO_REQUEST, "depth": FIO_DEPTH, "engine": "io_uring"},
        "page_cache": "cold but for seq.warm and open.*",
        "resident_pages_when_cold": bench.resident,
        "kernel_readahead_kib": _kernel_readahead(data.image),
        "cpu": "clients and vreadd",
        "ratio": "median of the rounds' ratios",
        "open": {which: live.conditions() for which, live in opens.items()},
    }
    open_rows = [row for live in opens.values() for row in live.rows.values()]
    rows = [*bench.rows.values(), *open_rows, bench.fairness]
    return results.document("image", rows, TARGETS, conditions)


class _Bench:
    NAMES = (
        "image.pread.cold",
        "seq.cold",
        "seq.warm",
        "image.pread.odirect",
        "seq.odirect",
        "fio.8readers",
        "seq.8readers",
    )

    def __init__(self, data, folder):
        if len(data.blocks) < READERS:
            raise BenchError(
                f"{len(data.blocks)} blocks: expected at least {READERS}, one for each reader; "
                "use a smaller --block-mib"
            )
        self.data = data
        self.blocks = data.blocks_file.read_text()
        self.extents = extent_list(data, data.blocks)
        self.rows = {name: Row(name) for name in self.NAMES}
        self.fairness = Row(FAIRNESS, "")
        self.resident = 0
        self._layout = folder / "layout.json"
        write_layout(data.image_facts, self._layout)
        self._shares = _Shares(data, folder)
        self._loop = None

    def __enter__(self):
        self._loop = _command(
            "losetup", "--find", "--show", "--read-only", "--direct-io=on", self.data.image
        ).strip()
        return self

    def __exit__(self, *_):
        _command("losetup", "--detach", self._loop)

    def check_agreement(self):
        """Fails unless all ways read the same bytes."""
        plain = self._imagebench("sum", self.data.image)["sum"]
        for image in (self.data.image, self._loop):
            with self._serve(image) as daemon:
                read = self._read(daemon, "-s")["sum"]
            if read != plain:
                raise BenchError(f"pread sums up to {plain}, vread from {image} to {read}")

    def round(self):
        self._cool()
        self._add("image.pread.cold", self._imagebench("pread", self.data.image))
        with self._serve(self.data.image) as daemon:
            self._cool()
            self._add("seq.cold", self._read(daemon))
        with self._serve(self.data.image) as daemon:
            self._add("seq.warm", self._read(daemon))
        self._cool()
        self._add("image.pread.odirect", self._imagebench("direct", self._loop))
        with self._serve(self._loop) as daemon:
            self._cool()
            self._add("seq.odirect", self._read(daemon))
        self._cool()
        self._add("fio.8readers", self._shares.fio())
        with self._serve(self.data.image) as daemon:
            self._cool()
            measured, speeds = self._read_all(daemon)
        self._add("seq.8readers", measured)
        self.fairness.add_figure(jain(speeds))

    def _cool(self):
        self.resident = max(self.resident, _cool(self.data.image))

    def _serve(self, image):
        return Vreadd({"dn1": (image, self._layout)})

    def _add(self, name, measured):
        if measured["bytes"] != self.data.size:
            raise BenchError(f"{name}: {measured['bytes']} bytes were read of {self.data.size}")
        self.rows[name].add(measured["bytes"], measured["seconds"], measured["cpu_seconds"])

    def _imagebench(self, mode, image):
        return step([BINARIES / "imagebench", mode, str(image), str(REQUEST)], self.extents)

    def _read(self, daemon, *flags):
        with clients.counted(daemon) as cpu:
            measured = step(
                [*clients.command(daemon, "read", REQUEST), *flags], self.blocks, daemon
            )
        return measured | {"cpu_seconds": measured["cpu_seconds"] + cpu[0]}

    def _read_all(self, daemon):
        """The figures of eight readers together, and the speed of each."""
        with clients.counted(daemon) as cpu:
            each = self._shares.vread(daemon)
        return clients.together(each, cpu[0]), [r["bytes"] / r["seconds"] for r in each]


class _Shares:
    """The blocks, divided among the readers."""

    def __init__(self, data, folder):
        blocks = data.blocks
        edges = [len(blocks) * i // READERS for i in range(READERS + 1)]
        shares = [blocks[a:b] for a, b in zip(edges, edges[1:], strict=False)]
        self._lines = ["".join(f"{block.spec()}\n" for block in share) for share in shares]
        self._job = folder / "readers.fio"
        self._job.write_text(_fio_job(data, shares))

    def vread(self, daemon):
        return clients.run_together(daemon, self._lines, REQUEST)

    def fio(self):
        before = _children_cpu()
        text = _command("fio", "--readonly", "--output-format=json", self._job)
        jobs = json.loads(text[text.index("{") :])["jobs"]
        return {
            "bytes": sum(job["read"]["io_bytes"] for job in jobs),
            "seconds": max(job["read"]["runtime"] for job in jobs) / 1000 or 0.001,
            "cpu_seconds": _children_cpu() - before,
        }


def _fio_job(data, shares):
    """A job per reader, over one range: between a reader's blocks lies only ext4's metadata."""
    lines = ["[global]", f"filename={data.image}", "rw=read", "invalidate=0"]
    lines += ["ioengine=io_uring", f"iodepth={FIO_DEPTH}", f"bs={FIO_REQUEST}"]
    for i, share in enumerate(shares):
        first = extent_list(data, share[:1]).split()[0]
        size = sum(block.length for block in share)
        lines += [f"[reader{i}]", f"offset={first}", f"size={size}"]
    return "\n".join([*lines, ""])


def _children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _cool(image):
    """Drops the image from the page cache; returns how many pages are left there."""
    resident = step([BINARIES / "imagebench", "cool", str(image)], "")["resident_pages"]
    pages = os.path.getsize(image) // resource.getpagesize()
    if resident > MAX_RESIDENT * pages:
        raise BenchError(f"{image}: {resident} of {pages} pages stay in the page cache")
    return resident


def _kernel_readahead(path):
    """KiB of read-ahead of the disk with the image; None if the kernel does not tell."""
    device = os.stat(path).st_dev
    queue = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    for attribute in (queue / "queue/read_ahead_kb", queue.parent / "queue/read_ahead_kb"):
        if attribute.exists():
            return int(attribute.read_text())
    return None


def _command(*words):
    try:
        done = subprocess.run(
            [str(word) for word in words], capture_output=True, text=True, timeout=STEP_TIMEOUT
        )
    except FileNotFoundError as error:
        raise BenchError(f"{words[0]} is not installed; run `make setup`") from error
    if done.returncode:
        raise BenchError(f"{words[0]} failed (exit {done.returncode}): {done.stderr.strip()}")
    return done.stdout


SUITE = Suite(
    "image",
    __doc__,
    mib=1024,
    block_mib=128,
    rounds=11,
    least_rounds=1,
    measure=run,
    failures=(VreaddError,),
)
