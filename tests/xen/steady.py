# SPDX-License-Identifier: GPL-2.0-or-later
"""steady_reader.c in a guest: what it has read so far, and that it was right."""

import json
import random
from dataclasses import dataclass

from tests.xen.pair.reading import until
from tools.hdfs.demo_data import SEED

PROGRAM, LIST, COPY, COUNTS = "/usr/bin/steady-reader", "/run/list", "/run/copy", "/run/counts"
SANITIZER = "quarantine_size_mb=4"  # a guest has little memory
# What vRead says when there is no backend, or it is another one since the block was opened.
EXPECTED = {"ENOTCONN", "ENODEV", "ENOENT"}


@dataclass(frozen=True)
class Text:
    """Blocks, one after the other: a list of them as the reader takes it, and their bytes."""

    listing: str
    content: bytes

    @classmethod
    def of_demo(cls, demo):
        """Its first block: a guest has little memory."""
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
        """Lives on when the guest is another domain, as commands do not."""
        self.guest.run(
            f"ASAN_OPTIONS={SANITIZER} setsid {PROGRAM} {LIST} {COPY} >{COUNTS} 2>&1 &"
        ).check()
        self.seen = None

    def counts(self):
        """The latest, after the first round."""
        return json.loads(until(self._whole_lines, self.guest.dmesg).splitlines()[-1])

    def _whole_lines(self):
        """Without one that is being written."""
        return self.guest.run(f"tail -n 2 {COUNTS}").stdout.decode().rpartition("\n")[0]

    def goes_by_vread(self, rounds=2):
        """Waits until so much more has come by vRead, and meanwhile nothing the other way."""
        self.seen = self.counts()

        def it_did():
            counts = self.counts()
            if counts["other_way"] != self.seen["other_way"]:
                self.seen = counts
            return counts["by_vread"] >= self.seen["by_vread"] + rounds * len(self.text.content)

        until(it_did, self.counts)

    def went_other_way(self):
        """Waits until something has, since goes_by_vread()."""
        until(lambda: self.counts()["other_way"] > self.seen["other_way"], self.counts)

    def is_well(self):
        """It has only been given right bytes, and soon, or a reason to go the other way."""
        counts = self.counts()
        assert counts["wrong"] == counts["changed"] == 0, counts
        assert set(counts["errors"]) <= EXPECTED, counts
        return counts
