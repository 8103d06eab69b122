# SPDX-License-Identifier: GPL-2.0-or-later
"""The log says who opened which block, if the operator wants that."""

import contextlib
import errno
import os
import select
import threading
from pathlib import Path

import pytest

from tests.support.daemon import PUBLISHER, STORAGE, open_block, open_status
from tests.support.hdfs_dir import POOL, DataDirectory
from tests.support.localfront import (
    APPEND,
    OPEN,
    STAT,
    LocalFront,
    open_data,
    open_part,
    request,
)
from tests.support.peers import free_address
from tests.support.reloading import changed
from tests.support.waiting import eventually
from tools.images import make_datanode_image, write_layout
from tools.peers import Authority, peer
from tools.vreadd import Vreadd

AUDIT = "[vreadd]\naudit = yes\n"


def lines(daemon):
    said = [line.partition(": audit: ")[2] for line in daemon.log().splitlines()]
    return [text for text in said if text]


def line(block, said, user=None, pool=POOL):
    user = os.getuid() if user is None else user
    return f"user {user}, block {block} of pool {pool}: {said}"


def test_what_is_opened_and_what_is_refused(start_daemon, block):
    daemon = start_daemon(extra=AUDIT)
    with daemon.front() as front:
        assert open_status(front, block) == 0
        assert front.open(4711, 1, POOL, [STORAGE]).status == -errno.ENOENT
        assert front.open(block.id, 1, "BP-unknown", [STORAGE]).status == -errno.ENODEV
        expected = [
            line(block.id, "opened"),
            line(4711, "ENOENT"),
            line(block.id, "ENODEV", pool="BP-unknown"),
        ]
        assert lines(daemon) == expected


def test_a_block_that_may_not_be_read(start_daemon, block):
    daemon = start_daemon(extra=AUDIT, allow="dn9")
    with daemon.front() as front:
        assert open_status(front, block) == -errno.EACCES
    assert lines(daemon) == [line(block.id, "EACCES")]


def test_no_line_is_left_out(start_daemon, block):
    """The limit of lines of one guest does not hold for them."""
    daemon = start_daemon(extra=AUDIT)
    with daemon.front() as front:
        for _ in range(300):
            assert open_status(front, block) == 0
    assert lines(daemon) == [line(block.id, "opened")] * 300


def test_what_is_no_open(start_daemon, block):
    """A malformed request and a sign of life name no block."""
    daemon = start_daemon(extra=AUDIT)
    with daemon.front() as front:
        data = open_data(POOL, [STORAGE])
        front.pool[: len(data)] = data
        part = open_part(block.id, 1, len(data), reserved=(1, 0, 0, 0))
        assert front.call(OPEN, pool_pages=1, part=part).status == -errno.EINVAL
        assert front.open(1, 1, "-", []).status == -errno.ENODEV
    assert lines(daemon) == []


def test_only_if_the_operator_wants_it(start_daemon, edit, block):
    daemon = start_daemon(extra="[vreadd]\naudit = no\n")
    with daemon.front() as front:
        assert open_status(front, block) == 0
        assert lines(daemon) == []
        edit(daemon, "audit = no", "audit = yes")
        changed(daemon, "[vreadd]: audit changed")
        assert open_status(front, block) == 0
        assert lines(daemon) == [line(block.id, "opened")]


@pytest.fixture
def there(tmp_path):
    directory = DataDirectory(tmp_path / "data", storage="DS-there")
    block = directory.add(1073745921, 300_000)
    image = make_datanode_image([directory.path], tmp_path / "disk.img", free_mib=24)
    write_layout(image, tmp_path / "layout.json")
    return (image.path, tmp_path / "layout.json"), block


def test_a_block_of_another_host(tmp_path, there):
    """The host that is asked for the block knows the user, the host that has the block the
    outcome."""
    datanode, block = there
    authority, address = Authority(tmp_path), free_address()
    answers = authority.host("b", listen=address) + peer("a", allow_datanodes="dn-there")
    asks = authority.host("a", answer_timeout=60000)
    asks += peer("b", address=address, storages="dn-there/DS-there")
    with (
        Vreadd({"dn-there": datanode}, "asan", sections=answers + AUDIT) as b,
        Vreadd({}, "asan", sections=asks + AUDIT) as a,
        LocalFront(a.endpoint) as front,
    ):
        assert open_status(front, block, storages=("DS-there",)) == 0
        assert lines(a) == [line(block.id, "asked of another host")]
        assert lines(b) == [line(block.id, "opened", user="unknown")]
        assert "peer a: audit: " in b.log()


WRITE = 1  # system call, on x86-64
STDERR = 2


class Journal:
    """A pipe for the log, which is read, or not read and full."""

    def __init__(self, folder):
        self.pipe, self.copy = folder / "journal", folder / "journal.log"
        os.mkfifo(self.pipe)
        self.end = os.open(self.pipe, os.O_RDWR | os.O_NONBLOCK)
        self.wrapper = ["sh", "-c", f'exec "$@" 2> {self.pipe}', "sh"]
        self.ended = threading.Event()
        self.reads = threading.Lock()
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self):
        while not self.ended.is_set():
            select.select([self.end], [], [], 0.1)
            with self.reads, contextlib.suppress(BlockingIOError), open(self.copy, "ab") as copy:
                copy.write(os.read(self.end, 65536))

    @contextlib.contextmanager
    def stopped(self):
        with self.reads:
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(self.end, b"\n")
            yield

    def close(self):
        self.ended.set()
        self.thread.join()
        os.close(self.end)


@pytest.fixture
def journal(tmp_path):
    journal = Journal(tmp_path)
    yield journal
    journal.close()


def test_a_journal_that_stops_delays_only_what_is_logged(start_daemon, journal, image):
    """The OPEN waits for the journal.  A publisher, a reader, and other requests of its queue do
    not."""
    big, _, small = image.blocks
    folder = journal.pipe.parent
    (folder / "log").symlink_to(journal.copy)
    daemon = start_daemon(folder=folder, wrapper=journal.wrapper, local=PUBLISHER, extra=AUDIT)

    def waits_for_the_journal():
        calls = Path(f"/proc/{daemon.process.pid}/task").glob("*/syscall")
        return any(call.read_text().startswith(f"{WRITE} {STDERR:#x} ") for call in calls)

    with daemon.front() as front, daemon.front() as neighbour:
        handle = open_block(neighbour, big)
        with journal.stopped():
            data = open_data(POOL, [STORAGE])
            front.pool[: len(data)] = data
            part = open_part(big.id, big.genstamp, len(data))
            front.queues[0].push(request(OPEN, 0, 0, 1, part=part))
            eventually(waits_for_the_journal, what="a line waits")
            assert neighbour.publish(APPEND, small.id, small.genstamp, POOL, STORAGE) == 0
            assert neighbour.read(handle, 0, 1000) == image.contents[big.id][:1000]
            front.queues[0].push(request(STAT, 1, handle=999))
            (other,) = front.responses(1)
            assert (other.operation, other.status) == (STAT, -errno.EBADF)
        (opened,) = front.responses(1)
        assert (opened.operation, opened.status) == (OPEN, 0)
        both = [line(big.id, "opened")] * 2
        eventually(lambda: lines(daemon) == both, what="the journal has both lines")
