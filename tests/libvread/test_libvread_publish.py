# SPDX-License-Identifier: GPL-2.0-or-later
"""vread_publish against a real vreadd.  After a withdrawal has returned, no client may read the
block."""

import errno
import os
import shutil
import threading

import pytest

from tests.libvread import vreadlib
from tests.libvread.vreadlib import APPEND, DELETE, FINALIZED, TRUNCATE
from tests.support.block_token import ENCODINGS, SHA512, Key, make_token
from tests.support.waiting import eventually
from tools.vreadd import DataDirs, Vreadd

READERS = 3
ROUNDS = 30


@pytest.fixture(scope="module")
def publishing(served):
    with Vreadd(served[0], variant="asan", publish=["dn1"]) as daemon:
        yield daemon


@pytest.fixture
def publisher(lib, publishing):
    with vreadlib.Connection(lib, publishing.endpoint) as connection:
        yield connection


@pytest.fixture
def block(served, publisher):
    block = served[1]["chunk"]
    yield block
    publish(publisher, FINALIZED, block)


def publish(connection, event, block, **arguments):
    connection.publish(event, block.pool, block.id, block.genstamp, ["DS-1"], **arguments)


def open_block(connection, block):
    return connection.open(block.pool, block.id, block.genstamp, block.length, ["DS-1"])


def error_of(call, *arguments):
    with pytest.raises(OSError) as raised:
        call(*arguments)
    return raised.value.errno


@pytest.mark.parametrize("event", [APPEND, TRUNCATE, DELETE])
def test_withdrawn_until_finalized(publisher, connection_to, block, event):
    with connection_to() as reader, open_block(reader, block) as f:
        assert f.pread(100, 0) == block.content()[:100]
        publish(publisher, event, block, length=12)
        assert error_of(f.pread, 100, 0) == errno.EAGAIN
        assert error_of(f.update) == errno.EAGAIN
        assert error_of(open_block, reader, block) == errno.ENOENT
        publish(publisher, FINALIZED, block)
        assert f.pread(100, 0) == block.content()[:100]
        f.update()


@pytest.fixture
def connection_to(lib, publishing):
    return lambda: vreadlib.Connection(lib, publishing.endpoint)


@pytest.mark.parametrize(
    "event,storages,token",
    [
        pytest.param(0, ["DS-1"], None, id="event 0"),
        pytest.param(5, ["DS-1"], None, id="event 5"),
        pytest.param(DELETE, [], None, id="no storage"),
        pytest.param(DELETE, ["DS-1", "DS-2"], None, id="two storages"),
        pytest.param(DELETE, [""], None, id="an empty storage id"),
        pytest.param(DELETE, ["DS-1"], b"t", id="a token"),
    ],
)
def test_bad_arguments(publisher, block, event, storages, token):
    arguments = event, block.pool, block.id, block.genstamp, storages, token
    assert error_of(publisher.publish, *arguments) == errno.EINVAL
    open_block(publisher, block).close()


def test_unknown_storage(publisher, block):
    arguments = DELETE, block.pool, block.id, block.genstamp, ["DS-9"]
    assert error_of(publisher.publish, *arguments) == errno.ENODEV


def test_not_a_publisher(connection, block):
    assert error_of(publish, connection, DELETE, block) == errno.EOPNOTSUPP


def test_a_child_may_not(publisher, block):
    child = os.fork()
    if not child:
        refused = error_of(publish, publisher, DELETE, block) == errno.ENOTCONN
        os._exit(0 if refused else 1)
    assert os.waitpid(child, 0)[1] == 0
    open_block(publisher, block).close()


class Reader(threading.Thread):
    """Reads a block as fast as it can, and records bytes and errors that it must not get."""

    def __init__(self, connection, block, withdrawn):
        super().__init__()
        self.connection, self.block, self.withdrawn = connection, block, withdrawn
        self.stop = threading.Event()
        self.reads, self.denials, self.wrong = 0, 0, []

    def run(self):
        content = self.block.content()
        with open_block(self.connection, self.block) as f:
            while not self.stop.is_set():
                before = self.withdrawn.is_set()
                try:
                    data = f.pread(65536, 0)
                except OSError as error:
                    if error.errno != errno.EAGAIN:
                        self.wrong.append(error)
                    self.denials += 1
                    continue
                if before and self.withdrawn.is_set():
                    self.wrong.append("bytes of a withdrawn block")
                if data != content[:65536]:
                    self.wrong.append("other bytes")
                self.reads += 1


def wait_for_three_more(readers, counter):
    start = [getattr(reader, counter) for reader in readers]

    def are_there():
        assert all(r.is_alive() for r in readers)
        return all(getattr(r, counter) >= n + 3 for r, n in zip(readers, start, strict=True))

    eventually(are_there, what=f"three more {counter}")


def test_nobody_reads_after_publish_returned(publisher, connection_to, block):
    withdrawn = threading.Event()
    readers = [Reader(connection_to(), block, withdrawn) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(ROUNDS):
            wait_for_three_more(readers, "reads")
            publish(publisher, APPEND, block)
            withdrawn.set()
            wait_for_three_more(readers, "denials")
            withdrawn.clear()
            publish(publisher, FINALIZED, block)
    finally:
        for reader in readers:
            reader.stop.set()
        for reader in readers:
            reader.join()
            reader.connection.close()
        assert [reader.wrong[:3] for reader in readers] == [[]] * READERS


def is_known(connection, event, block):
    """Publishes an event of the block.  False: ENODEV."""
    try:
        publish(connection, event, block)
    except OSError as error:
        assert error.errno == errno.ENODEV
        return False
    return True


def test_a_storage_that_comes_later(lib, served, tmp_path):
    """The image does not exist when vreadd starts: publishing must give ENODEV until it appears,
    then work."""
    (image, _), block = served[0]["dn1"], served[1]["chunk"]
    datanodes = {"dn1": DataDirs(tmp_path / "later.raw", ["/dfs/data"])}
    with (
        Vreadd(datanodes, variant="asan", publish=["dn1"]) as daemon,
        vreadlib.Connection(lib, daemon.endpoint) as connection,
    ):
        assert error_of(publish, connection, DELETE, block) == errno.ENODEV
        shutil.copy(image, tmp_path / "copy")
        (tmp_path / "copy").rename(tmp_path / "later.raw")
        eventually(lambda: is_known(connection, DELETE, block), what="its storage")
        assert error_of(open_block, connection, block) == errno.ENOENT
        publish(connection, FINALIZED, block)
        open_block(connection, block).close()


# ---- keys of block tokens --------------------------------------------------------------


@pytest.fixture(scope="module")
def with_tokens(served):
    """A vreadd of its own: a datanode that has given keys cannot take them back."""
    with Vreadd(served[0], variant="asan", publish=["dn1"]) as daemon:
        yield daemon


@pytest.fixture
def keys(lib, with_tokens, served):
    """publish_keys(keys, tokens=1): publishes keys of the block's pool."""
    block = served[1]["chunk"]
    with vreadlib.Connection(lib, with_tokens.endpoint) as publisher:

        def publish_keys(keys, tokens=1, storage="DS-1"):
            publisher.publish_keys(block.pool, storage, keys, tokens)

        yield publish_keys


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_only_with_a_token(keys, lib, with_tokens, block, encoding):
    mine, other = Key(-7, b"\0secret", SHA512), Key(8, bytes(range(64)))
    keys([mine, other])
    with vreadlib.Connection(lib, with_tokens.endpoint) as reader:
        assert error_of(open_block, reader, block) == errno.EPERM
        for key in (mine, other):
            token = make_token(key, block.pool, block.id, encoding)
            arguments = block.pool, block.id, block.genstamp, block.length, ["DS-1"], token
            with reader.open(*arguments) as f:
                assert f.pread(100, 0) == block.content()[:100]
        keys([other])
        token = make_token(mine, block.pool, block.id, encoding)
        arguments = block.pool, block.id, block.genstamp, block.length, ["DS-1"], token
        assert error_of(reader.open, *arguments) == errno.EPERM
        assert error_of(keys, [], 0) == errno.EPERM, "only the operator switches tokens off"
        assert error_of(open_block, reader, block) == errno.EPERM


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(([Key(1, b"")],), id="an empty key"),
        pytest.param(([Key(1, bytes(65))],), id="a key of 65 bytes"),
        pytest.param(([Key(1, algorithm=0)],), id="algorithm 0"),
        pytest.param(([Key(1, algorithm=257)],), id="algorithm 257"),
        pytest.param(([Key(n) for n in range(65)],), id="65 keys"),
        pytest.param(([Key(1), Key(1)],), id="one id twice"),
        pytest.param(([Key(1)], 0), id="keys where tokens are off"),
        pytest.param(([Key(1)], 2), id="tokens 2"),
        pytest.param(([Key(1)], 1, ""), id="no storage"),
    ],
)
def test_bad_keys(publisher, connection_to, block, bad):
    keys, tokens, storage = (*bad, *(1, "DS-1")[len(bad) - 1 :])
    arguments = block.pool, storage, keys, tokens
    assert error_of(publisher.publish_keys, *arguments) == errno.EINVAL
    with connection_to() as reader:
        open_block(reader, block).close()


def test_the_most_keys(keys):
    keys([Key(n, bytes(64)) for n in range(64)])


def test_keys_of_who_is_no_publisher(connection, block):
    arguments = block.pool, "DS-1", [Key(1)]
    assert error_of(connection.publish_keys, *arguments) == errno.EOPNOTSUPP
