# SPDX-License-Identifier: GPL-2.0-or-later
"""A caller ends waits of its threads with the option `interrupted`.

The clock stands still.  So a call that ends has got its answer or was interrupted; no timeout ends
it.
"""

import errno
import itertools
import os
import signal
import threading

import pytest

from tests.libvread import vreadlib
from tests.libvread.backend import CLOSE, OPEN, READ, STAT, Backend
from tests.libvread.waits import Call
from tests.support.waiting import eventually
from tools.vreadd import Vreadd, stop_process

CONTENT = bytes(range(251)) * 20_000  # 5 MB
KEY, OTHER = (1, 2), (3, 4)
OTHERS = CONTENT[::-1]


class Hanging(Backend):
    """Keeps requests for KEY back while `hung`."""

    def __init__(self, path):
        super().__init__(path, {KEY: CONTENT, OTHER: OTHERS})
        self.hung = False
        self.kept = []
        self.on_request = self.keep

    def keep(self, channel, request):
        block = request.block if request.op == OPEN else self.open_handles[request.handle][0]
        if self.hung and block == KEY[0] and request.op != CLOSE:
            self.kept.append((channel, request))
        else:
            self.answer(channel, request)

    def let_go(self):
        self.hung = False
        while self.kept:
            self.answer(*self.kept.pop(0))


class Interrupts:
    """The flags of threads, and how often each thread has asked for its own."""

    def __init__(self):
        self.flags = set()
        self.asked = []

    def __call__(self):
        thread = threading.get_native_id()
        self.asked.append(thread)
        return thread in self.flags

    def interrupt(self, call):
        self.flags.add(call.native_id)

    def begin(self, function, interrupted):
        """Starts a call, in a thread whose flag is set before or not."""

        def run():
            if interrupted:
                self.flags.add(threading.get_native_id())
            function()

        return Call(run)


@pytest.fixture
def backend(endpoint):
    with Hanging(endpoint) as b:
        yield b


@pytest.fixture
def interrupts():
    return Interrupts()


@pytest.fixture
def connection(lib, backend, interrupts):
    with vreadlib.Connection(lib, backend.path, interrupted=interrupts) as c:
        yield c


@pytest.fixture
def file(connection):
    with connection.open("BP-1", *KEY) as f:
        yield f


CALLS = {
    "open": (OPEN, lambda c, f: c.open("BP-1", *KEY)),
    "pread": (READ, lambda c, f: f.pread(1 << 20, 0)),
    "pread_to": (READ, lambda c, f: vreadlib.check(f.pread_to(1 << 20, 0)[1])),
    "preadv": (READ, lambda c, f: vreadlib.check(f.preadv([(0, 100), (4_000_000, 9)])[0])),
    "read": (READ, lambda c, f: f.read(1 << 20)),
    "read_to": (READ, lambda c, f: vreadlib.check(f.read_to(1 << 20)[1])),
    "update": (STAT, lambda c, f: f.update()),
}


def expect_all_well(backend, connection, file):
    """Late answers come.  Nobody minds them, and nothing of the given-up requests is left."""
    backend.let_go()
    assert connection.connected()
    assert file.pread(1 << 20, 77) == CONTENT[77 : 77 + (1 << 20)]
    file.seek(0)
    assert file.read(len(CONTENT)) == CONTENT
    with connection.open("BP-1", *KEY) as again:
        assert again.pread(100, 5) == CONTENT[5:105]
    eventually(lambda: list(backend.open_handles.values()) == [KEY], what="one open handle")


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("before", [True, False], ids=["before", "meanwhile"])
def test_interrupted(backend, connection, interrupts, file, name, before):
    operation, function = CALLS[name]
    backend.hung = True
    call = interrupts.begin(lambda: function(connection, file), interrupted=before)
    if not before:
        eventually(lambda: call.native_id in interrupts.asked, what="a question")
        assert call.is_alive()
        interrupts.interrupt(call)
    assert call.error() == errno.EINTR
    assert {request.op for _, request in backend.kept} == {operation}
    assert set(interrupts.asked) == {call.native_id}
    expect_all_well(backend, connection, file)


def test_memory_stays_reserved_until_the_answer(lib, backend, interrupts):
    """A late answer must not write where another request expects its bytes."""
    with (
        vreadlib.Connection(lib, backend.path, 64 << 10, interrupted=interrupts) as c,
        c.open("BP-1", *KEY) as slow,
        c.open("BP-1", *OTHER) as quick,
    ):
        backend.hung = True
        calls = [interrupts.begin(lambda: slow.pread(16 << 10, 0), True) for _ in range(4)]
        assert [call.error() for call in calls] == [errno.EINTR] * 4
        # The slice is full: who needs room waits, and an interrupt ends that wait, too.
        assert interrupts.begin(lambda: quick.pread(16 << 10, 0), True).error() == errno.EINTR
        got = []
        call = Call(lambda: got.append(quick.pread(16 << 10, 0)))
        eventually(lambda: call.native_id in interrupts.asked, what="a question")
        backend.let_go()
        assert call.error() == 0
        assert got == [OTHERS[: 16 << 10]]
        assert slow.pread(64 << 10, 0) == CONTENT[: 64 << 10]


@pytest.mark.parametrize("which", ["leader", "follower"])
def test_other_threads_wait_on(backend, connection, interrupts, file, which):
    backend.hung = True
    results = {}
    calls = []
    for n in range(3):
        calls.append(Call(lambda n=n: results.setdefault(n, file.pread(1000, n))))
        eventually(lambda: calls[-1].sleeps_in("poll" if len(calls) == 1 else "futex"))
    victim = calls.pop(0 if which == "leader" else 1)
    interrupts.interrupt(victim)
    assert victim.error() == errno.EINTR
    asked = len(interrupts.asked)
    eventually(lambda: set(interrupts.asked[asked:]) == {call.native_id for call in calls})
    assert all(call.is_alive() for call in calls)
    backend.let_go()
    assert [call.error() for call in calls] == [0, 0]
    left = {0, 1, 2} - {0 if which == "leader" else 1}
    assert results == {n: CONTENT[n : n + 1000] for n in left}


def test_interrupted_while_others_are_served(backend, connection, interrupts, file):
    """The answers to other threads wake the thread that waits in vain, more often than it asks."""
    with connection.open("BP-1", *OTHER) as quick:
        backend.hung = True
        call = Call(lambda: file.pread(1000, 0))
        eventually(lambda: backend.kept, what="a request")
        enough = threading.Event()
        busy = Call(
            lambda: [
                quick.pread(1, n % 1000)
                for n in itertools.takewhile(lambda _: not enough.is_set(), itertools.count())
            ]
        )
        eventually(lambda: interrupts.asked.count(call.native_id) > 1, what="questions")
        interrupts.interrupt(call)
        assert call.error() == errno.EINTR
        assert busy.is_alive()
        enough.set()
        assert busy.error() == 0
    expect_all_well(backend, connection, file)


def test_a_request_after_it_has_its_whole_timeout(backend, connection, interrupts, file):
    """A silence that was given up does not count against later requests."""
    backend.hung = True
    vreadlib.clock.advance(1)
    assert interrupts.begin(lambda: file.pread(10, 0), True).error() == errno.EINTR
    vreadlib.clock.advance(10)
    call = Call(lambda: file.pread(10, 0))
    eventually(lambda: call.native_id in interrupts.asked, what="a question")
    vreadlib.clock.advance(vreadlib.TIMEOUT / 1000 - 0.001)
    assert call.goes_on()
    vreadlib.clock.advance(0.001)
    assert call.error() == errno.ETIME
    expect_all_well(backend, connection, file)


def test_ping(lib, backend, interrupts):
    """The wait for a sign of life can be ended, and the answer is then unknown."""
    backend.on_request = lambda channel, request: None
    with vreadlib.Connection(lib, backend.path, interrupted=interrupts) as c:
        assert interrupts.begin(c.ping, True).error() == errno.EINTR


def test_reap_is_not_interrupted(backend, connection, interrupts, file):
    backend.hung = True
    file.submit(0, 1000)
    call = interrupts.begin(lambda: connection.reap(timeout_ms=500), True)
    eventually(lambda: call.sleeps_in("poll"))
    assert call.goes_on()
    vreadlib.clock.advance(0.5)
    assert call.error() == 0
    assert not interrupts.asked


@pytest.mark.parametrize("name", CALLS)
def test_a_stopped_vreadd(lib, served, interrupts, name):
    block = served[1]["large"]
    with (
        Vreadd(served[0], variant="release") as daemon,
        vreadlib.Connection(lib, daemon.endpoint, interrupted=interrupts) as connection,
        connection.open(block.pool, block.id, block.genstamp, block.length) as file,
    ):
        stop_process(daemon.pid)
        call = interrupts.begin(lambda: CALLS[name][1](connection, file), True)
        error = call.error()
        os.kill(daemon.pid, signal.SIGCONT)
        assert error == errno.EINTR
        assert connection.connected()
        assert file.pread(1 << 20, 9) == block.content()[9 : 9 + (1 << 20)]
