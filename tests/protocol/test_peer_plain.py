# SPDX-License-Identifier: GPL-2.0-or-later
"""Bytes that go unencrypted: who gets them, and what somebody on the way can do, or a host that
breaks the protocol.  Whatever happens, an asker has the right bytes or an error.  Without a MAC the
CRC32C alone tells what somebody on the way has changed."""

import contextlib
import struct
import threading

import pytest

from tests.support import peer_wire as wire
from tests.support.hdfs_dir import POOL, crc32c_of
from tests.support.peers import at, read_all, read_soon
from tests.support.plain_frames import (
    BARE,
    HEAD,
    MAC,
    MARK,
    NO_MAC,
    PLAIN,
    TRANSPORT,
    Frames,
    Relay,
    ask_for_new_keys,
    body_of,
)
from tests.support.reloading import changed
from tests.support.waiting import eventually
from tools.peers import peer

MIB = 1 << 20
PRIVACY = {"protection": "privacy"}
INTEGRITY = {"protection": "integrity"}
AUTHENTICATION = {"protection": "authentication"}
CLIENT = peer("a", allow_datanodes="dn1", **INTEGRITY)
CLIENT_WITHOUT_MAC = peer("a", allow_datanodes="dn1", **AUTHENTICATION)
CLIENT_OF_TLS = peer("a", allow_datanodes="dn1")
FILL = b"\xa5"
SHARE = 8  # buffers that a connection may have on their way, a quarter of all


@pytest.fixture
def start_both(start_host, start_asker):
    """start_both(): a host and an asker that have opted in, and a relay between them."""
    with contextlib.ExitStack() as stack:

        def start(host_peers=CLIENT, keys=INTEGRITY, **relay):
            host, address = start_host(peers=host_peers)
            relay = stack.enter_context(Relay(address, **relay))
            return host, start_asker(at(relay.address, **keys)), relay

        yield start


def seen(asker):
    """What the asker's status says of the link."""
    return asker.peer("b")


# ---- who gets them ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host_peers", "keys", "way", "kind"),
    [
        (CLIENT, INTEGRITY, "plain", 0),
        (CLIENT_WITHOUT_MAC, INTEGRITY, "plain", 0),
        (CLIENT, AUTHENTICATION, "plain", 0),
        (CLIENT_WITHOUT_MAC, AUTHENTICATION, "bare", NO_MAC),
    ],
)
def test_both_have_opted_in(start_both, image, host_peers, keys, way, kind):
    """The bytes are in frames, and readable on the way, which shows that TLS is not used.  They
    have a MAC if one of the two wants it."""
    _, asker, relay = start_both(host_peers, keys)
    block = image.blocks[0]
    content = image.contents[block.id]
    assert read_all(asker, block) == content
    assert seen(asker)["transport"] == way
    assert seen(asker)["plain"] == seen(asker)["bytes"] == len(content)
    assert b"".join(map(body_of, relay.frames)) == content
    assert all(frame[:HEAD] == bytes([MARK, kind, 0, 0]) for frame in relay.frames)


BOTH_KINDS = pytest.mark.parametrize(
    ("host_peers", "keys", "way"),
    [(CLIENT, INTEGRITY, "plain"), (CLIENT_WITHOUT_MAC, AUTHENTICATION, "bare")],
)


@BOTH_KINDS
def test_many_reads_at_once(start_both, image, host_peers, keys, way):
    """Answers of several READs, in pieces, and short messages between them."""
    _, asker, relay = start_both(host_peers, keys)
    block = image.blocks[0]
    content = image.contents[block.id]
    handle = asker.open(block)[0]
    size = min(len(content), 4 * MIB) // 3
    tags = []
    for n in range(3):
        tags += [asker.begin_read(handle, n * size, size, n * size), asker.begin("stat", handle)]
    for n, tag in enumerate(tags[::2]):
        assert int(asker.end(tag).split()[0]) == size
        assert asker.bytes(n * size, size) == content[n * size : (n + 1) * size]
    for tag in tags[1::2]:
        assert int(asker.end(tag).split()[0]) == len(content)
    assert len(relay.frames) >= 3


@pytest.mark.parametrize(
    ("host_peers", "keys"),
    [
        (CLIENT_OF_TLS, INTEGRITY),
        (CLIENT_OF_TLS, AUTHENTICATION),
        (CLIENT_OF_TLS, PRIVACY),
        (CLIENT, {}),
        (CLIENT_WITHOUT_MAC, PRIVACY),
    ],
)
def test_both_must_opt_in(start_both, image, host_peers, keys):
    _, asker, relay = start_both(host_peers, keys)
    block = image.blocks[0]
    assert read_all(asker, block) == image.contents[block.id]
    assert (seen(asker)["transport"], seen(asker)["plain"]) == ("tls", 0)
    assert relay.frames == []


@BOTH_KINDS
def test_a_reader_that_wants_encryption_gets_it(start_both, image, host_peers, keys, way):
    """As where a cluster has dfs.encrypt.data.transfer: its blocks go by TLS, others in frames."""
    _, asker, relay = start_both(host_peers, keys)
    block, other = image.blocks[:2]
    assert read_all(asker, block, verb="encrypted") == image.contents[block.id]
    assert relay.frames == []
    assert seen(asker)["transport"] == way  # for others
    assert seen(asker)["plain"] == 0
    assert read_all(asker, other) == image.contents[other.id]
    status = seen(asker)
    assert status["encrypted"] == len(image.contents[block.id])
    assert status["plain"] == len(image.contents[other.id])


@BOTH_KINDS
def test_a_reader_that_wants_a_mac_gets_it(start_both, image, host_peers, keys, way):
    """As where dfs.data.transfer.protection is integrity: frames with a MAC are enough for it, and
    instead of those without one its blocks go by TLS."""
    _, asker, relay = start_both(host_peers, keys)
    block = image.blocks[0]
    length = len(image.contents[block.id])
    assert read_all(asker, block, verb="mac") == image.contents[block.id]
    by_tls = {"plain": 0, "bare": length}[way]
    assert (seen(asker)["encrypted"], seen(asker)["plain"]) == (by_tls, length - by_tls)
    assert bool(relay.frames) == (way == "plain")


@pytest.mark.parametrize(
    ("host_peers", "keys", "after"),
    [
        (CLIENT, INTEGRITY, "privacy"),
        (CLIENT_WITHOUT_MAC, AUTHENTICATION, "privacy"),
        (CLIENT_WITHOUT_MAC, AUTHENTICATION, "integrity"),
    ],
)
def test_the_host_changes_its_mind(start_both, image, edit, host_peers, keys, after):
    """From the reload on, bytes come by TLS, over the same connection.  A MAC needs a new one."""
    host, asker, relay = start_both(host_peers, keys)
    block = image.blocks[0]
    handle = asker.open(block)[0]
    assert asker.read(handle, 0, 1000) == image.contents[block.id][:1000]
    assert len(relay.frames) == 1
    edit(host, f"protection = {keys['protection']}", f"protection = {after}")
    changed(host, "[peer a]: changed")
    assert asker.read(handle, 0, 1000) == image.contents[block.id][:1000]
    assert (len(relay.frames), seen(asker)["plain"]) == (1, 1000)
    assert seen(asker)["connects"] == 1


def test_the_asker_changes_its_mind(start_both, image):
    """The next connection is one of TLS alone, or of frames of the other kind; and back."""
    _, asker, relay = start_both(CLIENT_WITHOUT_MAC)
    block = image.blocks[0]
    for keys, way in (
        (INTEGRITY, "plain"),
        ({}, "tls"),
        (AUTHENTICATION, "bare"),
        (INTEGRITY, "plain"),
    ):
        asker.reload(at(relay.address, **keys))
        before = len(relay.frames)
        assert read_soon(asker, block) == image.contents[block.id]
        assert seen(asker)["transport"] == way
        assert (len(relay.frames) > before) == (way != "tls")


# ---- somebody on the way ----------------------------------------------------------------------


def flip(frame, at):
    at %= len(frame)
    return frame[:at] + bytes([frame[at] ^ 1]) + frame[at + 1 :]


BODY = HEAD + wire.HEADER.size
CHANGES = {
    "mark": lambda frame: flip(frame, 1),
    "type": lambda frame: flip(frame, HEAD + 4),
    "more": lambda frame: flip(frame, HEAD + 6),
    "id": lambda frame: flip(frame, HEAD + 10),
    "sum": lambda frame: flip(frame, HEAD + 16),
    "first byte": lambda frame: flip(frame, BODY),
    "last byte": lambda frame: flip(frame, -MAC - 1),
    "mac": lambda frame: flip(frame, -1),
    "shorter": lambda frame: frame[:HEAD] + b"\xff\x03" + frame[HEAD + 2 : -2],
    "left out": lambda frame: b"",
    "twice": lambda frame: frame + frame,
}


@pytest.mark.parametrize("change", CHANGES)
def test_frames_that_were_changed(start_both, image, clock, change):
    """The READ whose frame was changed fails, or its bytes are right.  The connection ends."""
    done = []

    def first(number, frame):
        if number or done:
            return None
        done.append(frame)
        return CHANGES[change](frame)

    _, asker, _ = start_both(change=first)
    block = image.blocks[0]
    handle = asker.open(block)[0]
    tags = [asker.begin_read(handle, n * 1024, 1024, n * 1024) for n in range(2)]
    eventually(lambda: done)
    if change == "left out":
        eventually(lambda: seen(asker)["failures"])  # the second frame has the wrong number
    ends = [asker.error(tag) for tag in tags]
    if change == "twice":
        right = ends.index(None)  # either READ may be answered first
        at = right * 1024
        assert asker.bytes(at, 1024) == image.contents[block.id][at : at + 1024]
        ends[right] = "EAGAIN"
    assert ends == ["EAGAIN", "EAGAIN"]
    assert seen(asker)["failures"] == 1
    assert read_soon(asker, block) == image.contents[block.id]


def test_frames_that_were_exchanged(start_both, image):
    """Two pieces of one READ: a frame's place among the others is part of its MAC."""
    held = []

    def exchange(number, frame):
        if number == 0:
            held.append(frame)
            return b""
        return frame + held.pop() if held else None

    _, asker, _ = start_both(change=exchange)
    block = image.blocks[0]
    handle = asker.open(block)[0]
    assert asker.error(asker.begin_read(handle, 0, 2 * MIB)) == "EAGAIN"
    assert "wrong MAC" in seen(asker)["last_error"]


@pytest.mark.parametrize("at", [BODY, -1])
def test_changed_bytes_without_a_mac(start_both, image, at):
    """Who reads compares them with the CRC32C, as libvread does.  The connection goes on."""
    change = {0: lambda frame: flip(frame, at)}
    _, asker, _ = start_both(
        CLIENT_WITHOUT_MAC,
        AUTHENTICATION,
        change=lambda number, frame: change.get(number, lambda same: same)(frame),
    )
    block = image.blocks[0]
    handle = asker.open(block)[0]
    data, crc32c = asker.read_with_sum(handle, 0, 1000)
    right = image.contents[block.id][:1000]
    changed = flip(right, 0 if at == BODY else -1)
    assert (crc32c, data) == (crc32c_of(right), changed)
    assert asker.read(handle, 0, 1000) == right
    assert seen(asker)["failures"] == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("mark", "a malformed frame"),
        ("type", "a malformed message header"),
        ("id", "data without a request"),
        ("twice", "data without a request"),
    ],
)
def test_changed_frames_without_a_mac(start_both, image, change, says):
    """The connection ends, and no READ that waits has other bytes."""
    _, asker, _ = start_both(
        CLIENT_WITHOUT_MAC, AUTHENTICATION, change=lambda number, frame: CHANGES[change](frame)
    )
    handle = asker.open(image.blocks[0])[0]
    error = asker.error(asker.begin_read(handle, 0, 1000))
    assert error == (None if change == "twice" else "EAGAIN")
    assert says in eventually(lambda: seen(asker)["last_error"])


def test_a_frame_within_the_handshake(start_both, image):
    _, asker, relay = start_both(before=bytes([MARK]) + b"frame")
    assert asker.error(asker.begin_open(image.blocks[0])) == "ENODEV"
    assert "a frame within the handshake" in seen(asker)["last_error"]
    assert relay.frames == []


# ---- a host that answers and breaks the protocol -------------------------------------------------


def answers(image, *steps, transport=TRANSPORT):
    """A host that opens the block, and runs the steps at each READ: step(connection, frames, id,
    length)."""

    def behave(fake, connection):
        connection.until(wire.HELLO)
        connection.send(wire.HELLO, 0, wire.hello_body(transports=transport, credits=32))
        block, frames = image.blocks[0], Frames(connection, transport)
        while message := connection.until(wire.OPEN, wire.READ):
            kind, flags, id_, body = message
            if kind == wire.OPEN:
                connection.send(wire.OPENED, id_, wire.opened_body(block.length, block.genstamp))
                continue
            fake.flags = flags
            length = struct.unpack("<IIQ", body)[1]
            for step in steps:
                step(connection, frames, id_, length)

    return behave


def right(connection, frames, id_, length):
    frames.send(id_, FILL * length)


KINDS = pytest.mark.parametrize(
    ("keys", "transport"), [(INTEGRITY, TRANSPORT), (AUTHENTICATION, BARE)]
)


@KINDS
def test_a_host_that_keeps_to_it(fake_peer, start_asker, image, keys, transport):
    """The tests below differ from this one by one mistake each."""
    with fake_peer(answers(image, right, transport=transport)) as fake:
        asker = start_asker(at(fake.address, **keys))
        handle = asker.open(image.blocks[0])[0]
        for _ in range(2):
            assert asker.read(handle, 0, 100) == FILL * 100
        assert fake.flags == PLAIN


def no_key(connection, frames, id_, length):
    frames.key = bytes(16)
    right(connection, frames, id_, length)


def wrong_number(connection, frames, id_, length):
    frames.sent += 1
    right(connection, frames, id_, length)


def too_much(connection, frames, id_, length):
    frames.send(id_, FILL * (length + 1))


def of_no_request(connection, frames, id_, length):
    frames.send(id_ + (1 << 16), FILL * length)


def not_data(connection, frames, id_, length):
    frames.put(frames.frame(wire.message(wire.FAILED, id_, struct.pack("<I", 5))))


def without_flag(connection, frames, id_, length):
    frames.send(id_, FILL * length, flags=0)


def flag_by_tls(connection, frames, id_, length):
    data = FILL * length
    connection.send(wire.DATA, id_, data, PLAIN, crc32c=wire.crc32c_of(data))


def within_a_message(connection, frames, id_, length):
    whole = wire.message(wire.DATA, id_, FILL * length)
    connection.tls.sendall(whole[:50])
    right(connection, frames, id_, length)


def within_a_header(connection, frames, id_, length):
    connection.tls.sendall(wire.message(wire.DATA, id_, FILL * length)[:7])
    right(connection, frames, id_, length)


def another_head(connection, frames, id_, length):
    head = bytes([MARK, frames.head[1], 1, 0])
    frames.put(frames.frame(wire.message(wire.DATA, id_, FILL * length, PLAIN), head))


def another_kind(connection, frames, id_, length):
    """Also one without a MAC, where both hosts have agreed to MACs."""
    head = bytes([MARK, NO_MAC - frames.head[1], 0, 0])
    frames.put(frames.frame(wire.message(wire.DATA, id_, FILL * length, PLAIN), head))


WRONG_MACS = [(no_key, "wrong MAC"), (wrong_number, "wrong MAC")]
MISTAKES = [
    (too_much, "more data than was asked for"),
    (of_no_request, "data without a request"),
    (not_data, "a malformed message header"),
    (without_flag, "a malformed message header"),
    (flag_by_tls, "a malformed message header"),
    (within_a_message, "a frame where none may be"),
    (within_a_header, "a frame where none may be"),
    (another_head, "a malformed frame"),
    (another_kind, "a malformed frame"),
]


@pytest.mark.parametrize(
    ("mistake", "says", "keys", "transport"),
    [(*each, INTEGRITY, TRANSPORT) for each in WRONG_MACS + MISTAKES]
    + [(*each, AUTHENTICATION, BARE) for each in MISTAKES],
)
def test_wrong_frames_end_the_connection(
    fake_peer, start_asker, image, mistake, says, keys, transport
):
    with fake_peer(answers(image, mistake, transport=transport)) as fake:
        asker = start_asker(at(fake.address, **keys))
        handle = asker.open(image.blocks[0])[0]
        assert asker.error(asker.begin_read(handle, 0, 100)) == "EAGAIN"
        assert says in eventually(lambda: seen(asker)["last_error"])
        assert seen(asker)["plain"] == 0


@KINDS
def test_unencrypted_bytes_for_a_reader_that_wants_none(
    fake_peer, start_asker, image, keys, transport
):
    with fake_peer(answers(image, right, transport=transport)) as fake:
        asker = start_asker(at(fake.address, **keys))
        handle = asker.open(image.blocks[0], verb="encrypted")[0]
        assert asker.error(asker.begin_read(handle, 0, 100)) == "EAGAIN"
        assert fake.flags == 0
        assert "unencrypted data" in eventually(lambda: seen(asker)["last_error"])


def test_frames_that_nobody_agreed_to(fake_peer, start_asker, image):
    """The host has chosen TLS alone, and sends a frame, whose MAC is right."""
    with fake_peer(answers(image, right, transport=1)) as fake:
        asker = start_asker(at(fake.address, **INTEGRITY))
        handle = asker.open(image.blocks[0])[0]
        assert asker.error(asker.begin_read(handle, 0, 100)) == "EAGAIN"
        assert fake.flags == 0
        assert "a frame where none may be" in eventually(lambda: seen(asker)["last_error"])


@pytest.mark.parametrize(("keys", "transport"), [({}, TRANSPORT), ({}, BARE), (INTEGRITY, BARE)])
def test_frames_that_were_not_offered(fake_peer, start_asker, image, keys, transport):
    with fake_peer(answers(image, right, transport=transport)) as fake:
        asker = start_asker(at(fake.address, **keys))
        assert asker.error(asker.begin_open(image.blocks[0])) == "ENODEV"
        assert "a HELLO that does not match" in seen(asker)["last_error"]


@KINDS
def test_the_rest_of_a_frame_is_dropped_when_nobody_waits(
    fake_peer, start_asker, image, keys, transport
):
    """A MAC must still be right, and no byte reaches the place of the READ that was stopped."""
    half, rest = threading.Event(), threading.Event()

    def keep(connection, frames, id_, length):
        data = b"y" * length
        frame = frames.frame(wire.message(wire.DATA, id_, data, PLAIN, crc32c=wire.crc32c_of(data)))
        frames.put(frame[: length // 2])
        half.set()
        assert rest.wait(wire.PATIENCE)
        frames.put(frame[length // 2 :])

    with fake_peer(answers(image, keep, transport=transport)) as fake:
        asker = start_asker(at(fake.address, **keys))
        handle = asker.open(image.blocks[0])[0]
        tag = asker.begin_read(handle, 0, MIB)
        assert half.wait(wire.PATIENCE)
        eventually(lambda: asker.bytes(0, 10) == b"y" * 10)
        asker.send("stop")
        assert asker.error(tag) == "EAGAIN"
        asker.send("fill")
        rest.set()
        asker.send("pool", 1)
        asker.open(image.blocks[0])  # answered after those bytes
        assert asker.bytes(0, MIB) == FILL * MIB
        assert seen(asker)["failures"] == 0


# ---- a host that asks and breaks the protocol ----------------------------------------------------


@pytest.fixture
def as_a(authority):
    return authority.certificate("a"), authority.ca


def read_body(length=100):
    return struct.pack("<IIQ", 77, length, 0)


@pytest.mark.parametrize(
    ("peers", "transports", "agreed"),
    [
        (CLIENT, 1, 0),
        (CLIENT, 1 | TRANSPORT, TRANSPORT),
        (CLIENT, 1 | BARE, 0),
        (CLIENT, 1 | TRANSPORT | BARE, TRANSPORT),
        (CLIENT_OF_TLS, 1, 0),
        (CLIENT_OF_TLS, 1 | TRANSPORT | BARE, 0),
        (CLIENT_WITHOUT_MAC, 1, 0),
        (CLIENT_WITHOUT_MAC, 1 | TRANSPORT, TRANSPORT),
        (CLIENT_WITHOUT_MAC, 1 | BARE, BARE),
        (CLIENT_WITHOUT_MAC, 1 | TRANSPORT | BARE, BARE),
    ],
)
def test_plain_reads_need_an_agreement(start_host, as_a, peers, transports, agreed):
    """Without it a READ with the flag ends the connection; with it the READ has its answer."""
    _, address = start_host(peers=peers)
    with wire.connect(address, *as_a, hello=False) as connection:
        connection.send(wire.HELLO, 0, wire.hello_body(transports=transports))
        hello = connection.until(wire.HELLO)
        assert struct.unpack("<IHHII", hello[3])[2] == (agreed or 1)
        connection.send(wire.READ, 5, read_body(), PLAIN)
        if agreed:
            assert connection.until(wire.FAILED)[2] == 5  # there is no such handle
        else:
            assert connection.until(wire.FAILED) is None


@pytest.mark.parametrize("transport", [TRANSPORT, BARE])
def test_frames_need_tls(start_host, as_a, transport):
    """Frames are part of a connection by TLS: a HELLO with them alone has no transport."""
    _, address = start_host(peers=CLIENT_WITHOUT_MAC)
    with wire.connect(address, *as_a, hello=False) as connection:
        connection.send(wire.HELLO, 0, wire.hello_body(transports=transport))
        assert struct.unpack("<IHHII", connection.until(wire.HELLO)[3])[2] == 0


@pytest.mark.parametrize("transport", [TRANSPORT, BARE])
def test_tls_speaks_between_frames_only(start_host, as_a, image, transport):
    """The asker takes frames slowly, and wants new keys of TLS all the time.  That makes OpenSSL
    send by itself.  What it sends stands between two frames, and all MACs are right."""
    host, address = start_host(peers=CLIENT_WITHOUT_MAC)
    block = image.blocks[0]
    content = image.contents[block.id]
    with wire.connect(address, *as_a, hello=False) as connection:
        connection.send(wire.HELLO, 0, wire.hello_body(transports=1 | transport))
        connection.until(wire.STORAGES)
        body = wire.open_body(POOL, block.id, block.genstamp, ["DS-1"])
        connection.send(wire.OPEN, 1, body)
        handle = struct.unpack("<I", connection.until(wire.OPENED)[3][:4])[0]
        frames = Frames(connection, transport)
        size, count = 2 * MIB, 24
        for id_ in range(2, 2 + count):
            connection.send(wire.READ, id_, struct.pack("<IIQ", handle, size, 0), PLAIN)
        eventually(lambda: host.status()["peers"]["server"]["buffers_used"] == SHARE)
        asked = []

        def change_keys():
            """OpenSSL answers at least every second request.  More than 8 that wait for an answer
            may end the connection."""
            if len(asked) < frames.records + 6:
                asked.append(ask_for_new_keys(connection.tls))

        units = list(frames.units(count * size // MIB, change_keys))
    data = [unit for unit in units if unit[0] == MARK]
    records = [unit for unit in units if unit[0] != MARK]
    assert len(data) == count * size // MIB
    assert all(unit[:3] == b"\x17\x03\x03" for unit in records)
    assert records  # the changes of keys
    assert transport == BARE or all(frames.is_right(*each) for each in enumerate(data))
    assert set(map(body_of, data)) == {content[:MIB], content[MIB : 2 * MIB]}


@pytest.mark.parametrize("kind", [wire.OPEN, wire.STAT, wire.CLOSE, wire.CANCEL, wire.DATA])
def test_the_flag_is_for_reads(start_host, as_a, kind):
    host, address = start_host(peers=CLIENT)
    with wire.connect(address, *as_a, hello=False) as connection:
        connection.send(wire.HELLO, 0, wire.hello_body(transports=1 | TRANSPORT))
        assert connection.until(wire.HELLO)
        body = b"" if kind == wire.CANCEL else struct.pack("<I", 77)
        if kind == wire.OPEN:
            body = wire.open_body(POOL, 1, 1, ["DS-1"])
        connection.send(kind, 5, body, PLAIN)
        assert connection.ended()
    assert host.status()["peers"]["peers"][0]["answered"]["opens"] == 0
