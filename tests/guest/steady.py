# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs steady_reader.c in a guest and checks its counts.  The readers go on while tests stop, save
or migrate the guest or take away its device.
"""

import json
import random
from dataclasses import dataclass

from tests.support.waiting import eventually
from tools.hdfs.demo_data import SEED

PROGRAM, LIST, COPY, COUNTS = "/usr/bin/steady-reader", "/run/list", "/run/copy", "/run/counts"
BACK = 300.0
SANITIZER = "quarantine_size_mb=4"  # a guest has little memory
# vRead's errors when there is no backend, or when the block was opened with an earlier backend.
EXPECTED = {"ENOTCONN", "ENODEV", "ENOENT"}


@dataclass(frozen=True)
class Text:
    """Blocks to read: the list in the reader's format, and the bytes of all blocks in order."""

    listing: str
    content: bytes

    @classmethod
    def of_demo(cls, demo, blocks=1):
        """The first blocks of the demo file only: a guest has little memory."""
        source, first = random.Random(SEED), demo.blocks[:blocks]
        length = sum(block.length for block in first)
        mib = (source.randbytes(1 << 20) for _ in range(0, length, 1 << 20))
        listing = "".join(f"{block.spec()}\n" for block in first)
        return cls(listing, b"".join(mib)[:length])


class Steady:
    """One reader.  Each reader of a guest has a name of its own."""

    def __init__(self, guest, text, name=""):
        self.guest, self.text, self.path = guest, text, COUNTS + name
        self.pid = None
        self.put()

    def put(self):
        """Puts the text into the guest.  No reader may run."""
        for path, data in ((LIST, self.text.listing.encode()), (COPY, self.text.content)):
            self.guest.run(["sh", "-c", 'cat >"$1"', "put", path], stdin=data).check()

    def start(self):
        """Starts the reader with setsid: unlike a command of the lab, the reader survives when the
        guest becomes another domain."""
        reader = f"ASAN_OPTIONS={SANITIZER} setsid {PROGRAM} {LIST} {COPY}"
        self.pid = int(self.guest.text(f"{reader} >{self.path} 2>&1 & echo $!"))
        self.seen = None

    def counts(self):
        """The latest counts.  Waits for the first round."""
        return json.loads(eventually(self._whole_lines, BACK, self.guest.dmesg).splitlines()[-1])

    def _whole_lines(self):
        """The last lines of the counts, without a line that is still being written."""
        return self.guest.run(f"tail -n 2 {self.path}").stdout.decode().rpartition("\n")[0]

    def goes_by_vread(self, rounds=2):
        """Waits until `rounds` more rounds came by vRead without a byte by the other way."""
        self.seen = self.counts()

        def it_did():
            counts = self.counts()
            if counts["other_way"] != self.seen["other_way"]:
                self.seen = counts
            return counts["by_vread"] >= self.seen["by_vread"] + rounds * len(self.text.content)

        eventually(it_did, BACK, self.counts)

    def went_other_way(self):
        """Waits until bytes came by the other way since goes_by_vread()."""
        eventually(lambda: self.counts()["other_way"] > self.seen["other_way"], BACK, self.counts)

    def is_well(self):
        """Fails if the reader saw a wrong or changed byte, or an error other than EXPECTED."""
        counts = self.counts()
        assert counts["wrong"] == counts["changed"] == 0, counts
        assert set(counts["errors"]) <= EXPECTED, counts
        return counts
