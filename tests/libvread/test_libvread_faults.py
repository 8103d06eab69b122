# SPDX-License-Identifier: GPL-2.0-or-later
"""libvread when vreadd dies, stops or comes back: calls must end with an error in time, and never
hang.

The clock stands still unless a test advances it.  So a call that ends by itself has not waited for
its timeout.
"""

import contextlib
import ctypes
import errno
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.libvread import vreadlib
from tests.libvread.vreadlib import clock
from tests.libvread.waits import Call, Watched
from tests.support.waiting import eventually
from tools.vreadd import Vreadd, VreaddError, stop_process

REPOSITORY = Path(__file__).parents[2]
TIMEOUT = vreadlib.TIMEOUT / 1000  # s


@pytest.fixture
def block(served):
    return served[1]["large"]


@pytest.fixture
def mortal(served):
    """A vreadd that only this test uses and may kill."""
    daemon = Vreadd(served[0], variant="release")
    daemon.start()
    yield daemon
    os.kill(daemon.pid, signal.SIGCONT)
    with contextlib.suppress(VreaddError):  # the test may have killed it
        daemon.stop()


@contextlib.contextmanager
def stopped(daemon):
    """with stopped(daemon): the daemon is stopped by a signal and answers nothing."""
    stop_process(daemon.pid)
    try:
        yield
    finally:
        os.kill(daemon.pid, signal.SIGCONT)


def kill(daemon, by=signal.SIGKILL):
    """Kills the daemon and waits until it is dead, without reaping it."""
    os.kill(daemon.pid, by)
    os.waitid(os.P_PID, daemon.pid, os.WEXITED | os.WNOWAIT)


@contextlib.contextmanager
def opened(lib, daemon, block):
    with Watched(lib, daemon.endpoint) as connection, open_block(connection, block) as file:
        yield connection, file


def open_block(connection, block):
    return connection.open(block.pool, block.id, block.genstamp, block.length)


def calls(file):
    """[function] for each way to read.  Each needs an answer of the backend."""
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


def expect_timeout(call, passed=0):
    """The call must end exactly when its whole timeout has passed.  passed: seconds that have
    passed already."""
    clock.advance(TIMEOUT - passed - 0.001)
    assert call.goes_on()
    clock.advance(0.001)
    assert call.error() == errno.ETIME


def test_killed_while_idle(lib, mortal, block):
    with opened(lib, mortal, block) as (c, f):
        assert f.pread(10, 0) == block.content()[:10]
        kill(mortal)
        assert not c.connected()
        for call in calls(f):
            expect(errno.ENOTCONN, call)
        expect(errno.ENOTCONN, lambda: f.submit(0, 100))
        expect(errno.ENOTCONN, lambda: c.reap())
        expect(errno.ENOTCONN, lambda: open_block(c, block))


@pytest.mark.parametrize("which", range(4))
def test_killed_in_mid_call(lib, mortal, block, which):
    """Calls wait for a stopped backend.  They must fail as soon as the backend is killed."""
    with opened(lib, mortal, block) as (c, f):
        stop_process(mortal.pid)
        threads = [c.call(calls(f)[which]), Call(calls(f)[which]), Call(calls(f)[which])]
        assert threads[0].goes_on()
        os.kill(mortal.pid, signal.SIGKILL)
        assert [thread.error() for thread in threads] == [errno.ENOTCONN] * 3


def test_asynchronous_reads_fail_when_it_is_killed(lib, mortal, block):
    with opened(lib, mortal, block) as (c, f):
        fd = c.event_fd()
        c.reap(timeout_ms=0)
        stop_process(mortal.pid)
        for n in range(5):
            f.submit(n * 1000, 1000, n)
        os.kill(mortal.pid, signal.SIGKILL)
        assert select.select([fd], [], [], 120)[0]
        completions = []
        while len(completions) < 5:
            completions += c.reap()
        assert sorted(k.cookie or 0 for k in completions) == list(range(5))
        assert {k.result for k in completions} == {-errno.ENOTCONN}
        assert all(k.data is None for k in completions)
        for completion in completions:
            c.release(completion)
        expect(errno.ENOTCONN, lambda: c.reap())
        assert not select.select([fd], [], [], 0)[0]


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_bytes_of_a_completion_stay_when_it_ends(lib, mortal, block, by):
    """Another call notices that the connection is over."""
    with opened(lib, mortal, block) as (c, f):
        f.submit(0, 1 << 20)
        (completion,) = c.reap()
        kill(mortal, by)
        expect(errno.ENOTCONN, lambda: f.pread(10, 5_000_000))
        assert vreadlib.data(completion) == block.content()[: 1 << 20]
        c.release(completion)


def test_a_new_connection_after_a_restart(lib, mortal, served, block):
    with opened(lib, mortal, block) as (_, old):
        old.read(10)
        kill(mortal)
        expect(errno.ENOTCONN, lambda: old.pread(10, 5_000_000))
        with Vreadd(served[0]) as second, opened(lib, second, block) as (_, new):
            assert new.read(block.length) == block.content()
            expect(errno.ENOTCONN, lambda: old.pread(10, 5_000_000))


@pytest.mark.parametrize("which", range(4))
def test_stopped_backend_costs_the_timeout(lib, mortal, block, which):
    with opened(lib, mortal, block) as (c, f):
        with stopped(mortal):
            expect_timeout(c.call(calls(f)[which]))
        # the answer that was given up now comes late, and must do no harm
        content = block.content()
        for _ in range(20):
            assert f.pread(1 << 20, 77) == content[77 : 77 + (1 << 20)]
        assert f.read(block.length) == content


def test_stopped_backend_leaves_threads_their_own_timeouts(lib, mortal, block):
    """Many threads wait for a stopped backend.  All must time out together."""
    with opened(lib, mortal, block) as (c, f), stopped(mortal):
        threads = [c.call(lambda: f.pread(100, 0)) for _ in range(16)]
        clock.advance(TIMEOUT)
        assert [thread.error() for thread in threads] == [errno.ETIME] * 16


def connect_call(lib, mortal, sleeps_in):
    call = Call(lambda: vreadlib.Connection(lib, mortal.endpoint))
    eventually(lambda: call.sleeps_in(sleeps_in))
    return call


def test_stopped_backend_at_connect(lib, mortal):
    with stopped(mortal):
        expect_timeout(connect_call(lib, mortal, "poll"))


@contextlib.contextmanager
def full_backlog(endpoint):
    """Fills the backlog of the socket, so that the next connect() waits."""
    with contextlib.ExitStack() as sockets:
        while True:
            sock = sockets.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            sock.setblocking(False)
            try:
                sock.connect(endpoint)
            except BlockingIOError:
                break
        yield


def test_stopped_backend_that_accepts_no_more(lib, mortal):
    with stopped(mortal), full_backlog(mortal.endpoint):
        expect_timeout(connect_call(lib, mortal, "unix_wait_for_peer"))


# Connects with 0, 1, 2 ... free descriptors, in a process in which nothing else opens or closes
# descriptors.  Prints the errno and how many descriptors were left open, for each number.
SHORT_OF_DESCRIPTORS = """
import os, resource, sys
from tests.libvread import vreadlib
lib = vreadlib.load(sys.argv[1])

def is_open(number):
    try:
        return bool(os.fstat(number))
    except OSError:
        return False

def used():
    return sum(map(is_open, range(256)))

while os.dup(0) < 32:  # no descriptor below that is free
    pass
before = used()
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
for free in range(64):
    resource.setrlimit(resource.RLIMIT_NOFILE, (before + free, hard))
    try:
        connection = vreadlib.Connection(lib, sys.argv[2], queues=int(sys.argv[3]))
    except OSError as error:
        print(error.errno, used() - before)
    else:
        connection.ping()
        print("connected", used() - before)
        break
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the end of the process needs some
"""


@pytest.mark.parametrize("queues", [1, 2, 8])
def test_short_of_descriptors(lib, vreadd, queues):
    """Whatever number of descriptors is free, a connection fails with EMFILE and leaves none open,
    or it succeeds."""
    command = [sys.executable, "-c", SHORT_OF_DESCRIPTORS]
    command += [lib._name, vreadd.endpoint, str(queues)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    needed = 1 + 2 + 2 * queues + 1  # socket, pool and rings, two events a queue, the engine's
    failures = [f"{errno.EMFILE} 0"] * needed
    assert (done.stdout.splitlines(), done.stderr) == ([*failures, f"connected {needed}"], "")


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
    c = Watched(lib, mortal.endpoint)
    f = open_block(c, block)
    with stopped(mortal):
        f.submit(0, 1000)
        expect_timeout(c.call(lambda: f.pread(10, 0)))
        f.close()
        c.close()


class Signals(threading.Thread):
    """Sends SIGALRM to a call's thread again and again, as a profiler does, until the call ends."""

    def __init__(self, call):
        super().__init__()
        self.call, self.sent = call, 0
        self.old = signal.signal(signal.SIGALRM, lambda *_: None)
        self.start()

    def run(self):
        libc = ctypes.CDLL(None)
        while not libc.tgkill(os.getpid(), self.call.native_id, signal.SIGALRM):
            self.sent += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.join()
        signal.signal(signal.SIGALRM, self.old)


def test_signals_do_not_end_a_read(lib, mortal, block):
    enough = threading.Event()

    def read():
        while not enough.is_set():
            assert f.pread(1 << 20, 0) == content

    content = block.content()[: 1 << 20]
    with opened(lib, mortal, block) as (_, f):
        call = Call(read)
        with Signals(call) as signals:
            eventually(lambda: signals.sent > 1000 or not call.is_alive())
            enough.set()
            assert call.error() == 0


@pytest.mark.parametrize("where", ["for a read", "for a welcome", "to be accepted"])
def test_signals_neither_end_nor_prolong_a_wait(lib, mortal, block, where):
    with contextlib.ExitStack() as stack:
        c, f = stack.enter_context(opened(lib, mortal, block))
        stack.enter_context(stopped(mortal))
        if where == "for a read":
            call = c.call(lambda: f.pread(10, 0))
        elif where == "for a welcome":
            call = connect_call(lib, mortal, "poll")
        else:
            stack.enter_context(full_backlog(mortal.endpoint))
            call = connect_call(lib, mortal, "unix_wait_for_peer")
        with Signals(call) as signals:
            eventually(lambda: signals.sent > 100)
            expect_timeout(call)


def test_who_comes_late_does_not_wait_all_over_again(lib, mortal, block):
    """Calls start at different times while the backend is stopped.  All must end when the timeout
    of the first has passed."""
    with opened(lib, mortal, block) as (c, f), open_block(c, block) as late, stopped(mortal):
        threads = [c.call(lambda: f.pread(1 << 20, 0))]
        clock.advance(TIMEOUT / 2)
        threads.append(c.call(lambda: late.read(1 << 20)))
        threads.append(c.call(lambda: open_block(c, block)))
        expect_timeout(threads[0], passed=TIMEOUT / 2)
        assert [thread.error() for thread in threads] == [errno.ETIME] * 3


def test_old_silence_is_forgotten(lib, mortal, block):
    """After a hang, a new request must have its whole timeout, also while a request from before is
    unanswered."""
    with opened(lib, mortal, block) as (c, f):
        with stopped(mortal):
            expect_timeout(c.call(lambda: f.pread(1 << 20, 0)))
            expect_timeout(c.call(c.ping))
            clock.advance(2 * TIMEOUT)
            expect_timeout(c.call(c.ping))
        c.ping()
        assert f.pread(1 << 20, 0) == block.content()[: 1 << 20]


def test_answers_not_yet_looked_at_are_no_silence(lib, mortal, block):
    with opened(lib, mortal, block) as (c, f):
        before = c.answered()
        f.submit(0, 4096)
        eventually(lambda: c.answered() > before)
        clock.advance(2 * TIMEOUT)
        with open_block(c, block) as other:
            assert other.pread(100, 0) == block.content()[:100]
        [completion] = c.reap()
        c.release(completion)


def test_reap_gives_up_in_time(lib, mortal, block):
    with opened(lib, mortal, block) as (c, f), stopped(mortal):
        f.submit(0, 1000)
        reaped = []
        call = Call(lambda: reaped.extend(c.reap(timeout_ms=500)))
        eventually(lambda: call.sleeps_in("poll"))
        clock.advance(0.499)
        assert call.goes_on()
        clock.advance(0.001)
        assert call.error() == 0 and not reaped
