# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode's data directory as HDFS would write it, made without HDFS.

    directory = DataDirectory(tmp_path / "data", pools=["BP-1-127.0.0.1-1"])
    block = directory.add(1073741825, 5_000_000)
    block.data, block.meta      # files; block.content() returns the bytes of the data file

The content is computed from the block's id, so a test need not keep it.  ISA-L computes the
checksums, through ctypes: a gibibyte takes a second.
"""

import ctypes
import random
import struct
from dataclasses import dataclass
from pathlib import Path

POOL = "BP-1-127.0.0.1-1"
NULL, CRC32, CRC32C = 0, 1, 2
_isal = ctypes.CDLL("libisal.so.2")
_isal.crc32_gzip_refl.restype = ctypes.c_uint32
_isal.crc32_gzip_refl.argtypes = [ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64]
_isal.crc32_iscsi.restype = ctypes.c_uint32
_isal.crc32_iscsi.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]


def crc32(address, length):
    return _isal.crc32_gzip_refl(0, address, length)


def crc32c(address, length):
    return _isal.crc32_iscsi(address, length, 0xFFFFFFFF) ^ 0xFFFFFFFF


def crc32c_of(data):
    return crc32c(bytes(data), len(data))


def checksums(data, kind=CRC32C, chunk=512):
    """The checksums of data, as a .meta file holds them after its header."""
    crc = {CRC32: crc32, CRC32C: crc32c}[kind]
    buffer = ctypes.create_string_buffer(data, len(data))
    base = ctypes.addressof(buffer)
    values = [
        crc(base + start, min(chunk, len(data) - start)) for start in range(0, len(data), chunk)
    ]
    return struct.pack(f">{len(values)}I", *values)


def meta_bytes(data, kind=CRC32C, chunk=512):
    header = struct.pack(">hbi", 1, kind, chunk)
    return header if kind == NULL else header + checksums(data, kind, chunk)


def block_content(block_id, length):
    return random.Random(block_id).randbytes(length)


@dataclass(frozen=True)
class Block:
    pool: str
    id: int
    genstamp: int
    length: int
    data: Path  # in the directory from which the image is made
    meta: Path
    path: str  # of data, inside the data directory
    storage: str  # of the data directory

    def content(self):
        return block_content(self.id, self.length)


class DataDirectory:
    def __init__(
        self,
        path,
        pools=(POOL,),
        storage="DS-1",
        datanode="dn-1",
        cluster="CID-1",
        namespace=1,
    ):
        self.path = Path(path)
        self.storage = storage
        self.pools = tuple(pools)
        self._version(
            "current",
            {
                "storageID": storage, "clusterID": cluster, "cTime": 0,
                "datanodeUuid": datanode, "storageType": "DATA_NODE", "layoutVersion": -57,
            },
        )  # fmt: skip
        for pool in self.pools:
            for folder in ("finalized", "rbw"):
                (self.path / "current" / pool / "current" / folder).mkdir(parents=True)
            self._version(
                f"current/{pool}/current",
                {"namespaceID": namespace, "cTime": 0, "blockpoolID": pool, "layoutVersion": -57},
            )

    def _version(self, folder, values):
        (self.path / folder).mkdir(parents=True, exist_ok=True)
        lines = [f"{key}={value}\n" for key, value in values.items()]
        (self.path / folder / "VERSION").write_text(
            "#Sat Nov 21 07:22:00 UTC 2026\n" + "".join(lines)
        )

    def add(
        self, block_id, length, genstamp=1001, pool=None, kind=CRC32C, chunk=512, finalized=True
    ):
        pool = pool or self.pools[0]
        folder = "rbw"
        if finalized:
            folder = f"finalized/subdir{block_id >> 16 & 31}/subdir{block_id >> 8 & 31}"
        relative = f"current/{pool}/current/{folder}/blk_{block_id}"
        data = self.path / relative
        data.parent.mkdir(parents=True, exist_ok=True)
        content = block_content(block_id, length)
        data.write_bytes(content)
        meta = data.with_name(f"blk_{block_id}_{genstamp}.meta")
        meta.write_bytes(meta_bytes(content, kind, chunk))
        return Block(pool, block_id, genstamp, length, data, meta, relative, self.storage)
