# SPDX-License-Identifier: GPL-2.0-or-later
"""One link, many guests: turns, deadlines of single requests, and cancelled requests."""

import hashlib
import struct
import threading

from tests.support import peer_wire as wire
from tests.support.hdfs_dir import POOL
from tests.support.peers import at
from tests.support.waiting import eventually

MIB = 1 << 20
FILL = b"\xa5"
LIMIT = 60  # s for an answer, as start_asker() configures
ENDED = "EAGAIN"
READ_BODY = struct.Struct("<IIQ")
AGAIN = struct.pack("<I", 11)
NOTHING = 7777  # no request has this id


def failed(connection, id_):
    connection.send(wire.FAILED, id_, AGAIN)


def silence(_connection, _id):
    pass


class Slow:
    """A peer that opens blocks and answers STATs.  It passes a READ of offset 0 to keep(), answers
    other READs, and passes a CANCEL to cancel()."""

    def __init__(self, credits=32, cancel=failed, keep=silence):
        self.credits, self.cancel, self.keep = credits, cancel, keep
        self.kept, self.cancelled, self.order = [], [], []

    def __call__(self, fake, connection):
        wire.greet(connection, credits=self.credits)
        while message := connection.receive():
            kind, _, id_, body = message
            if kind == wire.OPEN:
                connection.send(wire.OPENED, id_, wire.opened_body(9 << 20, 1001))
            elif kind == wire.STAT:
                connection.send(wire.STATED, id_, wire.opened_body(9 << 20, 1001, handle=0))
            elif kind == wire.CANCEL:
                self.cancelled.append(id_)
                self.cancel(connection, id_)
            elif kind == wire.READ:
                self.read(connection, id_, *READ_BODY.unpack(body)[1:])

    def read(self, connection, id_, length, offset):
        self.order.append(offset)
        if offset == 0:
            self.kept.append(id_)
            self.keep(connection, id_)
        else:
            connection.send(wire.DATA, id_, b"z" * length)


def is_served(asker, handle):
    return asker.error(asker.begin("stat", handle)) is None


# ---- overdue requests ------------------------------------------------------------------------


def overdue(clock, asker, slow, handle, length=1000):
    """A READ is kept until it is cancelled, while the peer answers other requests."""
    count = len(slow.kept) + 1
    tag = asker.begin_read(handle, 0, length)
    eventually(lambda: len(slow.kept) == count)
    clock.advance(LIMIT - 1)
    assert is_served(asker, handle)
    assert asker.peer("b")["under_way"] == 1
    clock.advance(1)
    eventually(lambda: len(slow.cancelled) == count)
    return tag


def test_a_slow_answer_ends_only_its_own_request(fake_peer, start_asker, image, clock):
    slow = Slow()
    with fake_peer(slow) as fake:
        asker = start_asker(at(fake.address))
        handle = asker.open(image.blocks[0])[0]
        asker.send("fill")
        tag = overdue(clock, asker, slow, handle)
        assert asker.error(tag) == ENDED
        assert slow.cancelled == slow.kept
        assert asker.read(handle, 5, 100, place=5000) == b"z" * 100
        assert asker.bytes(0, 1000) == FILL * 1000
        seen = asker.peer("b")
        assert (seen["state"], seen["connects"], seen["failures"]) == ("up", 1, 0)
        assert seen["asked"]["errors"] == {"ETIMEDOUT": 1}
        assert seen["under_way"] == 0


def test_bytes_that_come_after_a_cancel_land_nowhere(fake_peer, start_asker, image, clock):
    slow = Slow(cancel=lambda connection, id_: connection.send(wire.DATA, id_, b"y" * MIB))
    with fake_peer(slow) as fake:
        asker = start_asker(at(fake.address))
        handle = asker.open(image.blocks[0])[0]
        asker.send("fill")
        tag = overdue(clock, asker, slow, handle, MIB)
        assert asker.error(tag) == ENDED
        assert is_served(asker, handle)  # all earlier answers have arrived
        assert asker.bytes(0, MIB) == FILL * MIB
        assert asker.peer("b")["failures"] == 0


def test_a_cancel_nobody_answers_ends_the_connection(fake_peer, start_asker, image, clock):
    slow = Slow(cancel=silence)
    with fake_peer(slow) as fake:
        asker = start_asker(at(fake.address))
        handle = asker.open(image.blocks[0])[0]
        tag = overdue(clock, asker, slow, handle)
        assert asker.error(tag) == ENDED
        clock.advance(1)
        assert is_served(asker, handle)
        clock.advance(LIMIT - 1)
        eventually(lambda: asker.peer("b")["failures"] == 1)
        assert "no answer to a CANCEL" in asker.peer("b")["last_error"]


def test_a_cancelled_request_gives_its_credit_back(fake_peer, start_asker, image, clock):
    slow = Slow(credits=2)  # STATs need one of them
    with fake_peer(slow) as fake:
        asker = start_asker(at(fake.address))
        handle = asker.open(image.blocks[0])[0]
        for _ in range(2):
            assert asker.error(overdue(clock, asker, slow, handle)) == ENDED
            assert is_served(asker, handle)
        assert asker.peer("b")["connects"] == 1


def test_a_peer_is_not_blamed_for_what_is_sent_late(fake_peer, start_asker, image, clock):
    """One credit, and each answer takes a third of the limit: of five STATs only the last fail."""

    def behave(_, connection):
        wire.greet(connection, credits=1)
        while message := connection.receive():
            kind, _, id_, _ = message
            if kind == wire.OPEN:
                connection.send(wire.OPENED, id_, wire.opened_body(9 << 20, 1001))
            elif kind == wire.STAT:
                asked.release()
                assert may_answer.acquire(timeout=wire.PATIENCE)
                connection.send(wire.STATED, id_, wire.opened_body(9 << 20, 1001, handle=0))
            elif kind == wire.CANCEL:
                pass  # it was already answered

    asked, may_answer = threading.Semaphore(0), threading.Semaphore(0)
    with fake_peer(behave) as fake:
        asker = start_asker(at(fake.address))
        handle = asker.open(image.blocks[0])[0]
        tags = [asker.begin("stat", handle) for _ in range(5)]
        asker.status()  # the answer comes after all five have begun: only now may time pass
        for _ in range(3):
            assert asked.acquire(timeout=wire.PATIENCE)
            clock.advance(LIMIT / 3)
            may_answer.release()
        errors = [asker.error(tag) for tag in tags]
        assert (errors[:2], errors[3:]) == ([None, None], [ENDED, ENDED])
        may_answer.release(2)  # for the cancelled STAT, if it was sent, and for this one
        assert is_served(asker, handle)
        assert asker.peer("b")["failures"] == 0


# ---- several guests --------------------------------------------------------------------------


def test_guests_take_turns(fake_peer, start_asker, image):
    """One guest asks for much, then another for little.  The second does not wait for all of it."""
    all_asked = threading.Event()

    def keep(connection, id_):
        assert all_asked.wait(wire.PATIENCE)
        connection.send(wire.DATA, id_, b"z" * 100)

    slow = Slow(credits=1, keep=keep)
    with fake_peer(slow) as fake:
        asker = start_asker(at(fake.address))
        greedy = asker.open(image.blocks[0])[0]
        asker.send("pool", 1)
        modest = asker.open(image.blocks[0])[0]
        tags = [asker.begin_read(greedy, 0, 100)]
        eventually(lambda: slow.kept)
        tags += [asker.begin_read(greedy, n, 100) for n in range(1, 9)]
        tags += [asker.begin_read(modest, n, 100) for n in (1001, 1002)]
        assert asker.peer("b")["under_way"] == 11
        all_asked.set()
        assert [asker.error(tag) for tag in tags] == [None] * 11
        assert slow.order == [0, 1, 1001, 2, 1002, *range(3, 9)]


def test_a_guest_that_stops_leaves_the_others_alone(fake_peer, start_asker, image):
    def cancel(connection, id_):
        failed(connection, id_)
        connection.send(wire.DATA, slow.kept[1], b"z" * 100)

    slow = Slow(cancel=cancel)
    with fake_peer(slow) as fake:
        asker = start_asker(at(fake.address))
        handles = []
        for pool in (0, 1):
            asker.send("pool", pool)
            handles.append(asker.open(image.blocks[0])[0])
        stopped, other = (asker.begin_read(h, 0, 100, place=h * 100) for h in handles)
        eventually(lambda: len(slow.kept) == 2)
        asker.send("pool", 0)
        asker.send("stop")
        assert asker.error(stopped) == ENDED
        assert asker.error(other) is None
        assert slow.cancelled == slow.kept[:1]
        assert asker.bytes(100, 100) == b"z" * 100
        assert asker.peer("b")["connects"] == 1


def test_opens_under_way_are_bounded_for_each_guest(fake_peer, start_asker, image):
    block = image.blocks[0]
    storages = ["DS-1"] * 60

    def silent_later(_, connection):
        wire.greet(connection)
        connection.ended()

    with fake_peer(silent_later) as fake:
        asker = start_asker(at(fake.address))
        tags = [asker.begin_open(block, storages) for _ in range(130)]
        assert [asker.error(tag) for tag in tags[128:]] == [ENDED] * 2
        asker.send("pool", 1)
        other = asker.begin_open(block)
        eventually(lambda: asker.peer("b")["under_way"] == 129)
        asker.send("stop")
        assert asker.error(other) == ENDED
        asker.send("pool", 0)
        asker.send("stop")
        assert {asker.error(tag) for tag in tags[:128]} == {ENDED}


# ---- handles of an ended connection ------------------------------------------------------------


def test_handles_of_a_connection_that_is_over_make_no_new_one(
    start_host, start_asker, image, clock
):
    host, address = start_host()
    asker = start_asker(at(address))
    handle = asker.open(image.blocks[0])[0]
    assert host.stop() == 0
    eventually(lambda: asker.peer("b")["state"] == "idle")
    assert asker.error(asker.begin_read(handle, 0, 10)) == ENDED
    asker.send("close", handle)
    clock.advance(LIMIT)
    seen = asker.peer("b")
    assert (seen["state"], seen["connects"], seen["failures"]) == ("idle", 1, 0)


# ---- the host that answers ---------------------------------------------------------------------


def open_one(connection, image):
    block = image.blocks[0]
    body = wire.open_body(POOL, block.id, block.genstamp, ["DS-1"])
    connection.send(wire.OPEN, 1, body)
    return struct.unpack("<IIQQ", connection.until(wire.OPENED)[3])[0]


def test_cancelled_reads_are_answered_once(start_host, authority, image):
    """31 cancelled READs: each ends once, with all its data or with a failure."""
    host, address = start_host()
    files = authority.certificate("a"), authority.ca
    with wire.connect(address, *files) as connection:
        handle = open_one(connection, image)
        ids = range(100, 131)
        for id_ in ids:
            connection.send(wire.READ, id_, READ_BODY.pack(handle, 4 * MIB, 0))
        for id_ in ids:
            connection.send(wire.CANCEL, id_)
        connection.send(wire.CANCEL, NOTHING)  # does no harm
        ended = {}
        while len(ended) < len(ids):
            kind, flags, id_, body = connection.receive()
            if kind == wire.FAILED:
                assert body == AGAIN
            if not flags & wire.MORE:
                assert id_ not in ended
                ended[id_] = kind
        connection.send(wire.STAT, 8888, struct.pack("<I", handle))
        assert connection.receive()[:3:2] == (wire.STATED, 8888)
    counts = host.status()["peers"]["peers"][0]["answered"]["errors"]
    failed = sum(kind == wire.FAILED for kind in ended.values())
    assert failed > 0
    assert counts == {"ECANCELED": failed}


def test_cancelled_opens_leave_no_handle(start_host, authority, image):
    """OPENs are cancelled before, while and after a worker handles them."""
    host, address = start_host()
    files = authority.certificate("a"), authority.ca
    block = image.blocks[0]
    body = wire.open_body(POOL, block.id, block.genstamp, ["DS-1"])
    with wire.connect(address, *files) as connection:
        for id_ in range(1, 301):
            connection.send(wire.OPEN, id_, body)
            for _ in range(id_ % 30):  # takes at most about as long as an OPEN
                hashlib.sha256(bytes(20_000)).digest()
            connection.send(wire.CANCEL, id_)
            kind, _, got, answer = connection.until(wire.OPENED, wire.FAILED)
            assert got == id_
            if kind == wire.OPENED:
                connection.send(wire.CLOSE, 0, answer[:4])
            else:
                assert answer == AGAIN
        eventually(lambda: host.status()["peers"]["peers"][0]["answered"]["open_handles"] == 0)
        assert host.status()["peers"]["peers"][0]["answered"]["connections"] == 1


def test_what_is_announced_no_more_is_not_asked_for(fake_peer, start_asker, image):
    lists = iter([["DS-1", "DS-2"], ["DS-2"], []])

    def behave(_, connection):
        wire.greet(connection)
        names = [wire.name(text) for storage in next(lists) for text in ("dn1", storage)]
        connection.send(wire.STORAGES, 0, b"".join(names))
        connection.send(wire.FAILED, connection.until(wire.OPEN)[2], struct.pack("<I", 2))
        connection.tls.unwrap()

    with fake_peer(behave) as fake:
        bait = at(fake.address, storages="dn1/DS-bait", datanodes="*")
        asker = start_asker(bait)
        for expected in (3, 2, 1):
            assert asker.error(asker.begin_open(image.blocks[0], ["DS-bait"])) == "ENOENT"
            assert asker.peer("b")["storages"] == expected
            eventually(lambda: asker.peer("b")["state"] == "idle")
        assert asker.error(asker.begin_open(image.blocks[0], ["DS-1"])) == "ENODEV"
