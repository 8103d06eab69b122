# SPDX-License-Identifier: GPL-2.0-or-later
"""Block tokens as a NameNode makes them, and their keys as a datanode gives them to vreadd.

key = Key(7)
token = make_token(key, POOL, block.id)
front.keys(POOL, STORAGE, [key])
"""

import hashlib
import hmac
import struct
import time
from dataclasses import dataclass, field

SHA1, SHA256, SHA384, SHA512 = 1, 2, 3, 4  # VREAD_KEY_*
DIGESTS = {
    SHA1: hashlib.sha1,
    SHA256: hashlib.sha256,
    SHA384: hashlib.sha384,
    SHA512: hashlib.sha512,
}
MODES = {"READ": 1, "WRITE": 2, "COPY": 3, "REPLACE": 4}


def soon(seconds=86400):
    """The time in `seconds` seconds, in ms since 1970."""
    return int((time.time() + seconds) * 1000)


@dataclass(frozen=True)
class Key:
    id: int
    secret: bytes = b"eightbyt"
    algorithm: int = SHA1
    expiry: int = field(default_factory=soon)

    def packed(self):
        """struct vread_key and its bytes."""
        header = struct.pack("=iBBHq", self.id, self.algorithm, len(self.secret), 0, self.expiry)
        return header + self.secret

    def sign(self, data):
        return hmac.new(self.secret, data, DIGESTS[self.algorithm]).digest()


def vlong(value):
    """WritableUtils.writeVLong()"""
    if -112 <= value <= 127:
        return struct.pack("b", value)
    first, value = (-112, value) if value >= 0 else (-120, ~value)
    data = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return struct.pack("b", first - len(data)) + data


def counted(data):
    return vlong(len(data)) + data


def string(text):
    return struct.pack(">i", len(text)) + text.encode()


def writable(key_id, pool, block_id, expiry, modes, storages):
    texts = b"".join(counted(mode.encode()) for mode in modes)
    ids = b"".join(map(string, storages))
    return b"".join([
        vlong(expiry), vlong(key_id), string("alice"), string(pool), vlong(block_id),
        vlong(len(modes)), texts, vlong(0), vlong(len(storages)), ids,
    ])  # fmt: skip


def varint(value):
    value &= 2**64 - 1
    data = b""
    while value > 127:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def protobuf(key_id, pool, block_id, expiry, modes, storages):
    def number(tag, value):
        return varint(tag << 3) + varint(value)

    def text(tag, value):
        return varint(tag << 3 | 2) + varint(len(value)) + value.encode()

    return b"".join([
        number(1, expiry), number(2, key_id & 2**32 - 1), text(3, "alice"), text(4, pool),
        number(5, block_id), *(number(6, MODES[m]) for m in modes), *(text(8, s) for s in storages),
    ])  # fmt: skip


ENCODINGS = [writable, protobuf]


def make_token(
    key, pool, block_id, encoding=writable, expiry=None, modes=("READ",), storages=("DS-1",)
):
    """The token in the format of Token.write()."""
    expiry = soon() if expiry is None else expiry
    identifier = encoding(key.id, pool, block_id, expiry, modes, storages)
    parts = identifier, key.sign(identifier), b"HDFS_BLOCK_TOKEN", b"127.0.0.1:9866"
    return b"".join(map(counted, parts))
