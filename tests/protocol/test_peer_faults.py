# SPDX-License-Identifier: GPL-2.0-or-later
"""Peers that are dead, hung, slow, lying, or not who they claim to be: an errno, in bounded time.

No test asserts seconds.  An operation that does not end keeps its test from ending.
"""

import contextlib
import errno
import signal
import socket
import ssl
import struct
import threading

import pytest

from tests.support import peer_wire as wire
from tests.support.hdfs_dir import POOL
from tests.support.peers import at, free_address, read_all, read_soon
from tests.support.waiting import eventually
from tools.peers import Authority, peer
from tools.vreadd import stop_process

MIB = 1 << 20
FILL = b"\xa5"
LIMIT = 60  # s for an answer, as start_asker() configures
ENDED = "EAGAIN"


def last_error(asker):
    return eventually(lambda: asker.peer("b")["last_error"])


# ---- peers that are not there any more ---------------------------------------------------------


def test_killed_with_reads_under_way(start_host, start_asker, image):
    host, address = start_host()
    asker = start_asker(at(address))
    block = image.blocks[0]
    handle = asker.open(block)[0]
    stop_process(host.process.pid)
    tags = [asker.begin_read(handle, n * MIB, MIB, n * MIB) for n in range(8)]
    eventually(lambda: asker.peer("b")["under_way"] == 8)
    host.kill()
    assert [asker.error(tag) for tag in tags] == [ENDED] * 8
    assert asker.peer("b")["state"] == "backing off"
    assert asker.error(asker.begin_read(handle, 0, 10)) == ENDED


def test_hung_and_well_again(start_host, start_asker, image, clock):
    host, address = start_host()
    asker = start_asker(at(address))
    block = image.blocks[0]
    handle = asker.open(block)[0]
    stop_process(host.process.pid)
    try:
        tags = [asker.begin_read(handle, 0, MIB), asker.begin("stat", handle)]
        opening = asker.begin_open(block)
        eventually(lambda: asker.peer("b")["requests"] == 4)  # all were sent
        clock.advance(LIMIT)
        assert [asker.error(tag) for tag in tags] == [ENDED] * 2
        assert asker.error(opening) == "ENODEV"
        assert asker.log().count("peer b: no answer within 60000 ms") == 1
    finally:
        host.process.send_signal(signal.SIGCONT)
    assert read_soon(asker, block) == image.contents[block.id]


@pytest.mark.thorough
def test_pauses_between_attempts_grow(start_asker, image, clock):
    asker = start_asker(at(free_address()))

    def tries():
        assert asker.error(asker.begin_open(image.blocks[0])) == "ENODEV"
        return asker.peer("b")["connects"]

    start = clock.ms
    for expected in range(1, 6):
        clock.until(lambda count=expected: tries() == count)
        # The first pause is at least 75 ms; each pause is twice the one before.
        assert 75 * (2 ** (expected - 1) - 1) <= clock.ms - start


def test_restarted_while_idle(start_host, start_asker, image):
    """The end of a connection that nobody uses is no failure."""
    host, address = start_host()
    asker = start_asker(at(address))
    block = image.blocks[0]
    assert read_all(asker, block) == image.contents[block.id]
    assert host.stop() == 0
    eventually(lambda: asker.peer("b")["state"] == "idle")
    start_host(address=address)
    assert read_all(asker, block) == image.contents[block.id]
    assert asker.peer("b")["failures"] == 0
    assert asker.peer("b")["connects"] == 2


def test_idle_links_are_closed(start_host, start_asker, image, clock):
    host, address = start_host()
    asker = start_asker(at(address), keys={"idle-timeout": 10})
    block = image.blocks[1]
    for count in (1, 2):
        assert read_all(asker, block) == image.contents[block.id]
        clock.advance(9)
        assert read_all(asker, block) == image.contents[block.id]
        assert asker.peer("b")["connects"] == count
        clock.advance(10)
        eventually(lambda: asker.peer("b")["state"] == "idle")
        eventually(lambda: host.status()["peers"]["server"]["connections"] == 0)
    assert asker.peer("b")["failures"] == 0


# ---- peers that break the protocol -------------------------------------------------------------


def silent(fake, _):
    fake.ended.wait(wire.PATIENCE)


@pytest.mark.parametrize("plain", [True, False])
def test_half_open(fake_peer, start_asker, image, clock, plain):
    """A peer accepts, or even authenticates, and then sends nothing."""
    expected = "no connection within 60000 ms" if plain else "no HELLO within 60000 ms"
    with fake_peer(silent, plain=plain) as fake:
        asker = start_asker(at(fake.address))
        tag = asker.begin_open(image.blocks[0])
        eventually(lambda: fake.connections == 1)
        eventually(lambda: plain or asker.peer("b")["state"] == "authenticated")
        clock.advance(LIMIT)
        assert asker.error(tag) == "ENODEV"
        assert last_error(asker) == expected


def test_plain_text(fake_peer, start_asker, image):
    with fake_peer(lambda _, s: s.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), plain=True) as fake:
        asker = start_asker(at(fake.address))
        assert asker.error(asker.begin_open(image.blocks[0])) == "ENODEV"
        assert "not accepted as b: wrong version number" in last_error(asker)


def answers(*messages, before=None):
    """Says hello and answers the first request with these messages, at offsets from its id."""

    def behave(fake, connection):
        wire.greet(connection)
        _, _, id_, _ = connection.until(wire.OPEN)
        for kind, offset, body, *more in messages:
            connection.send(kind, id_ + offset, body, *more)
        connection.ended()

    return behave


HELLOS = {
    "magic": (wire.hello_body(magic=1, credits=3), "a malformed HELLO"),
    "version": (
        wire.hello_body(version=9, credits=3),
        "it has version 9 of the protocol, this host has 1: update",
    ),
    "no credits": (wire.hello_body(credits=0), "a HELLO that does not match"),
    "too many credits": (wire.hello_body(credits=1 << 20), "a malformed HELLO"),
    "no transport": (
        wire.hello_body(transports=0, credits=3),
        "no transport in common with this host",
    ),
    "a transport nobody offered": (
        wire.hello_body(transports=4, credits=3),
        "a HELLO that does not match",
    ),
}


def greets_with(body):
    def behave(_, connection):
        connection.send(wire.HELLO, 0, body)
        connection.ended()

    return behave


LIES = {
    "an id never given": (
        (wire.OPENED, 1 << 20, wire.opened_body(9, 1)),
        "an answer to no request",
    ),
    "an id beyond the credits": (
        (wire.OPENED, 600, wire.opened_body(9, 1)),
        "an answer to no request",
    ),
    "data for an open": ((wire.DATA, 0, b"x" * 100), "more data than"),
    "data nobody asked for": ((wire.DATA, 1 << 20, b"x" * 100), "data without a request"),
    "a stat's answer": ((wire.STATED, 0, wire.opened_body(9, 1)), "an answer to no request"),
    "a question": ((wire.READ, 0, struct.pack("<IIQ", 1, 1, 0)), "which is a request"),
    "no such type": ((77, 0, b""), "a malformed message header"),
    "an unknown flag": ((wire.OPENED, 0, wire.opened_body(9, 1), 2), "a malformed message header"),
    "too short": ((wire.OPENED, 0, b"x" * 20), "a malformed message header"),
    "too long": ((wire.STORAGES, 0, b"", 0, 1 << 30), "a malformed message header"),
    "names that are none": ((wire.STORAGES, 0, b"\x03a/b\x01c"), "a malformed list of storages"),
    "a second hello": ((wire.HELLO, 0, wire.hello_body(credits=9)), "a malformed HELLO"),
}


def babble(_, connection):
    wire.greet(connection)
    connection.tls.sendall(bytes(range(256)) * 400)
    connection.ended()


def test_lies_end_the_connection(authority, start_asker, image):
    """One peer for each lie, all at the same time."""
    liars = [(greets_with(body), complaint) for body, complaint in HELLOS.values()]
    liars += [(answers(message), complaint) for message, complaint in LIES.values()]
    liars += [(babble, "a malformed message header")]
    names = [f"b{n}" for n in range(len(liars))]
    files = authority.certificate("liar", san=",DNS:".join(names))
    with contextlib.ExitStack() as fakes:
        addresses = [
            fakes.enter_context(wire.FakePeer(files, authority.ca, behave)).address
            for behave, _ in liars
        ]
        peers = [
            peer(name, address=address, storages=f"dn1/DS-{name}")
            for name, address in zip(names, addresses, strict=True)
        ]
        asker = start_asker(*peers)
        tags = [asker.begin_open(image.blocks[0], [f"DS-{name}"]) for name in names]
        assert [asker.error(tag) for tag in tags] == ["ENODEV"] * len(liars)
        for name, (_, complaint) in zip(names, liars, strict=True):
            assert complaint in asker.peer(name)["last_error"]


@pytest.mark.parametrize(
    ("length", "genstamp", "flags"), [(5, 1001, 1), (9 << 20, 1002, 1), (9 << 20, 1001, 2)]
)
def test_an_open_that_is_not_what_was_asked_for(
    fake_peer, start_asker, image, length, genstamp, flags
):
    body = wire.opened_body(length, genstamp, flags=flags)
    with fake_peer(answers((wire.OPENED, 0, body))) as fake:
        asker = start_asker(at(fake.address))
        block = image.blocks[0]
        assert block.genstamp == 1001
        assert asker.error(asker.begin_open(block, visible=10)) in ("EIO", "ENODEV")


def test_an_errno_that_is_none(fake_peer, start_asker, image):
    with fake_peer(answers((wire.FAILED, 0, struct.pack("<I", 0)))) as fake:
        asker = start_asker(at(fake.address))
        assert asker.error(asker.begin_open(image.blocks[0])) == "EIO"


def reads(answer):
    """Opens one block and answers READs with answer(fake, connection, id, length)."""

    def behave(fake, connection):
        wire.greet(connection)
        while message := connection.receive():
            kind, _, id_, body = message
            if kind == wire.OPEN:
                connection.send(wire.OPENED, id_, wire.opened_body(9 << 20, 1001))
            elif kind == wire.READ:
                answer(fake, connection, id_, struct.unpack("<IIQ", body)[1])

    return behave


def too_much(_, connection, id_, length):
    connection.send(wire.DATA, id_, b"x" * (length + 1))


def too_much_in_pieces(_, connection, id_, length):
    for _ in range(3):
        connection.send(wire.DATA, id_, b"x" * (length // 2), wire.MORE)


def too_little(_, connection, id_, length):
    connection.send(wire.DATA, id_, b"x" * (length - 1))


def twice(_, connection, id_, length):
    for _ in range(2):
        connection.send(wire.DATA, id_, b"x" * length)


def half_and_silence(fake, connection, id_, length):
    connection.send(wire.DATA, id_, b"x" * (length // 2), length=length)
    fake.ended.wait(wire.PATIENCE)


def drop_by_drop(fake, connection, id_, length):
    connection.tls.sendall(wire.message(wire.DATA, id_, length=length))
    while not fake.ended.wait(0.01):
        connection.tls.sendall(b"x")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (too_much, ENDED),
        (too_much_in_pieces, ENDED),
        (too_little, "EIO"),
        (half_and_silence, ENDED),
        (drop_by_drop, ENDED),
    ],
)
def test_reads_answered_wrong(fake_peer, start_asker, image, clock, answer, expected):
    with fake_peer(reads(answer)) as fake:
        asker = start_asker(at(fake.address))
        handle = asker.open(image.blocks[0])[0]
        asker.send("fill")
        tag = asker.begin_read(handle, 0, 100_000, place=4096)
        if answer in (half_and_silence, drop_by_drop):
            eventually(lambda: asker.bytes(4096, 1) == b"x")
            clock.advance(LIMIT)
        assert asker.error(tag) == expected
        # Whatever the peer sent, no byte outside the READ's place has changed.
        assert asker.bytes(0, 4096) == FILL * 4096
        assert asker.bytes(4096 + 100_000, MIB) == FILL * MIB


def test_an_answer_that_comes_twice_ends_the_connection(fake_peer, start_asker, image):
    with fake_peer(reads(twice)) as fake:
        asker = start_asker(at(fake.address))
        handle = asker.open(image.blocks[0])[0]
        assert asker.read(handle, 0, 100) == b"x" * 100
        assert last_error(asker) == "data without a request"


def test_the_sum_of_a_read_is_passed_on_as_it_was_sent(fake_peer, start_asker, image):
    """The host that asks does not make a sum of its own: bytes may change on their way to it."""

    def wrong_sum(_, connection, id_, length):
        connection.send(wire.DATA, id_, b"x" * (length // 2), wire.MORE)
        connection.send(wire.DATA, id_, b"x" * (length - length // 2), crc32c=0x12345678)

    with fake_peer(reads(wrong_sum)) as fake:
        asker = start_asker(at(fake.address))
        handle = asker.open(image.blocks[0])[0]
        assert asker.read_with_sum(handle, 0, 99_999) == (b"x" * 99_999, 0x12345678)


def test_a_sum_where_none_belongs_ends_the_connection(fake_peer, start_asker, image):
    def early(_, connection, id_, length):
        connection.send(wire.DATA, id_, b"x" * (length // 2), wire.MORE, crc32c=1)

    with fake_peer(reads(early)) as fake:
        asker = start_asker(at(fake.address))
        handle = asker.open(image.blocks[0])[0]
        assert asker.error(asker.begin_read(handle, 0, 100_000)) == ENDED
        assert last_error(asker) == "a malformed message header"


def test_a_stopped_pool_waits_for_nobody(fake_peer, start_asker, image):
    """Operations of a stopped pool end at once, not after a minute; later bytes are dropped."""
    half, rest = threading.Event(), threading.Event()

    def keep(fake, connection, id_, length):
        connection.send(wire.DATA, id_, b"y" * (length // 2), length=length)
        half.set()
        assert rest.wait(wire.PATIENCE)
        connection.tls.sendall(b"y" * (length - length // 2))

    with fake_peer(reads(keep)) as fake:
        asker = start_asker(at(fake.address), keys={"answer-timeout": 60000})
        handle = asker.open(image.blocks[0])[0]
        tags = [asker.begin_read(handle, 0, MIB)]
        assert half.wait(wire.PATIENCE)
        eventually(lambda: asker.bytes(0, 10) == b"y" * 10)
        asker.send("stop")
        assert asker.error(tags[0]) == ENDED
        assert asker.error(asker.begin_read(handle, 0, MIB)) == ENDED
        asker.send("fill")
        rest.set()
        asker.send("pool", 1)
        asker.open(image.blocks[0])  # answered after those bytes
        assert asker.bytes(0, MIB) == FILL * MIB
        assert asker.stop() == 0


# ---- identity of peers -------------------------------------------------------------------------


def refused_by_asker(start_asker, image, address):
    asker = start_asker(at(address))
    assert asker.error(asker.begin_open(image.blocks[0])) == "ENODEV"
    assert asker.peer("b")["requests"] == 0
    return last_error(asker)


def test_a_host_of_another_name(start_host, start_asker, image):
    _, address = start_host(name="c")
    assert "hostname mismatch" in refused_by_asker(start_asker, image, address).lower()


def test_a_host_of_another_authority(start_daemon, start_asker, image, authority, tmp_path):
    other, address = Authority(tmp_path, "other"), free_address()
    start_daemon(extra=other.host("b", ca=authority.ca, listen=address) + peer("a"))
    assert "not accepted as b" in refused_by_asker(start_asker, image, address)


def test_a_certificate_that_has_expired(start_daemon, start_asker, image, authority):
    files = authority.certificate("b", start="20200101000000Z", end="20200201000000Z")
    address = free_address()
    start_daemon(extra=authority.host("b", files=files, listen=address) + peer("a"))
    assert "certificate has expired" in refused_by_asker(start_asker, image, address)


def test_an_older_tls_is_not_spoken(fake_peer, start_asker, image):
    old = ssl.TLSVersion.TLSv1_2
    with fake_peer(lambda _, connection: wire.greet(connection), version=old) as fake:
        assert "version" in refused_by_asker(start_asker, image, fake.address)


def test_names_in_the_san_count_and_wildcards_do_not(start_daemon, authority, start_asker, image):
    good, wild = (
        authority.certificate("somebody", san="b"),
        authority.certificate("somebody", san="*.rack"),
    )
    address = free_address()
    allowed = peer("a", allow_datanodes="dn1")
    start_daemon(extra=authority.host("b", files=good, listen=address) + allowed)
    with wire.FakePeer(wild, authority.ca, silent) as fake:
        asker = start_asker(
            at(address),
            peer("b.rack", address=fake.address, storages="dn1/DS-2"),
        )
        assert read_all(asker, image.blocks[1]) == image.contents[image.blocks[1].id]
        assert asker.error(asker.begin_open(image.blocks[0], ["DS-2"])) == "ENODEV"
        assert "hostname mismatch" in asker.peer("b.rack")["last_error"].lower()


def refusals(host):
    server = host.status()["peers"]["server"]
    return server["refused"], server["last_refused"]


def test_askers_nobody_knows(start_host, authority, tmp_path):
    host, address = start_host()
    files, newest = authority.certificate("a"), ssl.TLSVersion.TLSv1_3
    expired = authority.certificate("a", start="20200101000000Z", end="20200201000000Z")
    strangers = [
        (authority.certificate("z"), newest, "its certificate names no [peer]"),
        (Authority(tmp_path, "other").certificate("a"), newest, "unable to get local issuer"),
        (expired, newest, "certificate has expired"),
        (None, newest, "peer did not return a certificate"),
        (files, ssl.TLSVersion.TLSv1_2, "unsupported protocol"),
    ]
    for n, (own, version, complaint) in enumerate(strangers):
        with (
            contextlib.suppress(OSError, AssertionError),
            wire.connect(address, own, authority.ca, version=version),
        ):
            pytest.fail(f"let in: {complaint}")
        eventually(lambda count=n + 1: refusals(host)[0] == count)
        assert complaint in refusals(host)[1]
    assert host.status()["peers"]["peers"][0]["answered"]["opens"] == 0


def test_a_recorded_conversation_cannot_be_played_again(start_host, start_asker, image, authority):
    host, address = start_host()
    recorded = []

    def record(fake, plain):
        ip, port = address.split(":")
        with socket.create_connection((ip, int(port))) as to:
            plain.settimeout(0.02)
            to.settimeout(0.02)
            while not fake.ended.is_set():
                for source, sink in ((plain, to), (to, plain)):
                    try:
                        data = source.recv(65536)
                    except TimeoutError:
                        continue
                    if source is plain:
                        recorded.append(data)
                    if not data:
                        return
                    sink.sendall(data)

    with wire.FakePeer(authority.certificate("x"), authority.ca, record, plain=True) as proxy:
        asker = start_asker(at(proxy.address))
        assert asker.open(image.blocks[0])[1] == image.blocks[0].length
        assert asker.stop() == 0

    def seen():
        return host.status()["peers"]["peers"][0]["answered"]

    eventually(lambda: seen()["open_handles"] == 0)  # the host has noticed the asker's end
    answered = seen()
    assert answered["opens"] == 1
    ip, port = address.split(":")
    with socket.create_connection((ip, int(port)), timeout=wire.PATIENCE) as replay:
        replay.sendall(b"".join(recorded))
        with contextlib.suppress(ConnectionResetError):
            while replay.recv(65536):
                pass
    eventually(lambda: refusals(host)[0] == 1)
    assert seen() == {**answered, "connections": 0}


# ---- the host that answers ---------------------------------------------------------------------


@pytest.fixture
def as_a(authority):
    return authority.certificate("a"), authority.ca


def open_one(connection, block):
    connection.send(wire.OPEN, 1, wire.open_body(POOL, block.id, block.genstamp, ["DS-1"]))
    _, _, _, body = connection.until(wire.OPENED)
    return struct.unpack("<IIQQ", body)[0]


def read_body(handle, length, offset=0):
    return struct.pack("<IIQ", handle, length, offset)


HOSTILE = {
    "a second hello": [(wire.HELLO, 0, wire.hello_body())],
    "an answer": [(wire.OPENED, 1, wire.opened_body(1, 1))],
    "data": [(wire.DATA, 1, b"x" * 5000)],
    "an unknown type": [(99, 1, b"")],
    "a length of 4 GiB": [(wire.OPEN, 1, b"", 0, (1 << 32) - 1)],
    "a read of nothing": [(wire.READ, 1, read_body(1, 0))],
    "a read too long": [(wire.READ, 1, read_body(1, (4 << 20) + 1))],
    "an end beyond 2^64": [(wire.READ, 1, read_body(1, 100, (1 << 64) - 1))],
    "an open of a path": [(wire.OPEN, 1, wire.open_body("BP/..", 1, 1, ["DS-1"]))],
    "an open without storages": [(wire.OPEN, 1, wire.open_body(POOL, 1, 1, []))],
    "an open cut short": [(wire.OPEN, 1, wire.open_body(POOL, 1, 1, ["DS-1"])[:-1])],
    "a close of nothing": [(wire.CLOSE, 1, struct.pack("<I", 77))],
    "more than the credits": [(wire.STAT, n, struct.pack("<I", 1)) for n in range(5000)],
    "garbage": [(wire.OPEN, 1, bytes(range(256)) * 60)],
}


def test_hostile_askers_are_cut_off(start_host, image, as_a):
    _, address = start_host()
    for messages in HOSTILE.values():
        with wire.connect(address, *as_a) as connection:
            with contextlib.suppress(OSError):  # the host may close it first
                # All at once: if sent one by one, each may be answered before the next is sent.
                connection.tls.sendall(b"".join(wire.message(*m) for m in messages))
            assert connection.ended()
        with wire.connect(address, *as_a) as connection:
            assert open_one(connection, image.blocks[0])  # new connections of a are served


def test_numbers_that_name_no_block(start_host, image, as_a):
    _, address = start_host()
    with wire.connect(address, *as_a) as connection:
        handle = open_one(connection, image.blocks[0])
        connection.send(wire.CLOSE, 2, struct.pack("<I", handle))
        for number in (handle, 0, handle + 1, 0xFFFFFFFF):
            connection.send(wire.READ, 3, read_body(number, 10))
            kind, _, id_, body = connection.receive()
            assert (kind, id_, body) == (wire.FAILED, 3, struct.pack("<I", errno.EBADF))


def test_who_does_not_take_its_answers_delays_nobody(
    start_host, start_asker, image, as_a, authority
):
    """Two hosts that read no answers ask for more than all buffers hold.  Each gets a quarter of
    them, the one with two connections, too."""
    host, address = start_host(
        peers="".join(peer(name, allow_datanodes="dn1") for name in "ade"),
        keys={"buffers": 8},
    )
    block = image.blocks[0]

    def held():
        """Connections, and the buffers that they hold."""
        server = host.status()["peers"]["server"]
        return server["connections"], server["buffers_used"]

    with contextlib.ExitStack() as stack:
        hosts = (as_a, as_a, (authority.certificate("e"), authority.ca))
        # All are there before the first READ: a connection alone has its host's whole share.
        connections = [stack.enter_context(wire.connect(address, *files)) for files in hosts]
        for connection in connections:
            handle = open_one(connection, block)
            for n in range(31):
                connection.send(wire.READ, n + 2, read_body(handle, 4 * MIB))
        eventually(lambda: held()[1] >= 4)
        asker = start_asker(at(address), name="d")
        for _ in range(3):
            assert read_all(asker, block) == image.contents[block.id]
        # A connection that was ended meanwhile, since it takes nothing, would hold none.
        eventually(lambda: held() == (4, 4), what=lambda: f"connections, buffers: {held()}")
    assert host.memory_kib() < 1 << 20
