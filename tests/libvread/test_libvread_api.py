# SPDX-License-Identifier: GPL-2.0-or-later
"""Every call of libvread against a real vreadd: the bytes must be those of the block."""

import ctypes
import errno
import os
import random
import select
import threading

import pytest

from tests.libvread import vreadlib
from tests.support.waiting import eventually

NAMES = ["large", "chunk", "odd", "byte", "rbw"]


@pytest.fixture
def block(served):
    return served[1]["large"]


def open_block(connection, block, visible=None):
    visible = block.length if visible is None else visible
    return connection.open(block.pool, block.id, block.genstamp, visible, ["DS-1"])


@pytest.mark.parametrize("name", NAMES)
def test_whole_block_by_every_call(connection, served, name):
    block = served[1][name]
    content = block.content()
    with open_block(connection, block) as f:
        assert f.pread(block.length + 100, 0) == content
        assert f.read(block.length + 100) == content
        assert f.read(100) == b""
        assert f.preadv([(0, block.length)]) == (0, [content])
        assert read_async(connection, f, block.length, 300_000) == content


@pytest.mark.parametrize("name", NAMES)
def test_pieces_come_in_order_and_whole(connection, served, name):
    block = served[1][name]
    content = block.content()
    with open_block(connection, block) as f:
        for pieces, result in (f.pread_to(block.length + 100, 0), f.read_to(block.length + 100)):
            assert (result, b"".join(pieces)) == (block.length, content)
            assert all(pieces)
        assert f.read_to(100) == ([], 0)
        assert f.pread_to(100, block.length) == ([], 0)
        if block.length > 1000:
            pieces, result = f.pread_to(500, 300)
            assert (result, b"".join(pieces)) == (500, content[300:800])
            f.seek(301)
            assert b"".join(f.read_to(400)[0]) == content[301:701]
            assert f.read(100) == content[701:801]


def test_a_sign_of_life_is_no_block_and_no_error(connection, vreadd, block):
    errors = vreadd.status()["totals"]["errors"]
    for _ in range(3):
        connection.ping()
    assert vreadd.status()["totals"]["errors"] == errors
    with open_block(connection, block) as f:
        assert f.pread(100, 0) == block.content()[:100]


def read_async(connection, file, length, piece):
    content = bytearray(length)
    pending = list(range(0, length, piece))
    waiting = 0
    while pending or waiting:
        while pending:
            try:
                file.submit(pending[0], piece)
            except BlockingIOError:  # EAGAIN
                break
            pending.pop(0)
            waiting += 1
        for completion in connection.reap():
            assert completion.result == min(piece, length - completion.offset)
            end = completion.offset + completion.result
            content[completion.offset : end] = vreadlib.data(completion)
            connection.release(completion)
            waiting -= 1
    return bytes(content)


@pytest.mark.parametrize("size", [1, 511, 4096, 65536, 100_003, 1 << 20])
def test_sequential_reads_of_any_size(connection, block, size):
    length = min(block.length, size * 3000)
    with open_block(connection, block) as f:
        content = b"".join(iter_read(f, size, length))
    assert content == block.content()[: len(content)]
    assert len(content) >= length


def iter_read(file, size, length):
    done = 0
    while done < length:
        part = file.read(size)
        assert part
        done += len(part)
        yield part


def test_random_preads(connection, block):
    content = block.content()
    rng = random.Random(1)
    with open_block(connection, block) as f:
        for _ in range(500):
            offset = rng.randrange(block.length + 10)
            length = rng.choice([1, 100, 4096, 70_000, 600_000])
            assert f.pread(length, offset) == content[offset : offset + length]


def test_reads_end_at_the_visible_length(connection, block):
    content = block.content()
    with open_block(connection, block, visible=1_000_001) as f:
        assert f.stat().visible_length == 1_000_001
        assert f.stat().length == block.length
        assert f.pread(10**6, 900_000) == content[900_000:1_000_001]
        assert f.pread(10, 1_000_001) == b""
        assert f.pread(10, 2**63) == b""
        assert f.seek(-1, os.SEEK_END) == 1_000_000
        assert f.read(10) == content[1_000_000:1_000_001]
        f.submit(1_000_000, 4096)
        (completion,) = connection.reap()
        assert vreadlib.data(completion) == content[1_000_000:1_000_001]
        connection.release(completion)


def test_no_visible_length_means_the_replicas_own(connection, block):
    with open_block(connection, block, visible=0) as f:
        assert f.stat().visible_length == block.length


def test_seek(connection, block):
    content = block.content()
    rng = random.Random(2)
    with open_block(connection, block) as f:
        position = 0
        for _ in range(300):
            whence = rng.choice([os.SEEK_SET, os.SEEK_CUR, os.SEEK_END])
            target = rng.randrange(block.length + 1)
            base = {os.SEEK_SET: 0, os.SEEK_CUR: position, os.SEEK_END: block.length}[whence]
            assert f.seek(target - base, whence) == target
            n = rng.choice([1, 4096, 200_000])
            assert f.read(n) == content[target : target + n]
            position = min(target + n, block.length)


@pytest.mark.parametrize(
    ("offset", "whence"),
    [
        (-1, os.SEEK_SET),
        (-9_000_002, os.SEEK_END),
        (1, os.SEEK_END),
        (-(2**63), os.SEEK_CUR),
        (2**63 - 1, os.SEEK_CUR),
        (0, 77),
    ],
)
def test_seek_outside_moves_nothing(connection, block, offset, whence):
    with open_block(connection, block) as f:
        f.seek(5)
        with pytest.raises(OSError) as error:
            f.seek(offset, whence)
        assert error.value.errno == errno.EINVAL
        assert f.seek(0, os.SEEK_CUR) == 5


def test_vectored(connection, block):
    content = block.content()
    rng = random.Random(3)
    ranges = [(rng.randrange(block.length), rng.randrange(150_000)) for _ in range(100)]
    ranges += [(0, 0), (block.length, 10), (block.length - 5, 10), (10**12, 1)]
    with open_block(connection, block) as f:
        status, results = f.preadv(ranges)
        assert status == 0
        assert results == [content[o : o + n] for o, n in ranges]
        assert f.preadv([]) == (0, [])


def test_async_keeps_data_until_released(connection, block):
    content = block.content()
    with open_block(connection, block) as f:
        held = []
        for offset in range(0, 3 << 20, 1 << 20):
            f.submit(offset, 1 << 20, offset + 1)
        while len(held) < 3:
            held += connection.reap()
        assert f.pread(4096, 5) == content[5:4101]  # uses the rest of the slice
        for completion in held:
            assert completion.cookie == completion.offset + 1
            end = completion.offset + (1 << 20)
            assert vreadlib.data(completion) == content[completion.offset : end]
            connection.release(completion)
            connection.release(completion)  # a second release must do no harm
        f.submit(0, 4 << 20)  # the whole slice is free again
        (completion,) = connection.reap()
        assert vreadlib.data(completion) == content[: 4 << 20]
        connection.release(completion)


def test_submit_says_when_there_is_no_room(connection, block):
    with open_block(connection, block) as f:
        f.submit(0, 3 << 20)
        with pytest.raises(BlockingIOError):
            f.submit(0, 2 << 20)
        (completion,) = connection.reap()
        with pytest.raises(BlockingIOError):
            f.submit(0, 2 << 20)
        connection.release(completion)
        f.submit(0, 2 << 20)
        (completion,) = connection.reap()
        connection.release(completion)


@pytest.mark.parametrize("length", [0, (4 << 20) + 1, 2**40])
def test_submit_refuses_lengths(connection, block, length):
    with open_block(connection, block) as f, pytest.raises(OSError) as error:
        f.submit(0, length)
    assert error.value.errno == errno.EINVAL


def test_event_fd(connection, block):
    fd = connection.event_fd()
    assert connection.event_fd() == fd
    with open_block(connection, block) as f:

        def quiet():  # an answer may come before its event, which then announces nothing new
            assert connection.reap(timeout_ms=0) == []
            return not readable(fd, 0)

        eventually(quiet)
        for offset in range(0, 200_000, 50_000):
            f.submit(offset, 50_000)
            completions = []
            while not completions:
                assert readable(fd, 120)
                completions = connection.reap(timeout_ms=0)
            assert [c.offset for c in completions] == [offset]
            connection.release(completions[0])
            eventually(quiet)
        # the descriptor must be readable although another call has taken the answer
        f.submit(7, 100)
        f.pread(100, 500_000)
        f.pread(100, 600_000)
        completions = []
        while not completions:
            assert readable(fd, 120)
            completions = connection.reap(timeout_ms=0)
        (completion,) = completions
        assert vreadlib.data(completion) == block.content()[7:107]
        connection.release(completion)


def readable(fd, seconds):
    return bool(select.select([fd], [], [], seconds)[0])


def test_stat_and_update(connection, served):
    for name, finalized in (("large", 1), ("rbw", 0)):
        block = served[1][name]
        with open_block(connection, block) as f:
            stat = f.stat()
            assert (stat.length, stat.generation_stamp) == (block.length, block.genstamp)
            assert stat.flags & 1 == finalized
            f.update()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"block_id": 4}, errno.ENOENT),
        ({"genstamp": 1000}, errno.EEXIST),
        ({"pool": "BP-2"}, errno.ENODEV),
        ({"storages": ["DS-9"]}, errno.ENODEV),
        ({"visible": 9_000_002}, errno.ERANGE),
        ({"pool": ""}, errno.EINVAL),
        ({"pool": "p" * 256}, errno.EINVAL),
        ({"storages": [""]}, errno.EINVAL),
        ({"storages": ["s"] * 65}, errno.EINVAL),
        ({"token": b"t" * 8193}, errno.EINVAL),
    ],
)
def test_open_errors(connection, block, change, expected):
    name = {"pool": block.pool, "block_id": block.id, "genstamp": block.genstamp} | change
    with pytest.raises(OSError) as error:
        connection.open(**name)
    assert error.value.errno == expected


@pytest.mark.parametrize("pool_bytes", [1, 65535, (128 << 20) + 1])
def test_connect_refuses_pool_sizes(lib, vreadd, pool_bytes):
    with pytest.raises(OSError) as error:
        vreadlib.Connection(lib, vreadd.endpoint, pool_bytes=pool_bytes)
    assert error.value.errno == errno.EINVAL


@pytest.mark.parametrize("pool_bytes", [64 << 10, 100_000, 16 << 20])
def test_any_pool_size_reads_right(lib, vreadd, block, pool_bytes):
    content = block.content()
    connection = vreadlib.Connection(lib, vreadd.endpoint, pool_bytes=pool_bytes)
    with connection as c, open_block(c, block) as f:
        assert f.pread(block.length, 0) == content
        assert f.read(block.length) == content
        results = [content[:500_000], content[7:300_007]]
        assert f.preadv([(0, 500_000), (7, 300_000)]) == (0, results)


def test_connect_errors(lib, tmp_path):
    regular = tmp_path / "file"
    regular.write_text("")
    for path, expected in (
        (tmp_path / "nothing", errno.ENOENT),
        (regular, errno.EINVAL),
        ("/dev/null", errno.EINVAL),
    ):
        with pytest.raises(OSError) as error:
            vreadlib.Connection(lib, path)
        assert error.value.errno == expected, path


def test_endpoint_from_the_environment(lib, vreadd, monkeypatch):
    monkeypatch.setenv("VREAD_ENDPOINT", vreadd.endpoint)
    pointer = ctypes.c_void_p()
    assert lib.vread_connect_sized(ctypes.byref(pointer), None, 0) == 0
    assert lib.vread_connected(pointer) == 1
    lib.vread_disconnect(pointer)


def test_many_threads_on_one_connection(lib, vreadd, served):
    """Threads read their own files and a shared one, in a slice too small for all.  All bytes must
    be right."""
    blocks = [served[1][name] for name in ("large", "odd", "rbw")]
    contents = {block.id: block.content() for block in blocks}
    failures = []

    def work(seed, shared):
        try:
            rng = random.Random(seed)
            block = rng.choice(blocks)
            content = contents[block.id]
            with open_block(connection, block) as own:
                for _ in range(40):
                    read_something(rng, own, content, shared)
        except BaseException as error:
            failures.append(error)

    def read_something(rng, own, content, shared):
        offset = rng.randrange(len(content))
        length = rng.choice([100, 5000, 300_000])
        expected = content[offset : offset + length]
        kind = rng.randrange(4)
        if kind == 0:
            assert own.pread(length, offset) == expected
        elif kind == 1:
            own.seek(offset)
            assert own.read(length) == expected
        elif kind == 2:
            assert own.preadv([(offset, length), (0, 10)]) == (0, [expected, content[:10]])
        else:
            large = contents[blocks[0].id]
            assert shared.pread(length, offset) == large[offset : offset + length]

    small = vreadlib.Connection(lib, vreadd.endpoint, pool_bytes=1 << 20)
    with small as connection, open_block(connection, blocks[0]) as shared:
        threads = [threading.Thread(target=work, args=(n, shared)) for n in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive()
    assert not failures


def test_one_position_for_all_threads(connection, block):
    """Threads call vread_read() on one file: each byte must be read once, none twice."""
    content = block.content()
    parts = []

    def work():
        while part := f.read(10_000):
            parts.append(part)

    with open_block(connection, block, visible=3_000_000) as f:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert sorted(parts) == sorted(content[at : at + 10_000] for at in range(0, 3_000_000, 10_000))


def test_a_forked_child_is_refused(connection, block):
    with open_block(connection, block) as f:
        f.read(10)
        pid = os.fork()
        if pid == 0:
            os._exit(child_is_refused(connection, f))
        assert os.waitpid(pid, 0)[1] == 0
        assert connection.connected()
        assert f.read(10) == block.content()[10:20]


def child_is_refused(connection, file):
    try:
        lib = connection.lib
        buffer = ctypes.create_string_buffer(10)
        refused = [
            lib.vread_read(file.pointer, buffer, 10),
            lib.vread_pread(file.pointer, buffer, 10, 0),
            lib.vread_seek(file.pointer, 0, 0),
            lib.vread_update(file.pointer),
            lib.vread_submit(file.pointer, 0, 10, None),
            lib.vread_event_fd(connection.pointer),
        ]
        if any(value != -errno.ENOTCONN for value in refused) or connection.connected():
            return 1
        file.close()
        connection.close()
        return 0
    except BaseException:
        return 2


def test_strerror(lib):
    names = "EACCES EBADMSG EBUSY EEXIST EILSEQ ENODATA ENOENT ENOTCONN EOPNOTSUPP EPERM ERANGE"
    for name in [*names.split(), "ETIME"]:
        text = lib.vread_strerror(-getattr(errno, name)).decode()
        assert text and text != "unknown error"
    assert lib.vread_strerror(-12345) == b"unknown error"


def test_only_the_api_is_exported(lib):
    exported = set()
    for line in os.popen(f"nm -D --defined-only {lib._name}"):
        address_type_name = line.split()
        if address_type_name[-2] in "TDB":
            exported.add(address_type_name[-1].split("@@")[0])
    sized = {name for name in vreadlib.PROTOTYPES if name.endswith("_sized")}
    of_0_1_0 = {f"{name.removesuffix('_sized')}@LIBVREAD_1" for name in sized}
    assert exported == set(vreadlib.PROTOTYPES) | of_0_1_0
