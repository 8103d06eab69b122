# SPDX-License-Identifier: GPL-2.0-or-later
"""READs by RDMA between two dom0s: rdma-pair has the transport of xen-backend/peer, and all that
is around it is left out."""

import contextlib
import hashlib
import json

import pytest

from tests.xen.pair.conftest import FAR, FOLDER, MIB
from tests.xen.tiers import slow

pytestmark = [pytest.mark.xen, pytest.mark.timeout(1800)]

ENDPOINT = f"{FAR}:7000"
FAILS, ENDS, NEVER, ANSWERS_MORE, KEEPS_FIRST = 1, 2, 3, 4, 5  # enum pair_block
CREDITS = 8
# Far less than rdma-pair's own limit, for tests in which it passes.
SHORT_MS = 2000


class Answerer:
    """rdma-pair on the far host; ends with an account of each connection."""

    def __init__(self, host, **options):
        words = [f"{name}={value}" for name, value in options.items()]
        self._host = host
        self._command = host.popen(["rdma-pair", ENDPOINT, FOLDER, "far", *words])
        self._accounts = 0

    def account(self):
        """Of the first connection, when it is over; then of the next, and so on."""
        self._accounts += 1
        self._command.wait_output(rf"(?:{{.*}}\n){{{self._accounts}}}", timeout=120)
        return json.loads(self._command.stdout.splitlines()[self._accounts - 1])

    def signal(self, number):
        self._command.kill(number)

    def end(self):
        """Kills it, if it is not dead; it may not have failed before."""
        errors = self._command.stderr.decode()
        self._command.kill()
        self._command.wait(60)
        assert "Sanitizer" not in errors, errors


@pytest.fixture
def answering(far_host):
    """answering(...): an Answerer, until the test ends."""
    with contextlib.ExitStack() as stack:

        def start(**options):
            answerer = Answerer(far_host, **options)
            stack.callback(answerer.end)
            return answerer

        yield start


def asking(**options):
    words = [f"{name}={value}" for name, value in options.items()]
    return ["rdma-pair", ENDPOINT, FOLDER, "near", "peer=far", *words]


@pytest.fixture
def ask(near_host):
    """ask(...): what rdma-pair on the near host tells, with these options."""

    def run(stdin=None, **options):
        return json.loads(near_host.run(asking(**options), timeout=300, stdin=stdin).check().stdout)

    return run


@pytest.fixture
def pair(ask):
    """pair(answerer, ...): what ask(...) tells, and the answerer's account of it."""

    def run(answerer, **options):
        told, account = ask(**options), answerer.account()
        assert (told["wrong"], told["late"]) == (0, 0)
        return told, account

    return run


@pytest.fixture
def begin(near_host):
    """begin(...): the command that asks, as soon as it has had an answer."""

    def run(**options):
        command = near_host.popen(asking(**options))
        command.wait_output("answered", timeout=120)
        return command

    return run


def pair_bytes(offset, length):
    """As rdma_pair.h's pair_byte()."""
    positions = range(offset, offset + length)
    return bytes((o * 31 + (o >> 8) * 7 + (o >> 20) * 3 + 1) & 255 for o in positions)


@pytest.mark.parametrize("length", [4097, *slow(1, 4 * MIB)])
def test_bytes_arrive_where_they_belong(answering, pair, length):
    """Only here is RDMA: this and all below goes over queue pairs of two kernels."""
    reads = CREDITS + 2
    told, account = pair(answering(), reads=reads, length=length)
    total = reads * length
    assert (told["answered"], told["wrong"], told["error"]) == (reads, 0, "")
    assert (told["direct"], told["bounced"]) == (total, 0)
    assert account["sent"] == total


@pytest.mark.slow
def test_memory_no_device_knows_gets_them_through_a_buffer(answering, pair):
    """The adapter refuses the memory."""
    told, _ = pair(answering(), reads=CREDITS, length=MIB, bounce=1)
    assert (told["answered"], told["wrong"]) == (CREDITS, 0)
    assert (told["direct"], told["bounced"]) == (0, CREDITS * MIB)


@pytest.mark.slow
def test_pages_of_a_guest_are_written_to_directly(answering, pair, near_host, built_program):
    """The memory is granted by a domain. In `make test`: test_remote_read.py."""
    answerer = answering()
    length, pages = 65536, CREDITS * 65536 // 4096
    with near_host.create_guest("granter", files=built_program("page-granter")) as guest:
        granter = guest.popen(f"page-granter {pages} /pages")
        granter.wait_output("all", timeout=120)
        references = granter.stdout.replace(b"all\n", b"")
        told, _ = pair(answerer, reads=CREDITS, length=length, domid=guest.domid, stdin=references)
        assert (told["answered"], told["wrong"], told["direct"]) == (8, 0, CREDITS * length)
        granter.write(b"\n")
        granter.wait(120).check()
        seen = guest.text("sha256sum /pages").split()[0]
    expected = b"".join(pair_bytes(i * 1000003, length) for i in range(CREDITS))
    assert seen == hashlib.sha256(expected).hexdigest()


@pytest.mark.slow
def test_a_failure_comes_behind_the_bytes_before_it(answering, pair):
    """Bytes and answers take different ways through the adapter."""
    told, _ = pair(answering(), reads=CREDITS, length=2 * MIB, handle=FAILS)
    assert (told["answered"], told["failed"], told["error"]) == (CREDITS, CREDITS, "")
    assert told["late"] == 0


@pytest.mark.slow
def test_no_bytes_at_the_end(answering, pair):
    """An answer without an RDMA write before it."""
    told, _ = pair(answering(), reads=2 * CREDITS, handle=ENDS)
    assert (told["answered"], told["short"], told["bytes"]) == (2 * CREDITS, 2 * CREDITS, 0)


@pytest.mark.slow
def test_an_answer_that_never_comes(answering, ask):
    """The queue pair is well, but nobody answers."""
    answerer = answering()
    told = ask(reads=CREDITS, handle=NEVER, timeout_ms=1000)
    assert (told["answered"], told["error"]) == (0, "")
    assert answerer.account()["sent"] == 0


def test_a_second_answer_is_not_sent(answering, ask):
    """An answerer would write by RDMA into memory that is no longer waiting."""
    answerer = answering()
    told = ask(reads=2 * CREDITS, length=100, handle=ANSWERS_MORE)
    assert told["wrong"] == 0
    assert answerer.account()["error"] != ""


def test_more_reads_than_credits(answering, pair):
    """The asker is hostile: the other adapter has no buffers for so many."""
    # One less: buffers wait for all messages that come at once, so that the asker has no reason to
    # give up before the answerer has looked at them.
    answerer = answering(credits=CREDITS - 1)
    told, account = pair(answerer, reads=100, length=MIB)
    assert (told["wrong"], told["late"]) == (0, 0)
    assert told["error"] != ""
    assert "breaks the rules" in account["error"]
    assert pair(answerer, reads=1)[0]["answered"] == 1


def test_nothing_lands_once_the_transport_is_freed(answering, ask, pair):
    """The adapter writes by itself until its keys are taken from it."""
    answerer = answering()
    for number in (1, 2):
        told = ask(reads=1000, length=MIB, abandon=number)
        assert told["late"] == 0
        answerer.account()
    assert pair(answerer, reads=CREDITS)[0]["answered"] == CREDITS


def test_memory_that_is_taken_back_ends_the_connection(answering, ask, pair):
    """The adapter itself reports an access that it refused."""
    answerer = answering()
    # The first READ is under way when the memory goes, however quick the others' answers are.
    told = ask(reads=1000, length=MIB, withdraw=3, handle=KEEPS_FIRST)
    assert told["error"] != ""
    assert told["late"] == 0
    assert answerer.account()["error"] != ""
    assert pair(answerer, reads=CREDITS)[0]["answered"] == CREDITS


@pytest.mark.parametrize("side", ["far", *slow("near")])
def test_who_has_not_the_secret_is_refused(answering, pair, side):
    """RDMA has no TLS: each side proves itself over the queue pair."""
    answerer = answering(**({"spoil_key": 1} if side == "far" else {}))
    told, _ = pair(answerer, **({"spoil_key": 1} if side == "near" else {}))
    assert told["answered"] == 0
    assert "not the peer" in told["error"]


@pytest.mark.slow
def test_whom_nobody_awaits_is_refused(answering, pair):
    """The connection manager carries the refusal."""
    told, account = pair(answering(), spoil_name=1)
    assert told["answered"] == 0
    assert told["error"] != ""
    # One who is not answered soon calls again, by itself.
    assert account["refused"] >= 1


@pytest.mark.slow
def test_a_dead_answerer(answering, begin):
    """A queue pair whose other end is gone. In `make test`: test_remote_faults.py."""
    answerer = answering()
    asker = begin(reads=1000000, length=65536, give_up=SHORT_MS)
    answerer.signal(9)
    told = json.loads(asker.wait(120).check().stdout)
    assert told["answered"] > 0
    assert (told["wrong"], told["late"]) == (0, 0)
    assert told["error"] != ""


@pytest.mark.slow
def test_a_wire_that_is_cut_for_a_while(answering, pair, begin, losing):
    """Queue pairs notice by their own retries. In `make test`: test_remote_faults.py."""
    answerer = answering()
    asker = begin(reads=1000000, length=65536, give_up=SHORT_MS)
    with losing("100%"):
        told = json.loads(asker.wait(180).check().stdout)
    assert (told["wrong"], told["late"]) == (0, 0)
    # Its own retries are over, or first the other end's, which then says goodbye.
    assert told["error"] != ""
    answerer.account()
    assert pair(answerer, reads=CREDITS)[0]["answered"] == CREDITS


@pytest.mark.slow
def test_a_wire_that_loses_packets(answering, pair, losing):
    """Queue pairs send again what is lost."""
    answerer = answering()
    with losing("1%"):
        told, _ = pair(answerer, reads=2 * CREDITS, length=65536, give_up=20000)
    assert (told["answered"], told["wrong"], told["error"]) == (2 * CREDITS, 0, "")
