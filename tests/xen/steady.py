# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs steady_reader.c in a guest and checks its counts.  The test_life.py of pair/ and of shared/
use it."""

import json
import random
from dataclasses import dataclass

from tests.xen.pair.reading import until
from tools.hdfs.demo_data import SEED

PROGRAM, LIST, COPY, COUNTS = "/usr/bin/steady-reader", "/run/list", "/run/copy", "/run/counts"
SANITIZER = "quarantine_size_mb=4"  # a guest has little memory
# vRead's errors when there is no backend, or when the block was opened with an earlier backend.
EXPECTED = {"ENOTCONN", "ENODEV", "ENOENT"}


@dataclass(frozen=True)
class Text:
    """Blocks to read: the list in the reader's format, and the bytes of all blocks in order."""

    listing: str
    content: bytes

    @classmethod
    def of_demo(cls, demo):
        """The first block of the demo file only: a guest has little memory."""
        source, first = random.Random(SEED), demo.blocks[0]
        mib = (source.randbytes(1 << 20) for _ in range(0, first.length, 1 << 20))
        return cls(f"{first.spec()}\n", b"".join(mib)[: first.length])


class Steady:
    def __init__(self, guest, text):
        self.guest, self.text = guest, text
        self.put()

    def put(self):
        for path, data in ((LIST, self.text.listing.encode()), (COPY, self.text.content)):
            self.guest.run(["sh", "-c", 'cat >"$1"', "put", path], stdin=data).check()

    def start(self):
        """Starts the reader with setsid: unlike a command of the lab, the reader survives when the
        guest becomes another domain."""
        self.guest.run(
            f"ASAN_OPTIONS={SANITIZER} setsid {PROGRAM} {LIST} {COPY} >{COUNTS} 2>&1 &"
        ).check()
        self.seen = None

    def counts(self):
        """The latest counts.  Waits for the first round."""
        return json.loads(until(self._whole_lines, self.guest.dmesg).splitlines()[-1])

    def _whole_lines(self):
        """The last lines of the counts, without a line that is still being written."""
        return self.guest.run(f"tail -n 2 {COUNTS}").stdout.decode().rpartition("\n")[0]

    def goes_by_vread(self, rounds=2):
        """Waits until `rounds` more rounds came by vRead without a byte by the other way."""
        self.seen = self.counts()

        def it_did():
            counts = self.counts()
            if counts["other_way"] != self.seen["other_way"]:
                self.seen = counts
            return counts["by_vread"] >= self.seen["by_vread"] + rounds * len(self.text.content)

        until(it_did, self.counts)

    def went_other_way(self):
        """Waits until bytes came by the other way since goes_by_vread()."""
        until(lambda: self.counts()["other_way"] > self.seen["other_way"], self.counts)

    def is_well(self):
        """Fails if the reader saw a wrong or changed byte, or an error other than EXPECTED."""
        counts = self.counts()
        assert counts["wrong"] == counts["changed"] == 0, counts
        assert set(counts["errors"]) <= EXPECTED, counts
        return counts
