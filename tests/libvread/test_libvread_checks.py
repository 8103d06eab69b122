# SPDX-License-Identifier: GPL-2.0-or-later
"""Bytes that changed between the host that verified them and the caller's buffer.

The library compares bytes of other hosts with the CRC32C of their answer.
"""

import errno

import pytest

from tests.libvread import vreadlib
from tests.libvread.backend import PAGE, READ, Backend
from tests.support.hdfs_dir import crc32c_of

FINALIZED, REMOTE = 1, 2
CHUNK = 512 << 10  # the length at which the library splits READs
CONTENT = bytes(range(251)) * 20_000  # 5 MB
KEY = (1, 2)
WRONG = 3 * CHUNK + 77  # the offset of the byte that changes


class Unreliable(Backend):
    """Changes the byte at WRONG on its way, or sends another sum."""

    def __init__(self, path, flags):
        super().__init__(path, {KEY: CONTENT})
        self.flags = flags
        self.spoils = None

    def answer_read(self, channel, request):
        if not self.spoils or not request.offset <= WRONG < request.offset + request.length:
            return super().answer_read(channel, request)
        part = bytearray(CONTENT[request.offset : request.offset + request.length])
        crc32c = crc32c_of(part)
        if self.spoils == "sum":
            crc32c ^= 1
        else:
            part[WRONG - request.offset] ^= 0x40
        at = request.page * PAGE
        channel.pool[at : at + len(part)] = bytes(part)
        channel.respond(request, len(part), length=crc32c)


@pytest.fixture(params=["byte", "sum"])
def spoiled(request):
    return request.param


@pytest.fixture
def backend(endpoint):
    with Unreliable(endpoint, FINALIZED | REMOTE) as b:
        yield b


@pytest.fixture
def connection(lib, backend):
    with vreadlib.Connection(lib, backend.path) as c:
        yield c


@pytest.fixture
def file(connection):
    with connection.open("BP-1", *KEY) as f:
        yield f


def expect(number, call):
    with pytest.raises(OSError) as error:
        call()
    assert error.value.errno == number


def test_positional(backend, file, spoiled):
    assert file.pread(5_000_000, 100) == CONTENT[100:5_000_100]
    backend.spoils = spoiled
    expect(errno.EBADE, lambda: file.pread(5_000_000, 100))
    expect(errno.EBADE, lambda: file.pread(1, WRONG))
    assert file.pread(WRONG, 0) == CONTENT[:WRONG]
    backend.spoils = None
    assert file.pread(5_000_000, 100) == CONTENT[100:5_000_100]


def test_vectored(backend, file, spoiled):
    backend.spoils = spoiled
    ranges = [(0, 1000), (WRONG - 10, 20), (WRONG + 1, 300_000)]
    status, results = file.preadv(ranges)
    assert status == -errno.EBADE
    assert results == [
        CONTENT[:1000],
        -errno.EBADE,
        CONTENT[WRONG + 1 : WRONG + 300_001],
    ]


def test_a_sink_gets_no_piece_that_is_wrong(backend, file, spoiled):
    backend.spoils = spoiled
    pieces, result = file.pread_to(5_000_000, 0)
    assert result == -errno.EBADE
    assert b"".join(pieces) == CONTENT[: len(b"".join(pieces))]
    file.seek(0)
    pieces, result = file.read_to(5_000_000)
    assert result == -errno.EBADE
    assert b"".join(pieces) == CONTENT[: len(b"".join(pieces))]
    assert file.seek(0, 1) == 0  # the position has not moved


@pytest.mark.parametrize("step", [1000, PAGE, 65536, CHUNK, 5_000_000])
def test_sequential(backend, file, spoiled, step):
    """No call returns a wrong byte, however small the pieces of a chunk that are copied."""
    backend.spoils = spoiled
    good = b""
    with pytest.raises(OSError) as error:
        while True:
            good += file.read(step)
    assert error.value.errno == errno.EBADE
    assert good == CONTENT[: len(good)]
    assert len(good) <= WRONG
    assert file.seek(0, 1) == len(good)
    backend.spoils = None
    assert file.read(step) == CONTENT[len(good) : len(good) + step]


@pytest.mark.parametrize("step", [1000, 65536])
def test_sequential_with_a_sink(backend, file, spoiled, step):
    backend.spoils = spoiled
    good, result = b"", 0
    while result >= 0:
        pieces, result = file.read_to(step)
        good += b"".join(pieces) if result >= 0 else b""
    assert result == -errno.EBADE
    assert good == CONTENT[: len(good)]
    assert len(good) <= WRONG


def test_both_sequential_ways_of_one_chunk(backend, file):
    """A chunk that a sink has seen is still compared where the next bytes are copied to."""
    assert b"".join(file.read_to(1000)[0]) == CONTENT[:1000]
    changed = bytes(b ^ 0xFF for b in CONTENT[:PAGE])
    read = next(r for r in backend.requests if r.op == READ)
    backend.channels[0].pool[read.page * PAGE : (read.page + 1) * PAGE] = changed
    expect(errno.EBADE, lambda: file.read(1000))
    assert file.read(1000) == CONTENT[1000:2000]  # with another READ


def test_a_private_copy_does_not_follow_the_slice(backend, file):
    """What others write to the slice after the check is not seen by later reads of the chunk."""
    assert file.read(1000) == CONTENT[:1000]
    read = next(r for r in backend.requests if r.op == READ)
    backend.channels[0].pool[read.page * PAGE : (read.page + 1) * PAGE] = bytes(PAGE)
    assert file.read(1000) == CONTENT[1000:2000]


def test_asynchronous(backend, connection, spoiled):
    with connection.open("BP-1", *KEY) as f:
        backend.spoils = spoiled
        f.submit(WRONG, 1000, cookie=1)
        f.submit(WRONG + 1, 1000, cookie=2)
        f.submit(len(CONTENT) - 10, 1000, cookie=3)
        got = {}
        while len(got) < 3:
            for c in connection.reap():
                got[c.cookie] = (c.result, c.data and vreadlib.data(c))
                connection.release(c)
        assert got[1] == (-errno.EBADE, None)
        assert got[2] == (1000, CONTENT[WRONG + 1 : WRONG + 1001])
        assert got[3] == (10, CONTENT[-10:])


def test_the_connection_goes_on(backend, connection, spoiled):
    with connection.open("BP-1", *KEY) as f:
        backend.spoils = spoiled
        expect(errno.EBADE, lambda: f.pread(10, WRONG))
        assert connection.connected()
        assert f.pread(10, WRONG + 1) == CONTENT[WRONG + 1 : WRONG + 11]


def test_bytes_of_this_host_are_not_checked(lib, endpoint):
    with (
        Unreliable(endpoint, FINALIZED) as backend,
        vreadlib.Connection(lib, endpoint) as connection,
        connection.open("BP-1", *KEY) as f,
    ):
        backend.spoils = "sum"
        assert f.pread(len(CONTENT), 0) == CONTENT
        assert f.read(len(CONTENT)) == CONTENT
