# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds a datanode's disk image: partition table, ext4, the data directories in it.

A partitioned disk looks like a virtual machine's: a small first partition that is not ext4, then
the one with the data.  The image is sparse and as large as its content needs, plus free space.
"""

import os
import shutil
import subprocess
import tempfile
import uuid as uuids
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.images.layout import DataDir

TABLES = ("gpt", "mbr", "none")
SECTOR = 512
MIB = 1 << 20
FIRST_PARTITION = (MIB, 8 * MIB)  # offset and length of the one without data
GPT_TAIL = MIB  # for the second copy of the table
JOURNAL_MIB = 16
INODE_BYTES = 256
PARTITION_TYPES = {"gpt": ("U", "L"), "mbr": ("ef", "83")}


class ImageError(RuntimeError):
    pass


@dataclass(frozen=True)
class DatanodeImage:
    """Where things are in an image that was made."""

    path: str
    table: str
    partition: int  # number of the file system's partition; 0: none, the whole disk
    offset: int  # bytes from the image's start to the file system's
    length: int  # bytes of the file system
    block_size: int
    uuid: str
    data_dirs: tuple  # of DataDir, in the order given

    def facts(self):
        """The image as values for JSON; from_facts() reads them."""
        return asdict(self)

    @staticmethod
    def from_facts(facts):
        data_dirs = tuple(
            DataDir(**{k: tuple(v) if isinstance(v, list) else v for k, v in known.items()})
            for known in facts["data_dirs"]
        )
        return DatanodeImage(**facts | {"data_dirs": data_dirs})


def make_datanode_image(
    data_dirs,
    out,
    table="gpt",
    path_in_fs="/dfs/data",
    block_size=4096,
    features=None,
    free_mib=64,
    uuid=None,
):
    """Makes the image `out` of datanode data directories and returns where things are in it.

    One directory becomes path_in_fs itself, several become path_in_fs1, path_in_fs2 ...
    features: for mke2fs -O, as "^metadata_csum,^64bit".  The directories' datanode should be
    stopped, or at least have closed and synced the blocks that matter.
    """
    sources = [Path(directory) for directory in data_dirs]
    _check(sources, table, path_in_fs, block_size)
    targets = [path_in_fs] if len(sources) == 1 else _numbered(path_in_fs, len(sources))
    inodes, payload = _measure(sources, block_size)
    length = _fs_length(inodes, payload, block_size, free_mib)
    offset = 0 if table == "none" else sum(FIRST_PARTITION)
    identity = str(uuids.UUID(uuid)) if uuid else str(uuids.uuid4())

    out = Path(out).resolve()
    total = offset + length + (GPT_TAIL if table == "gpt" else 0)
    with open(out, "wb") as image:
        image.truncate(total)
    try:
        if table != "none":
            _partition(out, table, offset, length)
        with tempfile.TemporaryDirectory(prefix=".image-", dir=out.parent) as stage:
            for source, target in zip(sources, targets, strict=True):
                _link_tree(source, Path(stage) / target.lstrip("/"))
            _make_fs(out, stage, offset, length, block_size, features, inodes, identity)
    except BaseException:
        out.unlink()
        raise
    partition = 0 if table == "none" else 2
    data_dirs = tuple(DataDir.of(*pair) for pair in zip(sources, targets, strict=True))
    return DatanodeImage(
        str(out), table, partition, offset, length, block_size, identity, data_dirs
    )


def _check(sources, table, path_in_fs, block_size):
    if table not in TABLES:
        raise ImageError(f"partition table {table!r}: expected one of {', '.join(TABLES)}")
    if block_size not in (1024, 2048, 4096):
        raise ImageError(f"ext4 block size {block_size}: expected 1024, 2048 or 4096")
    if not path_in_fs.startswith("/") or ".." in Path(path_in_fs).parts:
        raise ImageError(f"path in the file system {path_in_fs!r}: expected an absolute one")
    if not sources:
        raise ImageError("no data directory given")
    for source in sources:
        if not (source / "current" / "VERSION").is_file():
            raise ImageError(f"{source}: not a datanode's data directory (no current/VERSION)")


def _numbered(path, count):
    return [f"{path}{n}" for n in range(1, count + 1)]


def _measure(sources, block_size):
    """The number of inodes, and the bytes of the file system blocks that the content fills."""
    inodes, payload = 64, 0
    for source in sources:
        for directory, folders, files in os.walk(source):
            inodes += 1 + len(files)
            # A directory entry is 8 bytes and the name, padded; blk_ names stay below 64.
            payload += _rounded((len(folders) + len(files) + 2) * 64, block_size)
            for name in files:
                payload += _rounded(os.lstat(os.path.join(directory, name)).st_size, block_size)
    return inodes, payload


def _rounded(value, unit):
    return -(-value // unit) * unit


def _fs_length(inodes, payload, block_size, free_mib):
    # Bitmaps, group descriptors (some reserved), extent blocks: a larger share with 1 KiB blocks.
    groups = 0.03 if block_size > 1024 else 0.06
    content = payload + _inode_count(inodes) * INODE_BYTES + JOURNAL_MIB * MIB
    return _rounded(int(content * (1 + groups)) + (free_mib + 8) * MIB, MIB)


def _inode_count(inodes):
    return inodes * 2 + 1024


def _partition(out, table, offset, length):
    first, second = PARTITION_TYPES[table]
    start, size = FIRST_PARTITION
    script = (
        f"label: {'gpt' if table == 'gpt' else 'dos'}\n"
        f"start={start // SECTOR}, size={size // SECTOR}, type={first}\n"
        f"start={offset // SECTOR}, size={length // SECTOR}, type={second}\n"
    )
    _run(["sfdisk", "-q", "--no-reread", "--no-tell-kernel", str(out)], script)


def _link_tree(source, target):
    """Makes a tree of hard links, or of copies where the file system has no hard links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, target, symlinks=True, copy_function=_link_or_copy)


def _link_or_copy(source, target):
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _make_fs(out, stage, offset, length, block_size, features, inodes, identity):
    command = ["mke2fs", "-q", "-F", "-t", "ext4", "-L", "hdfs-data", "-U", identity]
    command += ["-b", str(block_size), "-m", "0", "-J", f"size={JOURNAL_MIB}"]
    command += ["-N", str(_inode_count(inodes)), "-I", str(INODE_BYTES), "-d", str(stage)]
    command += ["-E", f"offset={offset},root_owner=0:0"]
    if features:
        command += ["-O", features]
    _run([*command, str(out), str(length // block_size)])


def _run(command, stdin=None):
    environment = os.environ | {
        "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin",
        "LC_ALL": "C",
    }
    try:
        done = subprocess.run(
            command, input=stdin, stdin=None if stdin else subprocess.DEVNULL,
            capture_output=True, text=True, env=environment,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise ImageError(f"{command[0]} is not installed; run `make setup`") from error
    if done.returncode != 0:
        complaint = done.stderr.strip() or done.stdout.strip()
        raise ImageError(f"{' '.join(command)} failed (exit {done.returncode}): {complaint}")
    return done.stdout
