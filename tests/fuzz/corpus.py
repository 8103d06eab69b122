# SPDX-License-Identifier: GPL-2.0-or-later
"""The fuzz targets and their seeds: the inputs with which a target begins.

Seeds are few and well-formed; the fuzzer finds interesting inputs near them.  build/fuzz/corpus
keeps the inputs that the fuzzer found, from run to run.
"""

import json
import random
import re
import struct
from pathlib import Path

from tests.fuzz.bases import UUID, VERSION
from tests.support import block_token, peer_wire
from tests.support.hdfs_dir import POOL, meta_bytes
from tests.support.lvm_metadata import Metadata

SOURCES = Path(__file__).parent
REPOSITORY = SOURCES.parents[1]
BUILT = REPOSITORY / "build/fuzz"
REGRESSIONS = SOURCES / "regressions"
TARGETS = sorted(path.stem.removeprefix("fuzz_") for path in SOURCES.glob("fuzz_*.c"))

# Longest input, in bytes.
MAX_LENGTH = {
    "answer": 4096,
    "layout": 4096,
    "config": 4096,
    "version": 1024,
    "control": 8192,
    "frontend": 4096,
    "lvm": 4096,
    "peer": 8192,
    "rdma_wire": 64,
    "records": 4096,
    "token": 1024,
}
DEFAULT_MAX_LENGTH = 256


def layout():
    directory = {
        "path": "/dfs/data", "storage-id": "DS-1", "datanode-uuid": UUID, "cluster-id": "CID-1",
        "pools": [POOL],
    }  # fmt: skip
    system = {
        "image": 0, "partition": "gpt:1", "offset": 1048576, "length": 4096, "type": "ext4",
        "uuid": UUID, "data-dirs": [directory],
    }  # fmt: skip
    whole = {**system, "partition": "none", "offset": 0}
    for systems in ([], [system], [system, {**whole, "image": 1}]):
        images = [{"size": 1 << 30}, {"size": 1 << 20}]
        yield json.dumps({"layout-version": 2, "images": images, "filesystems": systems}).encode()


def wire(*values):
    """Values as parser-protocol/wire.c writes them: numbers have 32 bits, in a list 64."""
    parts = []
    for value in values:
        if isinstance(value, int):
            parts.append(struct.pack("=I", value))
        elif isinstance(value, list):
            parts.append(struct.pack(f"={len(value)}Q", *value))
        else:
            parts.append(struct.pack("=I", len(value)) + value)
    return b"".join(parts)


def replies(question, *payloads, result=0):
    """An input for fuzz_answer.c."""
    heads = [struct.pack("<BiH", 0, result, len(payload)) for payload in payloads]
    return bytes([question]) + b"".join(h + p for h, p in zip(heads, payloads, strict=True))


def file_answer(size, *extents, content=b""):
    file = [12], 34  # inode, generation
    return wire(*file, [size], content, len(extents), [n for extent in extents for n in extent])


def basis_answer(clean, *watched, unsettled=(0, 0, 0, 0), packed=b"instance of it"):
    pieces = b"".join(wire([offset], content) for offset, content in watched)
    return wire(clean, [*unsettled], len(watched)) + pieces + wire(packed)


def found_layout(**different):
    """A layout in images of 1 MiB, the last of which is missing."""
    directory = {
        "path": "/dfs/data", "storage-id": "DS-1", "datanode-uuid": UUID, "cluster-id": "CID-1",
        "pools": [POOL],
    }  # fmt: skip
    place = different or {"image": 0, "partition": "gpt:1", "offset": 4096, "length": 65536}
    system = {**place, "type": "ext4", "uuid": UUID, "data-dirs": [directory]}
    images = 3 * [{"size": 1 << 20}]
    return json.dumps({"layout-version": 2, "images": images, "filesystems": [system]}).encode()


def answer():
    state = wire(3, b"it is\x1b damaged")
    guard = wire(1, 0, [512]) + bytes(512)
    bad, ok, guarded = state + wire(0), wire(1, b"", 0), wire(1, b"") + guard
    yield replies(0, state)
    yield replies(0, b"", b"", result=-5)
    blocks = [wire([n, 1001, 70_000], 61 * (n % 2), b"no .meta" * (n % 2)) for n in range(1, 4)]
    yield replies(1, wire(3) + b"".join(blocks))
    stripes = [{"image": n, "offset": 4096} for n in (0, 1)]
    segments = [{"length": 8192, "stripe-size": 4096, "stripes": stripes}]
    missing_disk = {"image": 2, "partition": "none", "offset": 0, "length": 4096}
    for place in ({}, {"volume": "vg/lv", "segments": segments}, missing_disk):
        yield replies(2, wire(b"no /dfs/more", found_layout(**place)) + guarded)
    yield replies(2, wire(b"image dn.raw cannot be read"), result=-5)
    yield replies(3, ok + bad)
    yield replies(3, wire(b"image dn.raw: another file system"), result=-116)
    data = file_answer(9000, (0, 8192, 4096), (4096, 65536, 8192))
    meta = file_answer(79, (0, 4096, 1024))
    small = file_answer(5, content=b"bytes"), file_answer(11, content=b"\0\1\2checksum")
    super_block = (1024, bytes(1024))
    for clean in (0, 1):
        basis = basis_answer(clean, (8192, bytes(12)), super_block)
        changed = basis_answer(clean, (0, b"else"), unsettled=(0, 512, 3, 9))
        asked = basis_answer(clean)
        for files in (data + meta, small[0] + small[1], data + small[1]):
            yield replies(4, wire(1, 2, 512) + files + basis)
            yield replies(4, wire(0, 1, 512) + files + changed, changed, basis)
            yield replies(4, wire(0, 2, 4096) + files + asked, basis, asked)
    # The largest number of extents that fits.
    many = file_answer(1 << 20, *((n * 1024, n * 2048, 1024) for n in range(120)))
    yield replies(4, wire(1, 2, 512) + many + meta + basis_answer(0))


def version():
    yield VERSION.encode()
    yield b"storageType=NAME_NODE\n"
    yield b" clusterID = a\\:b\r\n!\n#\n\\"


def meta():
    for kind in (0, 1, 2):
        yield meta_bytes(b"0123456789", kind)[:16]
    yield b"blk_1073741825"
    yield b"blk_-9223372036854775808_1001.meta"


def request():
    header = struct.pack("<I", 4096)
    variable = struct.pack("<4H", len(POOL), 1, 5, 0)
    for operation in range(7):
        yield header + bytes([operation]) + bytes(15) + struct.pack("<4I", 0, 16, 0, 64) + bytes(48)
    for start in (0, 4, 68):
        yield header + bytes(start) + variable + POOL.encode() + b"\x04DS-1token"


def frontend():
    nodes = {
        "protocol-version": 1, "version": 1, "role": "client", "num-queues": 2,
        "ring-page-order": 1, "pool-pages": 1024, "pool-directory": 8,
    }  # fmt: skip
    for queue in range(2):
        nodes[f"queue-{queue}/ring-ref0"] = nodes[f"queue-{queue}/ring-ref1"] = 9 + queue
        nodes[f"queue-{queue}/event-channel"] = 5 + queue
    text = "".join(f"{node}={value}\n" for node, value in nodes.items()).encode()
    yield b"\x02" + text
    yield b"\x03" + text.replace(b"client", b"datanode")
    yield b"\x01" + struct.pack("<H5I", 4, 0, 7, 8, 9, 10)
    yield b"\x00" + bytes(48)


def config():
    yield (REPOSITORY / "xen-backend/control/vread.conf").read_bytes()
    yield (
        b"[vreadd]\nlog-level = debug\n[xen]\nenabled = no\nmax-queues = 2\n"
        b"[local]\nsocket = /run/l\nallow-datanodes = *\nallow-pools = BP-1\nmode = 0660\n"
        b"[datanode a]\nimage = /a.raw\nlayout = /a.json\n"
        b"[datanode b]\nimage = raw:/b.raw\nimage = /c.raw\ndata-dirs = /x /y\n"
        b"[peers]\nname = a\ncertificate = /c\nkey = /k\nca = /a\nlisten = [::1]:7867\n"
        b"[peer b]\naddress = 192.0.2.1:7867\nstorages = dn1/DS-1 dn1/DS-2\ndatanodes = d*\n"
    )


def lvm():
    """The metadata as LVM wrote it, without comments."""
    text = Metadata(BUILT / "bases/lvm.img").text().rstrip(b"\0")
    yield re.sub(rb"#.*", b"", text)
    for depth in (8, 9):
        yield b"a{" * depth + b"b=[1]" + b"}" * depth
    yield b'vg { a = [1, "x", -2.5] b = "\\"" # c\n c { } }'


def control():
    yield b'\x00{"command": "status"}\n'
    yield b'\x03{"command": "x"}\n'
    yield b"\x01[]\n"
    yield b'\x00{"command": "move", "storage": "dn1/DS-1", "host": null}\n'
    yield b'\x00{"command": "reload"}\n'
    yield b'\x00{"command": "trace"}\n'


def peer():
    """Each message alone, and all messages one after the other."""
    bodies = {
        peer_wire.HELLO: peer_wire.hello_body(credits=32),
        peer_wire.STORAGES: b"".join(map(peer_wire.name, ("dn1", "DS-1", "dn2", "DS-2"))),
        peer_wire.OPEN: peer_wire.open_body(
            POOL, 1073741825, 1001, ["DS-1", "DS-2"], visible=5, token=b"token"
        ),
        peer_wire.OPENED: peer_wire.opened_body(5, 1001),
        peer_wire.READ: struct.pack("<IIQ", 4097, 65536, 1 << 20),
        peer_wire.DATA: bytes(100),
        peer_wire.STAT: struct.pack("<I", 4097),
        peer_wire.STATED: peer_wire.opened_body(5, 1001, handle=0),
        peer_wire.CLOSE: struct.pack("<I", 4097),
        peer_wire.FAILED: struct.pack("<I", 2),
        peer_wire.CANCEL: b"",
    }
    messages = [peer_wire.message(kind, 7, b) for kind, b in bodies.items()]
    messages += [peer_wire.message(k, 7, bodies[k], 2) for k in (peer_wire.READ, peer_wire.DATA)]
    yield from messages
    yield b"".join(messages)


def records():
    """A number that says in which pieces to take them, then records of TLS and frames."""
    record = b"\x17\x03\x03\x00\x20" + bytes(32)
    frame = b"\xd4\0\0\0" + peer_wire.message(peer_wire.DATA, 7, b"data", 2) + bytes(16)
    for units in ((record,), (frame,), (record, frame, record, record, frame, frame)):
        yield b"\x07" + b"".join(units)


def rdma_wire():
    """A message as sent over a queue pair."""
    read = struct.pack("<IIQ", 4097, 65536, 1 << 20) + struct.pack("<QII", 1 << 40, 0x1234, 5)
    messages = (
        peer_wire.message(peer_wire.READ, 7, read, length=16),
        peer_wire.message(peer_wire.FAILED, 7, struct.pack("<I", 2)),
        peer_wire.message(peer_wire.DATA, 7, struct.pack("<I", 65536), crc32c=0x1234),
        peer_wire.message(peer_wire.READ, 7, read[:16]),
    )
    yield from messages


def token():
    key = block_token.Key(1234567, expiry=1 << 50)
    for encoding in block_token.ENCODINGS:
        for modes in (["READ"], ["WRITE", "COPY", "READ"]):
            storages = ["DS-1", "DS-2"]
            yield block_token.make_token(key, POOL, 1073741825, encoding, 1 << 41, modes, storages)
        yield block_token.make_token(key, POOL, -(2**63) + 16, encoding, 5)
        for length in (255, 256):
            yield block_token.make_token(key, "B" * length, 1073741825, encoding, 1 << 41)
    keys = [block_token.Key(n - 2, bytes(n), n, expiry=1 << 50) for n in range(1, 5)]
    yield b"".join(key.packed() for key in keys)


def disk():
    numbers = random.Random(1)
    for which in range(4):
        yield bytes([which, 0])
        for _ in range(6):
            changes = [numbers.randrange(32), numbers.randrange(512)]
            yield bytes([which, 0]) + struct.pack("<HHB", *changes, 4) + numbers.randbytes(4)


def image():
    numbers = random.Random(3)
    for which in range(8):
        yield bytes([which, 0])
        for moment in (0, 0, 0, 128):
            changes = [numbers.randrange(8), numbers.randrange(64) * 8]
            yield (
                bytes([which, 0]) + struct.pack("<HHB", *changes, moment + 8) + numbers.randbytes(8)
            )


def journal():
    tags = bytes(number for n in range(3) for number in (n, 0, 0x40 + n))
    transaction = bytes([0, 2, *tags, 1, 3, 1, 0, 1, 2, 2])
    # As many tags and revoked blocks as a block holds.
    full = bytes([0, 110, *tags, 3, 0, 7, 2, 1, 255, 0, *range(8), 2])
    for kind in (0, 1, 2, 4, 5, 6, 8, 12, 64, 0x83):
        for start in (1, 250):
            yield bytes([0, kind, start, 9]) + 3 * transaction
            yield bytes([0, kind, start, 9]) + transaction + b"\x07" + 2 * transaction
        yield bytes([0, kind, 1, 9]) + full


def ext4():
    numbers = random.Random(2)
    for which in range(9):
        yield bytes([which, 0])
        for _ in range(5):
            operation = numbers.choice([0x00, 0x10, 0x30, 0x70, 0x04, 0x34, 0x38, 1, 2, 3])
            changes = struct.pack("<BHH", operation, *(numbers.randrange(65536) for _ in "ab"))
            yield bytes([which, 0]) + changes + numbers.randbytes(8)


def xfs():
    numbers = random.Random(4)
    for which in range(2):
        yield bytes([which, 0])
        for moment in 4 * (0, 0, 0, 64, 128):
            changes = numbers.randrange(65536), numbers.randrange(65536)
            yield bytes([which, 0]) + struct.pack("<BHH", moment + 3, *changes) + b"\0\0\0\1"
        for kind, offset in 2 * [(16, 4), (16, 12), (32, 8), (32, 200), (48, 0), (48, 8)]:
            place = numbers.randrange(65536)
            yield bytes([which, 0]) + struct.pack("<BHH", kind + 3, place, offset) + b"\0\0\0\1"


def seeds(target):
    return list(globals()[target]())


def write_seeds(target):
    """Returns the folder of the seeds."""
    folder = BUILT / "seeds" / target
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(seeds(target)):
        (folder / f"{number:03}").write_bytes(content)
    return folder


def from_hex(path):
    """An input as regressions/ keeps it: hexadecimal; '#' begins a comment."""
    lines = (line.split("#")[0] for line in path.read_text().splitlines())
    return bytes.fromhex("".join(lines))
