# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks of HDFS files, by the names under which vRead finds them, and as fsck reports them."""

import re
from dataclasses import dataclass

from tools.hdfs.errors import HdfsError

SPEC = re.compile(
    r"(?P<pool>[^/@:\s]+)/blk_(?P<id>-?\d+)_(?P<genstamp>\d+)"
    r"(@(?P<storage>[^/@:\s]+))?:(?P<length>\d+)"
)

FSCK_BLOCK = re.compile(
    r"^\d+\. (?P<pool>BP-\S+):blk_(?P<id>-?\d+)_(?P<genstamp>\d+) len=(?P<length>\d+)(?P<rest>.*)$",
    re.MULTILINE,
)
FSCK_STORAGE = re.compile(r"DatanodeInfoWithStorage\[[^,\]]*,(?P<id>[^,\]]+),[^\]]*\]")


@dataclass(frozen=True)
class Block:
    pool: str
    block_id: int
    genstamp: int
    length: int
    storage_ids: tuple

    @staticmethod
    def parse(spec):
        """Makes a Block from the text that spec() returns."""
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
        """The path of the finalized block's data file below a data directory."""
        first, second = self.block_id >> 16 & 31, self.block_id >> 8 & 31
        finalized = f"current/{self.pool}/current/finalized"
        return f"{finalized}/subdir{first}/subdir{second}/blk_{self.block_id}"


def fsck_query(path):
    """The query for the NameNode's /fsck page that returns a report for blocks_in_report()."""
    return {"path": path, "files": "1", "blocks": "1", "locations": "1"}


def blocks_in_report(report, path):
    """The blocks of that file, in order, from the NameNode's report."""
    if "is HEALTHY" not in report:
        raise HdfsError(f"fsck {path}: {(report.strip() or 'no answer').splitlines()[-1]}")
    found = [
        Block(
            pool=match["pool"],
            block_id=int(match["id"]),
            genstamp=int(match["genstamp"]),
            length=int(match["length"]),
            storage_ids=tuple(s["id"] for s in FSCK_STORAGE.finditer(match["rest"])),
        )
        for match in FSCK_BLOCK.finditer(report)
    ]
    bare = [block for block in found if not block.storage_ids]
    if bare:
        raise HdfsError(f"fsck {path}: blocks without a location, first {bare[0].spec()}")
    return found
