# SPDX-License-Identifier: GPL-2.0-or-later
"""Every operation over the local port: right answers to valid requests, and the errors that
vreadif.h lists to invalid requests."""

import errno
import itertools
import struct

import pytest

from tests.support import localfront
from tests.support.daemon import STORAGE, open_block
from tests.support.hdfs_dir import POOL, crc32c_of
from tests.support.localfront import (
    CLOSE,
    MAX_READ,
    OPEN,
    PAGE,
    PUBLISH,
    READ,
    STAT,
    open_data,
    open_part,
    read_part,
)

FINALIZED, REMOTE = 1, 2  # VREAD_BLOCK_*
ENCRYPT, MAC = 1, 2  # VREAD_OPEN_*


def test_every_block_is_read_as_it_was_written(front, image):
    for block in image.blocks:
        handle = open_block(front, block)
        got = b""
        while len(got) < block.length:
            got += front.read(handle, len(got), min(1 << 20, block.length - len(got)))
        assert got == image.contents[block.id]
        assert front.close_handle(handle) == 0


def test_open_tells_length_genstamp_and_flags(front, block):
    response = front.open(block.id, block.genstamp, POOL, [STORAGE])
    assert (response.status, response.length, response.genstamp, response.flags) == (
        0,
        block.length,
        block.genstamp,
        FINALIZED,
    )
    stat = front.stat(response.handle)
    assert (stat.status, stat.length, stat.genstamp, stat.flags) == (
        0,
        block.length,
        block.genstamp,
        FINALIZED,
    )


@pytest.mark.parametrize("offset,length", [(0, 1), (511, 2), (4096, 4096), (12345, 777777)])
def test_reads_at_any_offset(front, block, image, offset, length):
    handle = open_block(front, block)
    got = front.read(handle, offset, length, page=3)
    assert got == image.contents[block.id][offset : offset + length]
    front.close_handle(handle)


def test_every_part_of_every_block_has_its_sum(front, image):
    """Ranges that begin and end in a chunk or between two, and the ends of the block."""
    for block in image.blocks:
        content = image.contents[block.id]
        ends = (0, 1, 511, 512, 513, PAGE, 70_001, block.length - 1, block.length)
        edges = sorted({min(n, block.length) for n in ends})
        handle = open_block(front, block)
        for start, end in itertools.combinations(edges, 2):
            end = min(end, start + MAX_READ)
            assert front.read(handle, start, end - start) == content[start:end]
        assert front.close_handle(handle) == 0


def test_the_longest_read(front, block, image):
    handle = open_block(front, block)
    assert front.read(handle, 1, MAX_READ) == image.contents[block.id][1 : MAX_READ + 1]
    front.close_handle(handle)


def test_reads_end_at_the_visible_length(front, block, image):
    handle = open_block(front, block, visible_length=10_000)
    assert front.read(handle, 9_000, 4096) == image.contents[block.id][9_000:10_000]
    assert front.read_response(handle, 10_000, 1).status == 0
    assert front.read_response(handle, 1 << 40, 1).status == 0
    front.close_handle(handle)


def test_nothing_outside_the_range_is_written(front, block):
    handle = open_block(front, block)
    front.pool[:] = b"\xa5" * len(front.pool)
    assert front.read_response(handle, 0, 2 * PAGE, page=10, pages=2).status == 2 * PAGE
    assert bytes(front.pool[: 10 * PAGE]) == b"\xa5" * (10 * PAGE)
    assert bytes(front.pool[12 * PAGE :]) == b"\xa5" * (len(front.pool) - 12 * PAGE)
    front.close_handle(handle)


def test_many_reads_in_flight(front, block, image):
    handle = open_block(front, block)
    count = front.queues[0].entries
    front.queues[0].push(
        *[
            localfront.request(
                READ, i, pool_page=i, pool_pages=1, handle=handle, part=read_part(i * 5000, PAGE)
            )
            for i in range(count)
        ]
    )
    responses = front.responses(count)
    assert sorted(r.id for r in responses) == list(range(count))
    for i in range(count):
        expected = image.contents[block.id][i * 5000 : i * 5000 + PAGE]
        assert bytes(front.pool[i * PAGE : (i + 1) * PAGE]) == expected
    front.close_handle(handle)


def test_queues_share_handles(daemon, block, image):
    with daemon.front(queues=8, order=4) as front:
        handle = open_block(front, block, queue=7)
        for q in range(8):
            assert front.read(handle, q, 100, queue=q) == image.contents[block.id][q : q + 100]
        assert front.close_handle(handle, queue=3) == 0
        assert front.read_response(handle, 0, 1, queue=7).status == -errno.EBADF


@pytest.mark.parametrize(
    "change,expected",
    [
        ({"block_id": 99}, errno.ENOENT),
        ({"block_id": -(2**63)}, errno.ENOENT),
        ({"genstamp": 1002}, errno.EEXIST),
        ({"pool_id": "BP-2-127.0.0.1-2"}, errno.ENODEV),
        ({"storage_ids": ["DS-of-somebody-else"]}, errno.ENODEV),
        ({"visible_length": 9 * 1024 * 1024 + 334}, errno.ERANGE),
        ({"visible_length": 2**64 - 1}, errno.ERANGE),
    ],
)
def test_open_of_what_is_not_there(front, block, change, expected):
    arguments = {
        "block_id": block.id,
        "genstamp": block.genstamp,
        "pool_id": POOL,
        "storage_ids": [STORAGE],
    }
    assert front.open(**arguments | change).status == -expected


def bad_open_data():
    good = open_data(POOL, [STORAGE], b"token")
    header = localfront.OPEN_DATA
    yield "shorter than a header", good[:7]
    yield "one byte short", good[:-1]
    yield "one byte long", good + b"x"
    yield "empty pool id", open_data("", [STORAGE])
    yield "pool id with NUL", open_data(b"BP\0x", [STORAGE])
    yield "pool id with slash", open_data("../x", [STORAGE])
    yield "pool id dot dot", open_data("..", [STORAGE])
    yield "pool id not ASCII", open_data("BP-é".encode(), [STORAGE])
    yield "pool id of 256 bytes", open_data("B" * 256, [STORAGE])
    yield "empty storage id", open_data(POOL, [""])
    yield "storage id of 128 bytes", open_data(POOL, ["D" * 128])
    yield "storage id with newline", open_data(POOL, ["DS\n1"])
    yield "65 storages", open_data(POOL, ["DS"] * 65)
    yield "token of 8193 bytes", open_data(POOL, [], b"t" * 8193)
    yield "an unknown flag", open_data(POOL, [STORAGE], flags=4)
    yield "all flags", open_data(POOL, [STORAGE], flags=0xFFFF)
    yield "pool id length beyond the end", header.pack(200, 0, 0, 0) + b"BP-1"
    yield "storage count beyond the end", header.pack(4, 3, 0, 0) + b"BP-1" + b"\2DS"
    yield "storage length beyond the end", header.pack(4, 1, 0, 0) + b"BP-1" + b"\x7fDS"
    yield "token length beyond the end", header.pack(4, 0, 99, 0) + b"BP-1" + b"t" * 98
    yield "all ones", b"\xff" * 100
    yield "zeroes", bytes(100)


@pytest.mark.parametrize("data", [pytest.param(d, id=name) for name, d in bad_open_data()])
def test_bad_open_data(front, block, data):
    assert front.open_raw(data, block.id, block.genstamp).status == -errno.EINVAL


@pytest.mark.parametrize("flags", [ENCRYPT, MAC, ENCRYPT | MAC])
def test_a_block_of_this_host_needs_no_protection(front, block, flags):
    response = front.open(block.id, block.genstamp, POOL, [STORAGE], flags=flags)
    assert (response.status, response.flags & REMOTE) == (0, 0)
    assert front.read(response.handle, 0, 100) == block.content()[:100]
    front.close_handle(response.handle)


def test_largest_open_data(front, block):
    storages = [STORAGE] + [f"DS-{i:0>100}" for i in range(63)]
    response = front.open(block.id, block.genstamp, POOL, storages, token=b"t" * 8192)
    assert response.status == 0
    front.close_handle(response.handle)


def test_open_data_length_limits(front, block):
    data = open_data(POOL, [STORAGE])
    for length in (0, 7, 16385, PAGE + 1, 2**32 - 1):
        response = front.open_raw(data, block.id, block.genstamp, length=length)
        assert response.status == -errno.EINVAL, length


MALFORMED = [
    ("length 0", READ, {"pool_pages": 1, "part": read_part(0, 0)}),
    ("length 4 MiB + 1", READ, {"pool_pages": 1025, "part": read_part(0, MAX_READ + 1)}),
    ("length 4 GiB - 1", READ, {"pool_pages": 1, "part": read_part(0, 2**32 - 1)}),
    ("offset overflows", READ, {"pool_pages": 1, "part": read_part(2**64 - 1, 2)}),
    ("range too short", READ, {"pool_pages": 1, "part": read_part(0, PAGE + 1)}),
    ("no pages", READ, {"pool_pages": 0, "part": read_part(0, 1)}),
    ("page behind the pool", READ, {"pool_page": 1100, "pool_pages": 1, "part": read_part(0, 1)}),
    ("range ends outside", READ, {"pool_page": 1099, "pool_pages": 2, "part": read_part(0, 1)}),
    ("more pages than pool", READ, {"pool_pages": 1101, "part": read_part(0, 1)}),
    (
        "page + pages overflows",
        READ,
        {"pool_page": 2**32 - 1, "pool_pages": 2, "part": read_part(0, 1)},
    ),
    (
        "pages times 4096 overflows",
        READ,
        {"pool_pages": 2**20 + 1, "part": read_part(0, 4096)},
    ),
    ("reserved byte", READ, {"pool_pages": 1, "part": read_part(0, 1), "reserved": 1}),
    (
        "reserved of read",
        READ,
        {"pool_pages": 1, "part": read_part(0, 1, (0,) * 8 + (1,))},
    ),
    ("close with pages", CLOSE, {"pool_pages": 1}),
    ("close with a page", CLOSE, {"pool_page": 1}),
    ("close with arguments", CLOSE, {"part": b"\1"}),
    ("stat with arguments", STAT, {"part": b"\0" * 47 + b"\1"}),
    ("open with a handle", OPEN, {"pool_pages": 1, "handle": 1, "part": open_part(1, 1, 8)}),
    (
        "reserved of open",
        OPEN,
        {"pool_pages": 1, "part": open_part(1, 1, 8, reserved=(0, 0, 0, 1))},
    ),
    ("open outside the pool", OPEN, {"pool_page": 1100, "pool_pages": 1,
                                     "part": open_part(1, 1, 8)}),
]  # fmt: skip


@pytest.mark.parametrize("op,fields", [pytest.param(o, f, id=name) for name, o, f in MALFORMED])
def test_malformed_requests(front, block, op, fields):
    handle = open_block(front, block)
    if op != OPEN:
        fields = {"handle": handle} | fields
    assert front.call(op, **fields).status == -errno.EINVAL
    assert front.close_handle(handle) == 0


@pytest.mark.parametrize("op", [0, 7, 255])
def test_unknown_operation(front, op):
    assert front.call(op).status == -errno.EOPNOTSUPP


def test_publish_is_not_offered(front):
    part = localfront.struct.pack("=qQQII4I", 1, 1, 1, 8, 1, 0, 0, 0, 0)
    assert front.call(PUBLISH, pool_pages=1, part=part).status == -errno.EOPNOTSUPP


def test_responses_are_zeroed(front, block):
    front.queues[0].slot(0)[:] = b"\xff" * localfront.ENTRY
    for response in (
        front.call(99),
        front.stat(12345),
        front.read_response(12345, 0, 1),
        front.open(1, 1, POOL),
    ):
        assert response.status < 0
        assert (response.reserved, response.handle, response.flags) == (0, 0, 0)
        assert response.u == bytes(16)
    handle = open_block(front, block)
    content = block.content()
    read = front.read_response(handle, 0, 100)
    assert (read.status, read.reserved, read.handle, read.flags) == (100, 0, 0, 0)
    assert read.u == struct.pack("=I", crc32c_of(content[:100])) + bytes(12)
    end = front.read_response(handle, block.length, 100)
    assert (end.status, end.u) == (0, bytes(16))
    assert front.call(CLOSE, handle=handle).u == bytes(16)


def test_stale_handles(front, block):
    handle = open_block(front, block)
    assert front.close_handle(handle) == 0
    for _ in range(3):
        assert front.close_handle(handle) == -errno.EBADF
        assert front.stat(handle).status == -errno.EBADF
        assert front.read_response(handle, 0, 1).status == -errno.EBADF
    again = open_block(front, block)
    assert again != handle
    assert front.stat(handle).status == -errno.EBADF
    assert front.stat(again).status == 0
    for number in (0, 1, again ^ 1, again + 4096, 2**32 - 1):
        assert front.stat(number).status == -errno.EBADF
    front.close_handle(again)


def test_handles_run_out_and_come_back(daemon, image):
    small = image.blocks[2]
    with daemon.front() as front:
        handles = [open_block(front, small) for _ in range(4096)]
        assert len(set(handles)) == 4096
        assert front.open(small.id, small.genstamp, POOL).status == -errno.EMFILE
        assert front.read(handles[4095], 0, 10) == image.contents[small.id]
        assert front.close_handle(handles[17]) == 0
        again = open_block(front, small)
        assert again not in handles
        assert front.open(small.id, small.genstamp, POOL).status == -errno.EMFILE
        assert daemon.status()["devices"][0]["counters"]["open_handles"] == 4096


def test_handles_are_private_to_a_device(daemon, front, block):
    handle = open_block(front, block)
    with daemon.front() as other:
        assert other.stat(handle).status == -errno.EBADF
        assert other.close_handle(handle) == -errno.EBADF
    assert front.stat(handle).status == 0
    front.close_handle(handle)


def test_the_alive_byte_is_set(front):
    assert front.alive == 1
