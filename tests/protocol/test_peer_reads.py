# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients of one vreadd read blocks of another: the whole way from libvread to an image on "the
other host", over TLS.  Files are also read half from this host and half from the other."""

import contextlib
import errno
import random
import struct
import threading
from dataclasses import dataclass

import pytest

from tests.libvread import vreadlib
from tests.support import peer_wire as wire
from tests.support.daemon import REPOSITORY
from tests.support.hdfs_dir import POOL, DataDirectory, crc32c_of
from tests.support.localfront import READ, LocalFront, read_part, request
from tests.support.peers import free_address
from tests.support.waiting import eventually
from tools.images import make_datanode_image, write_layout
from tools.peers import Authority, peer
from tools.vreadd import Vreadd

FINALIZED_BLOCK, REMOTE_BLOCK = 1, 2  # VREAD_BLOCK_*
HERE, THERE = "DS-here", "DS-there"
STORAGES = (HERE, THERE)
SIZES = (3_000_001, 512, 1, 2 << 20)
MANY = 600


@dataclass
class Disk:
    """A datanode's image and its blocks."""

    served: tuple
    blocks: list


def make_disk(folder, storage, first_id):
    directory = DataDirectory(folder / "data", storage=storage)
    blocks = [directory.add(first_id + n, size) for n, size in enumerate(SIZES)]
    image = make_datanode_image([directory.path], folder / "disk.img", free_mib=4)
    write_layout(image, folder / "layout.json")
    return Disk((image.path, folder / "layout.json"), blocks)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return make_disk(tmp_path_factory.mktemp("here"), HERE, 1073741825)


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    return make_disk(tmp_path_factory.mktemp("there"), THERE, 1073745921)


@pytest.fixture(scope="module")
def lib():
    return vreadlib.load(REPOSITORY / "build/release/libvread.so.1")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory, here, there):
    """hosts(...): vreadds (a, b); clients of a read dn-here at a itself and dn-there from b."""
    authority = Authority(tmp_path_factory.mktemp("authority"))

    @contextlib.contextmanager
    def started(allow=("*",), guests_of_a="dn-there", pools="*", timeout_ms=60_000):
        address = free_address()
        b_sections = authority.host("b", listen=address)
        b_sections += peer("a", allow_datanodes=guests_of_a, allow_pools=pools)
        a_sections = authority.host("a", answer_timeout=timeout_ms)
        a_sections += peer("b", address=address, storages=f"dn-there/{THERE}")
        b = Vreadd({"dn-there": there.served}, "asan", ("dn-there",), sections=b_sections)
        a = Vreadd({"dn-here": here.served}, "asan", allow=allow, sections=a_sections)
        with b, a:
            yield a, b

    return started


@pytest.fixture(scope="module")
def pair(hosts):
    with hosts() as both:
        yield both


@pytest.fixture
def connection(lib, pair):
    with vreadlib.Connection(lib, pair[0].endpoint) as c:
        yield c


def open_block(connection, block, storages=STORAGES, **arguments):
    return connection.open(POOL, block.id, block.genstamp, storages=storages, **arguments)


def expect(number, call):
    with pytest.raises(OSError) as caught:
        call()
    assert caught.value.errno == number, caught.value


def peer_of(a):
    (status,) = a.status()["peers"]["peers"]
    return status


def read_whole(file, length, piece):
    data = b""
    while len(data) < length:
        data += file.read(min(piece, length - len(data)))
    return data


# ---- right bytes -----------------------------------------------------------------------


@pytest.mark.parametrize("n", range(len(SIZES)))
def test_a_block_of_another_host(connection, there, n):
    block, content = there.blocks[n], there.blocks[n].content()
    with open_block(connection, block) as file:
        stat = file.stat()
        assert (stat.length, stat.generation_stamp) == (block.length, block.genstamp)
        assert stat.flags == FINALIZED_BLOCK | REMOTE_BLOCK
        assert read_whole(file, block.length, 100_000) == content
        assert file.read(10) == b""
        assert file.pread(block.length, 0) == content
        assert file.pread(50, block.length // 2) == content[block.length // 2 :][:50]
        file.update()


@pytest.mark.parametrize("changed", ["bytes", "sum"])
def test_bytes_that_changed_on_their_way_are_not_used(lib, fake_peer, authority, here, changed):
    """A peer sends bytes and a CRC32C that differ.  The host that asks passes both on, and libvread
    notices by default."""
    length = 2 << 20
    right = bytes(range(256)) * (length // 256)
    sent = right[:1_500_000] + b"!" + right[1_500_001:] if changed == "bytes" else right

    def behave(fake, connection):
        wire.greet(connection)
        while message := connection.receive():
            kind, _, id_, body = message
            if kind == wire.OPEN:
                connection.send(wire.OPENED, id_, wire.opened_body(length, 1001))
            elif kind == wire.READ:
                _, wanted, offset = struct.unpack("<IIQ", body)
                crc32c = crc32c_of(right[offset : offset + wanted]) ^ (changed == "sum")
                connection.send(wire.DATA, id_, sent[offset : offset + wanted], crc32c=crc32c)

    with fake_peer(behave) as fake:
        sections = authority.host("a", answer_timeout=60_000)
        sections += peer("b", address=fake.address, storages=f"dn-there/{THERE}")
        with (
            Vreadd({"dn-here": here.served}, "asan", allow=("*",), sections=sections) as a,
            vreadlib.Connection(lib, a.endpoint) as c,
            c.open(POOL, 77, 1001, storages=(THERE,)) as f,
        ):
            expect(errno.EBADE, lambda: f.pread(length, 0))
            expect(errno.EBADE, lambda: f.read(length))
            if changed == "bytes":
                assert f.pread(1_000_000, 0) == right[:1_000_000]
            assert c.connected()


def test_a_file_half_here_and_half_there(connection, pair, here, there):
    before = pair[0].status()["totals"]
    data = expected = b""
    for block in [b for both in zip(here.blocks, there.blocks, strict=True) for b in both]:
        with open_block(connection, block) as file:
            data += read_whole(file, block.length, 1 << 20)
        expected += block.content()
    assert data == expected
    after = pair[0].status()["totals"]
    remote = {k: after["remote"][k] - before["remote"][k] for k in after["remote"]}
    assert remote["opens"] == len(SIZES)
    assert remote["bytes"] == sum(SIZES)
    assert after["bytes"] - before["bytes"] == 2 * sum(SIZES)


def test_a_trace_tells_what_the_other_host_took(connection, pair, there):
    block = there.blocks[0]
    after = pair[0].ask("trace", seconds=60)["last"]
    with open_block(connection, block) as file:
        assert len(file.pread(1000, 0)) == 1000
    records = pair[0].ask("trace", seconds=0, after=after)["records"]
    opened, read = (next(r for r in records if r["operation"] == o) for o in ("open", "read"))
    assert list(opened["stages"]) == ["find", "remote"]
    assert list(read["stages"]) == ["remote"]
    assert read["status"] == 1000
    assert all(sum(r["stages"].values()) <= r["ns"] for r in (opened, read))


def test_asynchronous_reads(connection, there):
    block, content = there.blocks[0], there.blocks[0].content()
    piece, got, waiting = 300_000, bytearray(block.length), 0
    pending = list(range(0, block.length, piece))
    random.Random(1).shuffle(pending)
    with open_block(connection, block) as file:
        while pending or waiting:
            with contextlib.suppress(BlockingIOError):  # no room now
                while pending:
                    file.submit(pending[-1], piece)
                    pending.pop()
                    waiting += 1
            for completion in connection.reap():
                data = vreadlib.data(completion)
                got[completion.offset : completion.offset + len(data)] = data
                connection.release(completion)
                waiting -= 1
    assert bytes(got) == content


def test_many_threads(lib, pair, here, there):
    blocks = [*here.blocks, *there.blocks]
    contents = {block.id: block.content() for block in blocks}
    failures = []

    def work(seed):
        rng = random.Random(seed)
        try:
            for _ in range(6):
                block = rng.choice(blocks)
                with open_block(connection, block) as file:
                    for _ in range(6):
                        offset = rng.randrange(block.length)
                        length = rng.choice([1, 5000, 300_000, 2 << 20])
                        expected = contents[block.id][offset : offset + length]
                        assert file.pread(length, offset) == expected
        except BaseException as error:
            failures.append(error)

    with vreadlib.Connection(lib, pair[0].endpoint) as connection:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive()
    assert not failures


# ---- who is asked -------------------------------------------------------------------------


def test_nobody_is_asked_for_what_is_here(hosts, lib, here, there):
    with hosts() as (a, _), vreadlib.Connection(lib, a.endpoint) as connection:
        for block in here.blocks:
            with open_block(connection, block) as file:
                assert file.pread(100, 0) == block.content()[:100]
        expect(errno.ENODEV, lambda: open_block(connection, there.blocks[0], ["DS-nowhere"]))
        expect(errno.EDESTADDRREQ, lambda: open_block(connection, there.blocks[0], []))
        assert peer_of(a)["connects"] == 0
        open_block(connection, there.blocks[0]).close()
        assert peer_of(a)["connects"] == 1


def test_a_client_reads_only_what_it_may(hosts, lib, here, there):
    with hosts(allow=["dn-here"]) as (a, _), vreadlib.Connection(lib, a.endpoint) as connection:
        open_block(connection, here.blocks[0]).close()
        expect(errno.ENODEV, lambda: open_block(connection, there.blocks[0], [THERE]))
        assert peer_of(a)["connects"] == 0


@pytest.mark.parametrize(
    "denied", [{"guests_of_a": "dn-other"}, {"pools": "BP-other"}], ids=["datanode", "pool"]
)
def test_a_host_reads_only_what_it_may(hosts, lib, there, denied):
    with hosts(**denied) as (a, b), vreadlib.Connection(lib, a.endpoint) as connection:
        expect(errno.EACCES, lambda: open_block(connection, there.blocks[0]))
        assert peer_of(a)["connects"] == 1
        assert b.status()["totals"]["bytes"] == 0


def test_what_its_datanode_withdraws_is_not_read(lib, pair, connection, there):
    block = there.blocks[0]
    with vreadlib.Connection(lib, pair[1].endpoint) as owner, open_block(connection, block) as file:
        assert file.pread(10, 0) == block.content()[:10]
        owner.publish(vreadlib.APPEND, POOL, block.id, block.genstamp, [THERE])
        expect(errno.EAGAIN, lambda: file.pread(10, 0))
        expect(errno.ENOENT, lambda: open_block(connection, block))
        owner.publish(vreadlib.FINALIZED, POOL, block.id, block.genstamp, [THERE])
        with open_block(connection, block) as again:
            assert again.pread(10, 0) == block.content()[:10]


def test_an_image_two_hosts_see_is_read_by_each(lib, there, tmp_path):
    """An image on NFS or iSCSI: each host reads it itself and does not ask the other host.  The
    operator says on both that it is theirs."""
    authority, names = Authority(tmp_path), ("a", "b")
    addresses = {name: free_address() for name in names}

    def host(name, other):
        sections = f"storages = {THERE}\n"  # of the only datanode
        sections += authority.host(name, listen=addresses[name]) + peer(
            other,
            address=addresses[other],
            storages=f"dn-there/{THERE}",
            allow_datanodes="dn-there",
        )
        return Vreadd({"dn-there": there.served}, "asan", sections=sections)

    with host("a", "b") as a, host("b", "a") as b:
        for vreadd in (a, b):
            with vreadlib.Connection(lib, vreadd.endpoint) as connection:
                for block in there.blocks:
                    with open_block(connection, block, [THERE]) as file:
                        assert read_whole(file, block.length, 1 << 20) == block.content()
                        assert file.stat().flags == FINALIZED_BLOCK
        for vreadd in (a, b):
            totals = vreadd.status()["totals"]
            assert (totals["bytes"], totals["remote"]["bytes"]) == (sum(SIZES), 0)
            assert peer_of(vreadd)["connects"] == 0


# ---- a host that does not answer --------------------------------------------------------------


def test_a_hung_host_costs_its_own_reads(hosts, lib, here, there):
    """One errno for each read; the connection, local reads and later remote reads work."""
    with (
        hosts(timeout_ms=500) as (a, b),
        vreadlib.Connection(lib, a.endpoint) as connection,
        open_block(connection, here.blocks[0]) as local,
        open_soon(connection, there.blocks[0]) as remote,
    ):
        b.suspend()
        try:
            expect(errno.EAGAIN, lambda: remote.pread(10, 0))
            assert connection.connected()
            assert local.pread(10, 0) == here.blocks[0].content()[:10]
            expect(errno.ENOENT, lambda: open_block(connection, there.blocks[0]))
        finally:
            b.resume()
        read_again(connection, there.blocks[0])


def unless_down(call):
    """Returns the result of call().  None: the other host is down, or too slow."""
    try:
        return call()
    except OSError as error:
        assert error.errno in (errno.ENOENT, errno.EAGAIN)
        return None


def open_soon(connection, block):
    """Opens a block, also if the other host has little time to answer on a busy machine."""
    return eventually(lambda: unless_down(lambda: open_block(connection, block)))


def read_again(connection, block):
    """Reads the block after the pause in which a failed host is not asked."""

    def attempt():
        with open_block(connection, block) as file:
            return file.pread(block.length, 0)

    assert eventually(lambda: unless_down(attempt)) == block.content()


def test_a_host_that_dies_and_comes_back(hosts, lib, there):
    with hosts() as (a, b), vreadlib.Connection(lib, a.endpoint) as connection:
        with open_block(connection, there.blocks[0]) as file:
            assert file.pread(10, 0) == there.blocks[0].content()[:10]
            b.kill()
            expect(errno.EAGAIN, lambda: file.pread(10, 0))
            b.start()
            expect(errno.EAGAIN, lambda: file.pread(10, 0))  # a handle of the dead process
        read_again(connection, there.blocks[0])


def test_a_client_goes_while_a_hung_host_is_asked(hosts, there):
    """Nobody waits for the answer, above all not the control thread."""
    block = there.blocks[0]
    with hosts(timeout_ms=60_000) as (a, b):
        with LocalFront(a.endpoint, order=4) as front:
            handle = front.open(block.id, block.genstamp, POOL, [THERE]).handle
            b.suspend()
            part = read_part(0, 1000)
            front.queues[0].push(
                *(request(READ, n, n % 60, 1, handle, part) for n in range(100, 400))
            )
            eventually(lambda: peer_of(a)["under_way"] > 0)
        eventually(lambda: not a.status()["devices"])
        b.resume()
        with LocalFront(a.endpoint) as front:
            eventually(lambda: front.open(block.id, block.genstamp, POOL, [THERE]).status == 0)


def test_more_than_the_peer_takes_at_a_time(pair, there):
    """A ring full of reads from another host: each read is answered once, with the right bytes."""
    block, content = there.blocks[0], there.blocks[0].content()
    with LocalFront(pair[0].endpoint, order=4, pool_pages=MANY) as front:
        handle = front.open(block.id, block.genstamp, POOL, [THERE]).handle
        count = front.queues[0].entries
        front.queues[0].push(
            *(request(READ, n, n, 1, handle, read_part(n * 4096, 4096)) for n in range(count))
        )
        responses = front.responses(count)
        assert {r.id for r in responses} == set(range(count))
        assert {r.status for r in responses} == {4096}
        assert bytes(front.pool[: count * 4096]) == content[: count * 4096]
