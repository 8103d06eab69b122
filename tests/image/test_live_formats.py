# SPDX-License-Identifier: GPL-2.0-or-later
"""Images that QEMU is writing to are read while their tables change: whole disks, and blocks of
HDFS."""

import bisect
import itertools
import os
import random
import subprocess
import threading

import pytest

from tests.image.test_torture import torture
from tests.support.formats import CONVERT, ImageControl, ImageError, overlay, run
from tests.support.owner import needs_root
from tests.support.qemu_owner import KINDS, QemuOwner
from tests.support.waiting import eventually

pytestmark = [pytest.mark.spread, pytest.mark.thorough]

READERS = 3


@needs_root
@pytest.mark.parametrize("kind", KINDS)
def test_no_wrong_byte_of_hdfs(kind, tmp_path):
    """The torture of test_torture.py on a disk in a format with tables.  Clusters are allocated
    and freed with the files."""

    with QemuOwner(tmp_path, kind, mib=24) as owner:
        torture(owner, seed=7, right=2_000, deleted=20)


# ---- against a ledger --------------------------------------------------------------------

UNIT = 4096
UNITS = 1024
ANY = None  # any content: discarded space until the next flush


class Ledger:
    """Records which bytes each unit may hold at which time: during a write the old or the new
    bytes, after the next flush only the new ones."""

    def __init__(self, first):
        self.clock = itertools.count(1)
        self.lock = threading.Lock()
        self.now = 0
        self.times = [[0] for _ in range(UNITS)]
        self.allowed = [[{byte}] for byte in first]

    def set(self, units, allowed):
        with self.lock:
            self.now = next(self.clock)
            for unit in units:
                self.times[unit].append(self.now)
                self.allowed[unit].append(allowed(self.allowed[unit][-1]))

    def check(self, unit, data, since):
        """Asserts that the unit may have held the data at any time since then."""
        with self.lock:
            first = bisect.bisect_right(self.times[unit], since) - 1
            possible = set().union(*self.allowed[unit][first:])
        # A part of a write may be visible while the write is under way.
        assert ANY in possible or set(data) <= possible, (unit, set(data), possible)


class QemuIo:
    """qemu-io, which has the image open for writing."""

    PROMPT = b"qemu-io> "

    def __init__(self, path, kind):
        self.process = subprocess.Popen(
            ["qemu-io", "-d", "unmap", "-f", kind, path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.wait()

    def wait(self):
        said = b""
        while not said.endswith(self.PROMPT):
            more = os.read(self.process.stdout.fileno(), 4096)
            assert more, f"qemu-io ended: {said}"
            said += more
        assert b"failed" not in said and b"rror" not in said, said

    def do(self, command):
        """Runs a command, and waits for its end."""
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        self.wait()

    def end(self):
        self.process.communicate(b"quit\n")
        assert self.process.returncode == 0


def write_and_note(ledger, writer, rounds, goes_on):
    """Writes for at least `rounds` rounds, and as long as goes_on() is true."""
    chance = random.Random(1)
    then = [values[-1] for values in ledger.allowed]  # what each unit holds once it is flushed
    unflushed = set()
    for n in itertools.count():
        if n >= rounds and not goes_on():
            return
        first = chance.randrange(UNITS)
        units = range(first, min(UNITS, first + chance.choice([1, 1, 3, 40, 200])))
        where = f"{units[0] * UNIT} {len(units) * UNIT}"
        what = chance.choice(["write", "write", "write", "write -z", "write -z -u", "discard"])
        byte = 1 + n % 255 if what == "write" else 0
        for unit in units:
            # QEMU may ignore discards of less than a cluster.
            then[unit] = {byte} | (then[unit] if what == "discard" else set())
        if what == "write":
            # During a write QEMU may show zeros: its handle_alloc_space() first clears the whole
            # range, including clusters that were in use.
            before = {unit: ledger.allowed[unit][-1] for unit in units}
            ledger.set(units, lambda old: {ANY})
            writer.do(f"write -P {byte} {where}")
            for unit in units:
                either = before[unit] | {byte}
                ledger.set([unit], lambda old, either=either: either)
        else:
            # QEMU may reuse the clusters before the tables in the file say so.
            ledger.set(units, lambda old: {ANY})
            writer.do(f"{what} {where}")
        unflushed.update(units)
        if chance.random() < 0.4:
            writer.do("flush")
            for unit in unflushed:
                ledger.set([unit], lambda old, unit=unit: then[unit])
            unflushed.clear()


def read_and_check(ledger, spec, over, problems, counts, seed):
    chance = random.Random(seed)
    try:
        with ImageControl(spec) as image:
            while not over.is_set():
                first = chance.randrange(UNITS)
                count = min(chance.choice([1, 2, 20, 100]), UNITS - first)
                since = ledger.now
                try:
                    data = image.read(first * UNIT, count * UNIT)
                except ImageError as error:  # the tables changed at each attempt
                    if error.name == "EAGAIN":
                        continue
                    raise
                for i in range(count):
                    ledger.check(first + i, data[i * UNIT : (i + 1) * UNIT], since)
                counts[seed] += 1
    except BaseException as problem:
        problems.append(problem)


def make_qcow2(folder, raw):
    path = folder / "disk.qcow2"
    run("qemu-img", "create", "-q", "-f", "qcow2", path, UNIT * UNITS)
    return path


def make_compressed(folder, raw):
    path = folder / "disk.qcow2"
    run(*CONVERT, "-f", "raw", "-O", "qcow2", "-c", raw, path)
    return path


def make_overlay(folder, raw):
    return overlay(folder / "disk.qcow2", raw, "raw", "-o", "cluster_size=8k")


def make_vhd(folder, raw):
    path = folder / "disk.vhd"
    run(*CONVERT, "-f", "raw", "-O", "vpc", "-o", "force_size=on", raw, path)
    return path


@pytest.mark.parametrize(
    ("kind", "prefix", "make", "base"),
    [
        ("qcow2", "qcow2", make_qcow2, 0),
        ("qcow2", "qcow2", make_compressed, 0xEE),
        ("qcow2", "qcow2", make_overlay, 0xEE),
        ("vpc", "vhd", make_vhd, 0xEE),
    ],
    ids=["qcow2", "compressed", "overlay", "vhd"],
)
def test_no_wrong_byte_of_the_disk(kind, prefix, make, base, tmp_path):
    raw = tmp_path / "base.raw"
    raw.write_bytes(bytes([base]) * (UNIT * UNITS))
    path = make(tmp_path, raw)
    ledger = Ledger([base] * UNITS)
    writer = QemuIo(path, kind)
    over, problems, counts = threading.Event(), [], [0] * READERS
    readers = [
        threading.Thread(
            target=read_and_check, args=(ledger, f"{prefix}:{path}", over, problems, counts, seed)
        )
        for seed in range(READERS)
    ]
    for reader in readers:
        reader.start()
    try:
        eventually(lambda: problems or min(counts) > 0, what="a first read by each")
        before = list(counts)

        def some_has_read_nothing():
            """True while a reader has read nothing since the writing began, and all is well.  A
            first read may take longer than the writing."""
            nothing = any(now == was for now, was in zip(counts, before, strict=True))
            return nothing and not problems and all(reader.is_alive() for reader in readers)

        write_and_note(ledger, writer, 300, some_has_read_nothing)
    finally:
        over.set()
        for reader in readers:
            reader.join()
        writer.end()
    assert not problems, problems
    assert all(now > was for now, was in zip(counts, before, strict=True))
