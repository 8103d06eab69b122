# SPDX-License-Identifier: GPL-2.0-or-later
"""READs by RDMA between two dom0s.  rdma-pair is the transport of xen-backend/peer without the
rest of vreadd."""

import contextlib
import hashlib
import json

import pytest

from tests.support.tiers import slow
from tests.xen.pair.conftest import FAR, FOLDER, MIB
from tests.xen.pair.reading import until

pytestmark = [pytest.mark.xen, pytest.mark.timeout(1800)]

ENDPOINT = f"{FAR}:7000"
NEXT_ENDPOINT = f"{FAR}:7001"
FAILS, ENDS, NEVER, ANSWERS_MORE, WRITES_LATE = 1, 2, 3, 4, 5  # enum pair_block
CREDITS = 8
# Far less than rdma-pair's default for give_up, for tests in which this limit passes.
SHORT_MS = 2000


class Answerer:
    """rdma-pair on the far host.  It prints an account of each connection when that ends."""

    def __init__(self, host, address=ENDPOINT, **options):
        words = [f"{name}={value}" for name, value in options.items()]
        self._command = host.popen(["rdma-pair", address, FOLDER, "far", *words])
        self._accounts = 0

    def account(self):
        """Waits until a connection is over and returns its account: the first call that of the
        first connection, the next call that of the next."""
        self._accounts += 1
        self._command.wait_output(rf"(?:{{.*}}\n){{{self._accounts}}}", timeout=120)
        return json.loads(self._command.stdout.splitlines()[self._accounts - 1])

    def target(self):
        """Waits for the first READ; returns the address and the key of its place."""
        return self._command.wait_output(r"target (\d+ \d+)\n", timeout=120).group(1)

    def signal(self, number):
        self._command.kill(number)

    def end(self):
        """Kills rdma-pair, if it still runs.  No sanitizer may have reported an error."""
        errors = self._command.stderr.decode()
        self._command.kill()
        self._command.wait(60)
        assert "Sanitizer" not in errors, errors


@pytest.fixture
def answering(far_host):
    """answering(...): starts an Answerer, which the end of the test kills."""
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
    """ask(...): runs rdma-pair on the near host with these options; returns its counts."""

    def run(stdin=None, **options):
        return json.loads(near_host.run(asking(**options), timeout=300, stdin=stdin).check().stdout)

    return run


@pytest.fixture
def pair(ask):
    """pair(answerer, ...): the counts of ask(...), and the answerer's account of the connection.
    No byte may be wrong or land late."""

    def run(answerer, **options):
        told, account = ask(**options), answerer.account()
        assert (told["wrong"], told["late"]) == (0, 0)
        return told, account

    return run


@pytest.fixture
def begin(near_host):
    """begin(...): starts rdma-pair on the near host; returns the command after the first answer."""

    def run(**options):
        command = near_host.popen(asking(**options))
        command.wait_output("answered", timeout=120)
        return command

    return run


@pytest.fixture
def begin_stealing(near_host):
    """begin_stealing(victim): asks victim, an Answerer that never answers, and then, over a second
    connection, a thief, which is told the place of the victim's READ; returns the counts."""

    def run(victim):
        words = asking(steals=1, handle=NEVER, reads=1, length=65536)
        command = near_host.popen(words)
        command.write(victim.target() + b"\n")
        return json.loads(command.wait(300).check().stdout)

    return run


@pytest.fixture
def begin_held(near_host):
    """begin_held(answerer, ...): asks answerer for READs that it never answers, and holds the last
    one back until its standard input is written to; returns the command after the first READ."""

    def run(answerer, **options):
        command = near_host.popen(asking(handle=NEVER, reads=CREDITS, hold=1, **options))
        answerer.target()
        return command

    return run


def pair_bytes(offset, length):
    """The bytes of a "block", as pair_byte() in rdma_pair.h makes them."""
    positions = range(offset, offset + length)
    return bytes((o * 31 + (o >> 8) * 7 + (o >> 20) * 3 + 1) & 255 for o in positions)


@pytest.mark.parametrize("length", [4097, *slow(1, 4 * MIB)])
def test_bytes_arrive_where_they_belong(answering, pair, length):
    """All bytes of all READs must arrive directly and right.  A native test has no RDMA; here, and
    in all tests below, READs go over queue pairs of two kernels."""
    reads = CREDITS + 2
    told, account = pair(answering(), reads=reads, length=length)
    total = reads * length
    assert (told["answered"], told["wrong"], told["error"]) == (reads, 0, "")
    assert (told["direct"], told["bounced"]) == (total, 0)
    assert account["sent"] == total


@pytest.mark.slow
def test_memory_no_device_knows_gets_them_through_a_buffer(answering, pair):
    """The adapter cannot reach the asker's memory.  All bytes must come through a buffer."""
    told, _ = pair(answering(), reads=CREDITS, length=MIB, bounce=1)
    assert (told["answered"], told["wrong"]) == (CREDITS, 0)
    assert (told["direct"], told["bounced"]) == (0, CREDITS * MIB)


@pytest.mark.slow
def test_pages_of_a_guest_are_written_to_directly(answering, pair, near_host, built_program):
    """A guest grants the memory.  The bytes must be written into the guest's pages directly.
    `make test` instead runs test_remote_read.py."""
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
    """The answerer writes some bytes, then reports an error.  Bytes and errors take different ways
    through the adapter, but no byte may land after the error."""
    told, _ = pair(answering(), reads=CREDITS, length=2 * MIB, handle=FAILS)
    assert (told["answered"], told["failed"], told["error"]) == (CREDITS, CREDITS, "")
    assert told["late"] == 0


@pytest.mark.slow
def test_no_bytes_at_the_end(answering, pair):
    """READs at the end of a block: each answer has no bytes, and no RDMA write comes before it."""
    told, _ = pair(answering(), reads=2 * CREDITS, handle=ENDS)
    assert (told["answered"], told["short"], told["bytes"]) == (2 * CREDITS, 2 * CREDITS, 0)


@pytest.mark.slow
def test_an_answer_that_never_comes(answering, ask):
    """The queue pair is up, but no READ is answered.  The transport must report no error."""
    answerer = answering()
    told = ask(reads=CREDITS, handle=NEVER, timeout_ms=1000)
    assert (told["answered"], told["error"]) == (0, "")
    assert answerer.account()["sent"] == 0


def test_a_second_answer_is_not_sent(answering, ask):
    """The answerer answers a READ twice.  Its transport must refuse the second answer: RDMA would
    write it into memory that no longer waits for bytes."""
    answerer = answering()
    told = ask(reads=2 * CREDITS, length=100, handle=ANSWERS_MORE)
    assert told["wrong"] == 0
    assert answerer.account()["error"] != ""


def test_more_reads_than_credits(answering, pair):
    """A hostile asker sends more READs at once than the answerer gave credits for.  The answerer
    must end the connection, and answer the next one."""
    # Only one credit less: the adapter still has a buffer for each message, so the asker has no
    # reason to give up before the answerer has looked at the messages.
    answerer = answering(credits=CREDITS - 1)
    told, account = pair(answerer, reads=100, length=MIB)
    assert (told["wrong"], told["late"]) == (0, 0)
    assert told["error"] != ""
    assert "breaks the rules" in account["error"]
    assert pair(answerer, reads=1)[0]["answered"] == 1


def test_nothing_lands_once_the_transport_is_freed(answering, ask, pair):
    """The asker frees the transport while answers are under way.  The adapter writes by itself as
    long as its keys are valid, but no byte may land after the transport is freed."""
    answerer = answering()
    for number in (1, 2):
        told = ask(reads=1000, length=MIB, abandon=number)
        assert told["late"] == 0
        answerer.account()
    assert pair(answerer, reads=CREDITS)[0]["answered"] == CREDITS


def test_the_place_of_a_finished_read_is_closed(answering, ask):
    """The answerer writes once more to the place of a READ that is done, with the key that this
    READ had.  The adapter must refuse it, which ends the queue pair, and no byte may land."""
    answerer = answering()
    told = ask(reads=1000, length=65536, handle=WRITES_LATE)
    assert not told["planted"]
    assert (told["wrong"], told["late"]) == (0, 0)
    assert told["answered"] > 0
    assert told["error"] != ""
    assert answerer.account()["error"] != ""


def test_a_key_of_another_hosts_read_writes_nowhere(answering, begin_stealing):
    """A hostile host guesses the address and the key of a READ that another host was asked.  Both
    queue pairs belong to one process, as those of a vreadd do.  The adapter must refuse the write,
    and no byte may land."""
    victim, thief = answering(), answering(address=NEXT_ENDPOINT, steals=1)
    told = begin_stealing(victim)
    assert not told["planted"]
    assert told["late"] == 0
    assert told["thief"] != ""
    assert thief.account()["error"] != ""


@pytest.mark.parametrize("side", ["far", *slow("near")])
def test_who_has_not_the_secret_is_refused(answering, pair, side):
    """One side has a wrong key.  RDMA has no TLS, so each side proves over the queue pair that it
    has the secret.  The asker must get no answer, and the error must say that the other end is not
    the peer."""
    answerer = answering(**({"spoil_key": 1} if side == "far" else {}))
    told, _ = pair(answerer, **({"spoil_key": 1} if side == "near" else {}))
    assert told["answered"] == 0
    assert "not the peer" in told["error"]


@pytest.mark.slow
def test_whom_nobody_awaits_is_refused(answering, pair):
    """The asker dials with a name that the answerer does not await.  The answerer must refuse, and
    RDMA's connection manager must carry the refusal to the asker."""
    told, account = pair(answering(), spoil_name=1)
    assert told["answered"] == 0
    assert told["error"] != ""
    # The asker dials again by itself if the refusal is late, so there may be several.
    assert account["refused"] >= 1


@pytest.mark.slow
def test_a_dead_answerer(answering, begin):
    """The answerer is killed.  The queue pair's other end is gone, so the asker must see an error.
    `make test` instead runs test_remote_faults.py."""
    answerer = answering()
    asker = begin(reads=1000000, length=65536, give_up=SHORT_MS)
    answerer.signal(9)
    told = json.loads(asker.wait(120).check().stdout)
    assert told["answered"] > 0
    assert (told["wrong"], told["late"]) == (0, 0)
    assert told["error"] != ""


@pytest.mark.slow
def test_a_wire_that_is_cut_for_a_while(answering, pair, begin_held, losing):
    """The wire is cut.  The queue pair must fail by its own retries; afterwards a new connection
    must work.  `make test` instead runs test_remote_faults.py."""
    answerer = answering()
    asker = begin_held(answerer, give_up=SHORT_MS)
    with losing("100%"):
        asker.write(b"\n")
        told = json.loads(asker.wait(180).check().stdout)
    assert (told["wrong"], told["late"]) == (0, 0)
    assert told["error"] != ""
    answerer.account()
    assert pair(answerer, reads=CREDITS)[0]["answered"] == CREDITS


def sent_again(host):
    """How often the host's adapter has begun to send packets again."""
    return int(host.text("cat /sys/class/infiniband/rxe0/ports/1/hw_counters/completer_retry_err"))


@pytest.mark.slow
@pytest.mark.parametrize(("side", "share"), [("far", "3%"), ("near", "10%")])
def test_a_wire_that_loses_packets(answering, pair, losing, near_host, far_host, side, share):
    """The wire loses packets of the host that answers, or of the host that asks, which sends only a
    packet for each READ.  Queue pairs send lost packets again, so all READs must be answered.
    Which packets are lost is chance.  So the test repeats its READs until a packet was sent again.
    Natively there is no adapter that sends packets again."""
    answerer, host = answering(), {"near": near_host, "far": far_host}[side]
    reads, before = 4 * CREDITS, sent_again(host)

    def answered():
        told, _ = pair(answerer, reads=reads, length=65536, give_up=20000, timeout_ms=0)
        assert (told["answered"], told["wrong"], told["error"]) == (reads, 0, "")
        return sent_again(host) > before

    with losing(share, host):
        until(answered, lambda: f"no packet of {side} was sent again")
