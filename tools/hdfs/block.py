# SPDX-License-Identifier: GPL-2.0-or-later
"""One block of an HDFS file, by the names vRead finds it under."""

import re
from dataclasses import dataclass

from tools.hdfs.errors import HdfsError

SPEC = re.compile(
    r"(?P<pool>[^/@:\s]+)/blk_(?P<id>-?\d+)_(?P<genstamp>\d+)"
    r"(@(?P<storage>[^/@:\s]+))?:(?P<length>\d+)"
)


@dataclass(frozen=True)
class Block:
    pool: str
    block_id: int
    genstamp: int
    length: int
    storage_ids: tuple

    @staticmethod
    def parse(spec):
        """From the form that spec() returns."""
        match = SPEC.fullmatch(spec)
        if not match:
            raise HdfsError(f"block {spec!r}: expected POOL/blk_ID_GENSTAMP[@STORAGE]:LENGTH")
        storages = (match["storage"],) if match["storage"] else ()
        return Block(
            match["pool"],
            int(match["id"]),
            int(match["genstamp"]),
            int(match["length"]),
            storages,
        )

    def spec(self):
        """As `vread cat` takes it: POOL/blk_ID_GENSTAMP[@STORAGE]:LENGTH."""
        storage = f"@{self.storage_ids[0]}" if self.storage_ids else ""
        return f"{self.pool}/blk_{self.block_id}_{self.genstamp}{storage}:{self.length}"

    def relative_path(self):
        """Of its data file under a data directory, once finalized."""
        first, second = self.block_id >> 16 & 31, self.block_id >> 8 & 31
        finalized = f"current/{self.pool}/current/finalized"
        return f"{finalized}/subdir{first}/subdir{second}/blk_{self.block_id}"
