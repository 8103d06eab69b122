# SPDX-License-Identifier: GPL-2.0-or-later
"""Serving many clients: the verified cache of images read with O_DIRECT, read-ahead, memory."""

import contextlib
import errno
import os
import sys

import pytest

from tests.support.daemon import STORAGE, open_block
from tests.support.hdfs_dir import POOL
from tests.support.localfront import APPEND, FINALIZED, PAGE
from tests.support.reloading import Reader, changed

STEP = 1 << 20
UNIT = 64 << 10
DIRECT = "image-mode = direct\n"
# A program that makes io_uring_setup(2) fail with EPERM, as the seccomp filter of a container does,
# and then runs another program: PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP with
# "number == 425 ? ERRNO | EPERM : ALLOW".
WITHOUT_IO_URING = """
import ctypes, os, struct, sys
code = b"".join(struct.pack("HBBI", *i) for i in (
    (0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)))
libc = ctypes.CDLL(None, use_errno=True)
keep = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4, ctypes.addressof(keep)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


def settings(**keys):
    return "[vreadd]\n" + "".join(f"{k.replace('_', '-')} = {v}\n" for k, v in keys.items())


@pytest.fixture(scope="session")
def odirect(image):
    """Skips the test if the image's file system has no O_DIRECT."""
    try:
        os.close(os.open(image.path, os.O_RDONLY | os.O_DIRECT))
    except OSError as error:
        pytest.skip(f"{image.path}: {error}")


@pytest.fixture
def front(start_daemon):
    """front(daemon): a new client."""
    with contextlib.ExitStack() as clients:
        yield lambda daemon: clients.enter_context(daemon.front(pool_pages=1100))


def read_all(client, handle, block, step=STEP):
    data = b""
    while len(data) < block.length:
        data += client.read(handle, len(data), min(step, block.length - len(data)))
    return data


def cache_of(daemon):
    return daemon.status()["reading"]["cache"]


def drop_pages(image):
    with open(image.path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.mark.usefixtures("odirect")
def test_what_one_client_read_is_there_for_another(start_daemon, front, image):
    daemon = start_daemon(local=settings(cache="64M"), extra=DIRECT)
    block = image.blocks[0]
    for _ in range(2):
        client = front(daemon)
        assert read_all(client, open_block(client, block), block) == image.contents[block.id]
    cache = cache_of(daemon)
    assert (cache["size"], cache["limited_by"]) == (64 << 20, "configuration")
    assert block.length <= cache["used"] <= cache["size"]
    assert cache["hits"] >= -(-block.length // STEP)  # all reads of the second client


@pytest.mark.usefixtures("odirect")
def test_forward_readers_are_read_ahead_for(start_daemon, front, image):
    """Reads of a quarter of a unit.  Only what was read ahead has whole units, and only they are
    kept: so the first read of a unit misses, and the others hit."""
    daemon = start_daemon(extra=DIRECT)
    block = image.blocks[0]
    client = front(daemon)
    content = read_all(client, open_block(client, block), block, UNIT // 4)
    assert content == image.contents[block.id]
    reading = daemon.status()["reading"]
    assert reading["io_uring"] == "ok"
    assert reading["cache"]["hits"] > reading["cache"]["misses"] * 2
    assert reading["disks"] == []  # nobody is in the middle of a block


@pytest.mark.usefixtures("odirect")
def test_a_small_cache_keeps_to_its_size(start_daemon, front, image):
    daemon = start_daemon(local=settings(cache="1M"), extra=DIRECT)
    client = front(daemon)
    for block in image.blocks * 2:
        assert read_all(client, open_block(client, block), block) == image.contents[block.id]
        assert cache_of(daemon)["used"] <= 1 << 20


@pytest.mark.usefixtures("odirect")
@pytest.mark.parametrize("first", ["64M", "0", "auto"])
def test_a_reload_empties_the_cache_while_a_client_reads(start_daemon, front, image, edit, first):
    daemon = start_daemon(local=settings(cache=first), extra=DIRECT)
    block = image.blocks[0]
    with daemon.front(pool_pages=1100) as reading:
        reader = Reader(reading, image)
        assert reader.has_gone_on(daemon)
        assert (cache_of(daemon)["size"] > 0) == (first != "0")
        edit(daemon, f"cache = {first}", "cache = 1M")
        changed(daemon, "[vreadd]: cache changed")
        assert cache_of(daemon)["used"] <= cache_of(daemon)["size"] == 1 << 20
        edit(daemon, "cache = 1M", "cache = 0")
        changed(daemon, "[vreadd]: cache changed")
        assert cache_of(daemon) == {"size": 0, "limited_by": "configuration"}
        assert reader.has_gone_on(daemon)
        assert reader.stop() is None
    edit(daemon, "cache = 0", "cache = 64M")
    changed(daemon, "[vreadd]: cache changed")
    assert cache_of(daemon)["used"] == 0
    client = front(daemon)
    assert read_all(client, open_block(client, block), block) == image.contents[block.id]
    assert cache_of(daemon)["used"] >= block.length


@pytest.mark.usefixtures("odirect")
@pytest.mark.parametrize("keys", [{"cache": 0}, {"read-ahead": 0}, {"cache": 0, "read-ahead": 0}])
def test_without_cache_or_read_ahead(start_daemon, front, image, keys):
    daemon = start_daemon(local=settings(**keys), extra=DIRECT)
    client = front(daemon)
    for block in image.blocks:
        handle = open_block(client, block)
        assert read_all(client, handle, block) == image.contents[block.id]
        assert read_all(client, handle, block) == image.contents[block.id]
    cache = cache_of(daemon)
    if "cache" in keys:
        assert cache == {"size": 0, "limited_by": "configuration"}
    else:  # auto
        assert cache["size"] >= 64 << 20
        assert cache["limited_by"] in ("host", "service", "least")


@pytest.mark.usefixtures("odirect")
def test_a_scan_leaves_what_is_read_again_and_again(start_daemon, front, image):
    """A block that is larger than the cache does not push out a block that was read a few times."""
    large, hot, _ = image.blocks
    daemon = start_daemon(local=settings(cache="4M"), extra=DIRECT)
    client = front(daemon)
    for block in (hot, hot, hot, hot, large):
        assert read_all(client, open_block(client, block), block) == image.contents[block.id]
    before = cache_of(daemon)
    assert read_all(client, open_block(client, hot), hot) == image.contents[hot.id]
    after = cache_of(daemon)
    assert (after["misses"], after["filled"]) == (before["misses"], before["filled"])
    assert after["hits"] == before["hits"] + 1


@pytest.mark.usefixtures("odirect")
def test_what_a_cache_of_twice_the_size_would_have_is_told(start_daemon, front, image):
    daemon = start_daemon(local=settings(cache="4M"), extra=DIRECT)
    client, block = front(daemon), image.blocks[0]
    for again in (False, True):
        handle = open_block(client, block)
        for at in range(0, 6 * STEP, STEP):
            assert client.read(handle, at, STEP) == image.contents[block.id][at : at + STEP]
        cache = cache_of(daemon)
        assert (cache["filled_again"] > 0) == again
        assert cache["filled_again"] < cache["filled"]


@pytest.mark.usefixtures("odirect")
def test_withdrawn_blocks_leave_the_cache(start_daemon, front, image):
    daemon = start_daemon(local="publish-datanodes = dn1\n", extra=DIRECT)
    client, block = front(daemon), image.blocks[0]
    handle = open_block(client, block)
    read_all(client, handle, block)
    assert cache_of(daemon)["used"] >= block.length
    assert client.publish(APPEND, block.id, block.genstamp, POOL, STORAGE) == 0
    assert client.read_response(handle, 0, 100).status == -errno.EAGAIN
    assert cache_of(daemon)["used"] == 0
    assert client.publish(FINALIZED, block.id, block.genstamp, POOL, STORAGE) == 0
    assert read_all(client, handle, block) == image.contents[block.id]


@pytest.mark.usefixtures("odirect")
def test_no_io_uring_is_told_and_survived(start_daemon, front, image):
    wrapper = [sys.executable, "-c", WITHOUT_IO_URING]
    daemon = start_daemon(extra=DIRECT, wrapper=wrapper)
    client, block = front(daemon), image.blocks[0]
    for _ in range(2):
        handle = open_block(client, block)
        assert read_all(client, handle, block, UNIT) == image.contents[block.id]
    assert daemon.status()["reading"]["io_uring"] == "Operation not permitted"
    assert daemon.log().count("io_uring is not available (Operation not permitted)") == 1


def test_cold_images_are_read_right(start_daemon, front, image):
    daemon = start_daemon()
    drop_pages(image)
    clients = [front(daemon) for _ in range(8)]
    block = image.blocks[0]
    handles = [open_block(client, block) for client in clients]
    for at in range(0, block.length, STEP):
        expected = image.contents[block.id][at : at + STEP]
        for client, handle in zip(clients, handles, strict=True):
            assert client.read(handle, at, len(expected)) == expected
    assert daemon.status()["reading"]["disks"] == []


@pytest.mark.usefixtures("odirect")
def test_memory_of_many_clients_is_bounded(start_daemon, front, image):
    """A client costs its worker's buffers and the bytes that are read ahead for it."""
    daemon = start_daemon(
        variant="release", local=settings(cache="4M", read_ahead="1M"), extra=DIRECT
    )
    block = image.blocks[0]

    def read_a_part(client):
        handle = open_block(client, block)  # never read to the end of the block, on purpose
        for at in range(0, 3 * STEP, STEP):
            client.read(handle, at, STEP)

    read_a_part(front(daemon))
    before = daemon.memory_kib()
    clients = [front(daemon) for _ in range(24)]
    for client in clients:
        read_a_part(client)
    pool = 1100 * PAGE + PAGE  # shared with this process, so smaps counts half of it
    own = (daemon.memory_kib() - before) * 1024 / len(clients) - pool / 2
    assert own <= (1 << 20) + (1 << 20) + (512 << 10)  # one piece, the read-ahead, other memory
    reading = daemon.status()["reading"]
    assert reading["disks"][0]["clients"] == len(clients) + 1
    assert reading["cache"]["used"] <= 4 << 20
