# SPDX-License-Identifier: GPL-2.0-or-later
"""The data directories of a real datanode with two disks, made once by real HDFS daemons and kept.

first, second = real_data_dirs()
for block in blocks_of(first): block.path.read_bytes()
"""

import fcntl
import hashlib
import random
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.hdfs import HdfsCluster

REPOSITORY = Path(__file__).parents[2]
CACHE = REPOSITORY / "build" / "real-hdfs"
RECIPE = (Path(__file__), *sorted((REPOSITORY / "tools" / "hdfs").glob("*.py")))
MIB = 1 << 20
LENGTHS = (0, 1, 511, 512, 513, 70_001, MIB, 2 * MIB + MIB // 2, 3 * MIB + 77)


@dataclass(frozen=True)
class RealBlock:
    """A block as HDFS wrote it."""

    pool: str
    id: int
    genstamp: int
    path: Path
    storage: str

    def content(self):
        return self.path.read_bytes()


def real_data_dirs():
    CACHE.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    for source in RECIPE:
        digest.update(source.read_bytes())
    kept = CACHE / digest.hexdigest()[:12]
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.is_dir():
            _make(kept)
    return sorted(kept.iterdir())


def _make(kept):
    for stale in CACHE.glob("*/"):
        shutil.rmtree(stale)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=CACHE) as folder:
        folder = Path(folder)
        files = folder / "files"
        files.mkdir()
        for number, length in enumerate(LENGTHS):
            content = random.Random(number).randbytes(length)
            (files / f"{length}").write_bytes(content)
        done = folder / "done"
        done.mkdir()
        with HdfsCluster(folder / "cluster", block_size=MIB, data_dirs=2) as hdfs:
            hdfs.put(files, "/files")
            hdfs.append(files / "70001", f"/files/{MIB}")
            hdfs.append(files / "513", "/files/513")
            sources = hdfs.data_dirs
        for number, source in enumerate(sources):
            shutil.copytree(source, done / f"{number}")
        done.rename(kept)


def blocks_of(directory):
    """The finalized blocks of the directory."""
    found = []
    version = (Path(directory) / "current/VERSION").read_text()
    storage = re.search(r"^storageID=(.*)$", version, re.M)[1]
    for meta in Path(directory).glob("current/BP-*/current/finalized/**/*.meta"):
        name, genstamp = meta.stem.rsplit("_", 1)
        pool = meta.relative_to(directory).parts[1]
        number = int(name.removeprefix("blk_"))
        found.append(RealBlock(pool, number, int(genstamp), meta.with_name(name), storage))
    return found
