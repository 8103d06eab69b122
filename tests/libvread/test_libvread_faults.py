# SPDX-License-Identifier: GPL-2.0-or-later
"""libvread when vreadd dies, stops or comes back: an error in time, never a hang."""

import contextlib
import ctypes
import errno
import os
import select
import signal
import threading
import time

import pytest

from tests.libvread import vreadlib
from tests.support.waiting import tried_again
from tools.vreadd import Vreadd, VreaddError, stop_process

SHORT = vreadlib.SHORT / 1000  # s


@pytest.fixture
def block(served):
    return served[1]["large"]


@pytest.fixture
def mortal(served):
    """A vreadd of this test's own, which may be killed."""
    daemon = Vreadd(served[0], variant="release")
    daemon.start()
    yield daemon
    os.kill(daemon.pid, signal.SIGCONT)
    with contextlib.suppress(VreaddError):  # that it was killed is what the test did
        daemon.stop()


@contextlib.contextmanager
def stopped(daemon):
    """As long as it lasts the daemon answers nothing."""
    stop_process(daemon.pid)
    try:
        yield
    finally:
        os.kill(daemon.pid, signal.SIGCONT)


def kill(daemon):
    """SIGKILL, and waits until it is dead (but not yet collected)."""
    os.kill(daemon.pid, signal.SIGKILL)
    os.waitid(os.P_PID, daemon.pid, os.WEXITED | os.WNOWAIT)


@contextlib.contextmanager
def opened(lib, daemon, block, timeout_ms=vreadlib.PATIENCE):
    connection = vreadlib.Connection(lib, daemon.endpoint, timeout_ms=timeout_ms)
    with connection as c, open_block(c, block) as f:
        yield c, f


def open_block(connection, block):
    return connection.open(block.pool, block.id, block.genstamp, block.length)


def calls(file):
    """Every way to read, each in a form that needs the backend."""
    return [
        lambda: file.pread(1 << 20, 0),
        lambda: file.read(1 << 20),
        lambda: vreadlib.check(file.preadv([(0, 100), (5_000_000, 100)])[0]),
        lambda: file.update(),
    ]


def expect(number, call):
    with pytest.raises(OSError) as error:
        call()
    assert error.value.errno == number


def test_killed_while_idle(lib, mortal, block):
    with opened(lib, mortal, block, timeout_ms=60_000) as (c, f):
        assert f.pread(10, 0) == block.content()[:10]
        kill(mortal)
        start = time.monotonic()
        assert not c.connected()
        for call in calls(f):
            expect(errno.ENOTCONN, call)
        expect(errno.ENOTCONN, lambda: f.submit(0, 100))
        expect(errno.ENOTCONN, lambda: c.reap())
        expect(errno.ENOTCONN, lambda: open_block(c, block))
        assert time.monotonic() - start < vreadlib.SOON


@pytest.mark.parametrize("which", range(4))
def test_killed_in_mid_call(lib, mortal, block, which):
    """A call that waits for a stopped backend fails as soon as that is killed."""
    outcome = []

    def work():
        try:
            calls(f)[which]()
            outcome.append(0)
        except OSError as error:
            outcome.append(error.errno)

    with opened(lib, mortal, block, timeout_ms=30_000) as (_, f):
        stop_process(mortal.pid)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        assert not outcome
        os.kill(mortal.pid, signal.SIGKILL)
        killed = time.monotonic()
        for thread in threads:
            thread.join(vreadlib.SOON)
        assert time.monotonic() - killed < vreadlib.SOON
        assert outcome == [errno.ENOTCONN] * 3


def test_asynchronous_reads_fail_when_it_is_killed(lib, mortal, block):
    with vreadlib.Connection(lib, mortal.endpoint) as c, open_block(c, block) as f:
        fd = c.event_fd()
        c.reap(timeout_ms=0)
        stop_process(mortal.pid)
        for n in range(5):
            f.submit(n * 1000, 1000, n)
        os.kill(mortal.pid, signal.SIGKILL)
        poll_readable(fd)
        completions = []
        while len(completions) < 5:
            completions += c.reap()
        assert sorted(k.cookie or 0 for k in completions) == list(range(5))
        assert {k.result for k in completions} == {-errno.ENOTCONN}
        assert all(k.data is None for k in completions)
        for completion in completions:
            c.release(completion)
        expect(errno.ENOTCONN, lambda: c.reap())


def poll_readable(fd):
    assert select.select([fd], [], [], vreadlib.SOON)[0]


def test_a_new_connection_after_a_restart(lib, mortal, served, block):
    with opened(lib, mortal, block) as (_, old):
        old.read(10)
        kill(mortal)
        expect(errno.ENOTCONN, lambda: old.pread(10, 5_000_000))
        with Vreadd(served[0]) as second, opened(lib, second, block) as (_, new):
            assert new.read(block.length) == block.content()
            expect(errno.ENOTCONN, lambda: old.pread(10, 5_000_000))


@pytest.mark.parametrize("which", range(4))
@tried_again
def test_stopped_backend_costs_the_timeout(lib, mortal, block, which):
    with opened(lib, mortal, block, timeout_ms=vreadlib.SHORT) as (_, f):
        with stopped(mortal):
            start = time.monotonic()
            expect(errno.ETIME, calls(f)[which])
            assert 0.9 * SHORT < time.monotonic() - start < vreadlib.SOON
        # what was given up comes in late, to nobody's harm
        content = block.content()
        for _ in range(20):
            assert f.pread(1 << 20, 77) == content[77 : 77 + (1 << 20)]
        assert f.read(block.length) == content


@tried_again
def test_stopped_backend_leaves_threads_their_own_timeouts(lib, mortal, block):
    """Waiting for one answer holds nobody up: all threads time out together."""
    finished = []

    def work():
        try:
            f.pread(100, 0)
        except OSError as error:
            finished.append((error.errno, time.monotonic()))

    with opened(lib, mortal, block, timeout_ms=vreadlib.SHORT) as (_, f), stopped(mortal):
        start = time.monotonic()
        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(vreadlib.SOON)
    assert [number for number, _ in finished] == [errno.ETIME] * 16
    assert max(when for _, when in finished) - start < vreadlib.SOON


def test_stopped_backend_at_connect(lib, mortal):
    stop_process(mortal.pid)
    start = time.monotonic()
    expect(errno.ETIME, lambda: vreadlib.Connection(lib, mortal.endpoint, timeout_ms=300))
    assert time.monotonic() - start < vreadlib.SOON
    os.kill(mortal.pid, signal.SIGCONT)


def test_nobody_listens(lib, mortal):
    kill(mortal)
    expect(errno.ENOTCONN, lambda: vreadlib.Connection(lib, mortal.endpoint))


def test_close_and_disconnect_of_a_dead_backend(lib, mortal, block):
    c = vreadlib.Connection(lib, mortal.endpoint)
    files = [open_block(c, block) for _ in range(5)]
    for f in files:
        f.read(10)
        f.submit(0, 1000)
    os.kill(mortal.pid, signal.SIGKILL)
    for f in files:
        f.close()
    c.close()


def test_disconnect_while_the_backend_is_stopped(lib, mortal, block):
    c = vreadlib.Connection(lib, mortal.endpoint, timeout_ms=vreadlib.SHORT)
    f = open_block(c, block)
    stop_process(mortal.pid)
    f.submit(0, 1000)
    expect(errno.ETIME, lambda: f.pread(10, 0))
    start = time.monotonic()
    f.close()
    c.close()
    assert time.monotonic() - start < vreadlib.SOON
    os.kill(mortal.pid, signal.SIGCONT)


@tried_again
def test_signals_do_not_end_a_wait(lib, mortal, block):
    """A profiler's signals neither fail a read nor make it wait for ever."""
    taken = []
    old = signal.signal(signal.SIGALRM, lambda *_: taken.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        with opened(lib, mortal, block, timeout_ms=vreadlib.SHORT) as (_, f):
            buffer = ctypes.create_string_buffer(1 << 20)
            for _ in range(200):
                n = lib.vread_pread(f.pointer, buffer, 1 << 20, 0)
                assert n == 1 << 20
            with stopped(mortal):
                start = time.monotonic()
                expect(errno.ETIME, lambda: f.pread(10, 0))
                endpoint = mortal.endpoint
                expect(errno.ETIME, lambda: vreadlib.Connection(lib, endpoint, timeout_ms=400))
                assert time.monotonic() - start < vreadlib.SOON
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert taken


@tried_again
def test_who_comes_late_does_not_wait_all_over_again(lib, mortal, block):
    """One silence of the backend costs one timeout, however many wait and since when."""
    with (
        opened(lib, mortal, block, timeout_ms=8000) as (connection, file),
        open_block(connection, block) as late,
    ):
        ends = []

        def wait(call):
            expect(errno.ETIME, call)
            ends.append(time.monotonic())

        with stopped(mortal):
            start = time.monotonic()
            first = threading.Thread(target=wait, args=[lambda: file.pread(1 << 20, 0)])
            first.start()
            time.sleep(4)
            others = [
                threading.Thread(target=wait, args=[call])
                for call in (lambda: late.read(1 << 20), lambda: open_block(connection, block))
            ]
            for thread in others:
                thread.start()
            for thread in [first, *others]:
                thread.join()
        assert 7.9 < max(ends) - start < 8 + 3.9  # 8 + 4, did they wait all over again


@tried_again
def test_old_silence_is_forgotten(lib, mortal, block):
    """After a hang, even one request of which is still open, a new request has its whole time."""
    with opened(lib, mortal, block, timeout_ms=vreadlib.SHORT) as (connection, file):
        with stopped(mortal):
            expect(errno.ETIME, lambda: file.pread(1 << 20, 0))
            expect(errno.ETIME, connection.ping)
            time.sleep(1.1 * SHORT)
            start = time.monotonic()
            expect(errno.ETIME, connection.ping)
            assert time.monotonic() - start > 0.9 * SHORT
        connection.ping()
        assert file.pread(1 << 20, 0) == block.content()[: 1 << 20]


@tried_again
def test_answers_not_yet_looked_at_are_no_silence(lib, mortal, block):
    with opened(lib, mortal, block, timeout_ms=vreadlib.SHORT) as (connection, file):
        file.submit(0, 4096)
        time.sleep(1.1 * SHORT)
        with open_block(connection, block) as other:
            assert other.pread(100, 0) == block.content()[:100]
        [completion] = connection.reap()
        connection.release(completion)
