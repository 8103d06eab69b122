# SPDX-License-Identifier: GPL-2.0-or-later
"""After PUBLISH has returned, the next open must find the block on a live ext4 at once, and read
its bytes.  Meanwhile the owner writes other files all the time."""

import errno
import os
import threading

import pytest

from tests.libvread import vreadlib
from tests.libvread.vreadlib import APPEND, DELETE, FINALIZED, TRUNCATE
from tests.support.owner import Owner, fsync, needs_root
from tools.vreadd import Vreadd

pytestmark = needs_root
ROUNDS = 24
LENGTH = 40_000


@pytest.fixture
def owner(tmp_path):
    with Owner(tmp_path, "1k", mib=96) as owner:
        yield owner


@pytest.fixture
def daemon(owner):
    with Vreadd({"dn1": owner.served()}, variant="asan", publish=["dn1"]) as daemon:
        yield daemon


@pytest.fixture
def publisher(lib, daemon):
    with vreadlib.Connection(lib, daemon.endpoint) as connection:
        yield connection


@pytest.fixture
def reader(lib, daemon):
    with vreadlib.Connection(lib, daemon.endpoint) as connection:
        yield connection


@pytest.fixture
def busy(owner):
    """The owner writes files and commits all the time."""
    stop = threading.Event()

    def work():
        number = 0
        while not stop.wait(0.002):
            path = owner.root / f"other{number % 64}"
            path.write_bytes(os.urandom(10_000))
            fsync(path)
            number += 1

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stop.set()
    thread.join()


def publish(connection, event, block):
    connection.publish(event, block.pool, block.id, block.genstamp, ["DS-1"], length=block.length)


def read_at_once(connection, block):
    """Opens and reads the block, without a second attempt."""
    with connection.open(block.pool, block.id, block.genstamp, block.length, ["DS-1"]) as f:
        return f.pread(block.length, 0)


@pytest.mark.usefixtures("busy")
def test_published_blocks_are_there(owner, publisher, reader):
    for number in range(1, ROUNDS + 1):
        content = os.urandom(LENGTH)
        block = owner.write(number, content)
        owner.fsync(block)
        publish(publisher, FINALIZED, block)
        assert read_at_once(reader, block) == content


@pytest.mark.usefixtures("busy")
def test_what_became_of_a_block_is_there(owner, publisher, reader):
    block = owner.write(1, os.urandom(LENGTH))
    for number in range(ROUNDS // 2):
        if number % 2:
            publish(publisher, TRUNCATE, block)
            block = owner.truncate(block, LENGTH // 3)
        else:
            publish(publisher, APPEND, block)
            block = owner.append(block, os.urandom(LENGTH))
        owner.fsync(block)
        publish(publisher, FINALIZED, block)
        assert read_at_once(reader, block) == block.content
    publish(publisher, DELETE, block)
    with pytest.raises(OSError) as gone:
        read_at_once(reader, block)
    assert gone.value.errno == errno.ENOENT
