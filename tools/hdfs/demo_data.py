# SPDX-License-Identifier: GPL-2.0-or-later
"""A file of real HDFS blocks in a datanode image, made once and kept, for benches and tests.

The file is pseudo-random with a fixed seed.  The stock client writes it through a real DataNode and
reads it back.  Then the data directory of the stopped datanode becomes the image.  The folder
build/demo-data/<key>/ holds:

    image.raw     the datanode's disk
    layout.json   the image's layout by vread-provision (after provision())
    blocks.txt    one POOL/blk_ID_GS@STORAGE:LENGTH per block, in file order
    file.sha256   digest of the file and its size in bytes
    image.json    where the file system lies in the image

The folder is used again while the recipe is unchanged: sizes, partition table, Hadoop version, and
the code that makes the folder.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.hdfs.artifacts import DEFAULT_VERSION, REPOSITORY
from tools.hdfs.block import Block
from tools.hdfs.cluster import HdfsCluster
from tools.hdfs.errors import HdfsError
from tools.images import DatanodeImage, make_datanode_image

SEED = 20150712
HDFS_PATH = "/vread/demo.bin"
RECIPE = ("tools/hdfs/[a-z]*.py", "tools/hdfs/*.xml", "tools/images/[a-z]*.py")
PROVISIONER = ("xen-backend/provision/*.[ch]", "xen-backend/layout/*.[ch]")
PROVISION = REPOSITORY / "build" / "release" / "vread-provision"
PROVISION_TIMEOUT = 900


@dataclass(frozen=True)
class DemoData:
    directory: Path

    @property
    def image(self):
        return self.directory / "image.raw"

    @property
    def layout(self):
        return self.directory / "layout.json"

    @property
    def blocks_file(self):
        return self.directory / "blocks.txt"

    @property
    def blocks(self):
        return [Block.parse(spec) for spec in self.blocks_file.read_text().split()]

    @property
    def sha256(self):
        return (self.directory / "file.sha256").read_text().split()[0]

    @property
    def size(self):
        return int((self.directory / "file.sha256").read_text().split()[1])

    @property
    def image_facts(self):
        facts = json.loads((self.directory / "image.json").read_text())
        return DatanodeImage.from_facts(facts | {"path": str(self.image)})

    @property
    def data_dirs(self):
        """Their paths in the image's file system."""
        return tuple(directory.path for directory in self.image_facts.data_dirs)


def demo_image(
    mib=256, block_mib=32, table="gpt", version=DEFAULT_VERSION, cache=None, layout=True
):
    """Returns the data, made if it is not there.  layout: also run vread-provision on it."""
    cache = Path(cache or REPOSITORY / "build" / "demo-data")
    cache.mkdir(parents=True, exist_ok=True)
    family = f"{mib}m-{block_mib}m-{table}-{version}"
    directory = cache / f"{family}-{_digest(RECIPE)}"
    with _locked(cache / "lock"):
        if not directory.is_dir():
            for stale in cache.glob(f"{family}-*"):
                shutil.rmtree(stale)
            _make(directory, mib, block_mib, table, version)
        data = DemoData(directory)
        if layout:
            provision(data)
    return data


def provision(data):
    """Has vread-provision write the image's layout, unless the same vread-provision did before."""
    key = _digest(PROVISIONER)
    stamp = data.directory / "layout.key"
    if data.layout.exists() and stamp.exists() and stamp.read_text() == key:
        return
    if not PROVISION.exists():
        raise HdfsError(f"{PROVISION.relative_to(REPOSITORY)} is not built; run `make all`")
    _say(f"demo data: libguestfs looks into the image (up to a minute) -> {data.layout}")
    fresh = data.directory / "layout.new"
    command = [str(PROVISION), "--output", str(fresh), str(data.image)]
    try:
        code = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=PROVISION_TIMEOUT)
    except subprocess.TimeoutExpired as error:
        raise HdfsError(f"vread-provision: no end after {PROVISION_TIMEOUT} s") from error
    if code.returncode != 0:
        raise HdfsError(f"vread-provision failed (exit {code.returncode}); see its output above")
    fresh.rename(data.layout)
    stamp.write_text(key)


def _make(directory, mib, block_mib, table, version):
    work = Path(tempfile.mkdtemp(prefix=".making-", dir=directory.parent))
    try:
        done = work / "done"
        done.mkdir()
        _say(f"demo data: {mib} MiB in {block_mib} MiB blocks through HDFS {version}")
        digest = _write_random(work / "file", mib << 20)
        with HdfsCluster(work / "cluster", version=version, block_size=block_mib << 20) as hdfs:
            _say("demo data: NameNode and DataNode are up; writing")
            hdfs.fs("-mkdir", "-p", os.path.dirname(HDFS_PATH))
            hdfs.put(work / "file", HDFS_PATH)
            _say("demo data: reading back through HDFS")
            blocks = hdfs.blocks(HDFS_PATH)
            _check(hdfs, blocks, mib << 20, digest)
        (work / "file").unlink()
        _say("demo data: making the datanode's disk image")
        image = make_datanode_image(hdfs.data_dirs, done / "image.raw", table=table)
        (done / "blocks.txt").write_text("".join(f"{block.spec()}\n" for block in blocks))
        (done / "file.sha256").write_text(f"{digest} {mib << 20}\n")
        facts = image.facts() | {"path": "image.raw"}
        (done / "image.json").write_text(json.dumps(facts, indent=2) + "\n")
        done.rename(directory)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _check(hdfs, blocks, size, digest):
    total = sum(block.length for block in blocks)
    if total != size:
        raise HdfsError(f"{HDFS_PATH}: blocks of {total} bytes in all, {size} were written")
    if (read := hdfs.sha256(HDFS_PATH)) != digest:
        raise HdfsError(f"{HDFS_PATH}: HDFS reads SHA-256 {read}, {digest} was written")


def _write_random(path, size):
    source = random.Random(SEED)
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for start in range(0, size, 1 << 20):
            chunk = source.randbytes(min(1 << 20, size - start))
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _digest(patterns):
    digest = hashlib.sha256()
    for path in sorted(path for pattern in patterns for path in REPOSITORY.glob(pattern)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@contextlib.contextmanager
def _locked(path):
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _say(text):
    print(text, file=sys.stderr, flush=True)
