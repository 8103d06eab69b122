# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads of blocks from another host, over TLS: vreadd answers, peerctl asks."""

import subprocess

import pytest

from tests.support.daemon import STORAGE
from tests.support.hdfs_dir import POOL, crc32c_of
from tests.support.localfront import APPEND, FINALIZED
from tests.support.peers import Failed, at, free_address, read_all
from tests.support.waiting import eventually
from tools.peers import peer
from tools.vread_bench import bytes_by

MIB = 1 << 20
POOL_BYTES = 16 * MIB
FILL = b"\xa5"
FINALIZED_BLOCK, REMOTE_BLOCK = 1, 2  # VREAD_BLOCK_*


def test_whole_blocks_byte_by_byte(start_host, start_asker, image):
    host, address = start_host()
    asker = start_asker(at(address))
    for block in image.blocks:
        for step in (4 * MIB, MIB, 65536 + 7) if block.length < MIB else (4 * MIB, MIB - 1):
            assert read_all(asker, block, step) == image.contents[block.id]
    seen = asker.peer("b")
    total = 2 * sum(b.length for b in image.blocks if b.length >= MIB)
    total += 3 * sum(b.length for b in image.blocks if b.length < MIB)
    assert (seen["state"], seen["transport"], seen["connects"]) == ("up", "tls", 1)
    assert seen["bytes"] == seen["asked"]["bytes"] == total
    assert seen["asked"]["errors"] == {}
    answered = host.status()["peers"]["peers"][0]["answered"]
    assert answered["bytes"] == total
    assert answered["opens"] == seen["asked"]["opens"]


def test_what_open_and_stat_tell(start_host, start_asker, image):
    _, address = start_host()
    asker = start_asker(at(address))
    block = image.blocks[0]
    handle, length, genstamp, flags = asker.open(block)
    assert (length, genstamp) == (block.length, block.genstamp)
    assert flags == FINALIZED_BLOCK | REMOTE_BLOCK
    assert asker.stat(handle) == (length, genstamp, flags)


def test_reads_end_at_the_visible_length(start_host, start_asker, image):
    _, address = start_host()
    asker = start_asker(at(address))
    block = image.blocks[0]
    visible = 2 * MIB + 11
    handle = asker.open(block, visible=visible)[0]
    asker.send("fill")
    data = asker.read(handle, MIB, 4 * MIB)
    assert data == image.contents[block.id][MIB:visible]
    assert asker.bytes(len(data), POOL_BYTES - len(data)) == FILL * (POOL_BYTES - len(data))
    assert asker.read(handle, visible, 10) == b""
    assert asker.read(handle, 1 << 50, 10) == b""


def test_nothing_lands_outside_of_the_place_it_was_asked_for(start_host, start_asker, image):
    _, address = start_host()
    asker = start_asker(at(address))
    handle = asker.open(image.blocks[0])[0]
    tags = [asker.begin_read(handle, n * 100_000, 5000, place=n * 8192) for n in range(64)]
    for tag in tags:
        assert asker.end(tag).startswith("5000 ")
    pool = asker.bytes(0, 64 * 8192)
    for n in range(64):
        piece = pool[n * 8192 : (n + 1) * 8192]
        assert piece[:5000] == image.contents[image.blocks[0].id][n * 100_000 :][:5000]
        assert piece[5000:] == FILL * 3192


def test_one_sum_for_all_pieces_of_a_long_read(start_host, start_asker, image):
    _, address = start_host()
    asker = start_asker(at(address))
    block = image.blocks[0]
    handle = asker.open(block)[0]
    content = image.contents[block.id]
    for offset, length in ((0, 4 << 20), (511, (3 << 20) + 2), (5 << 20, 4 << 20), (9 << 20, 999)):
        data, crc32c = asker.read_with_sum(handle, offset, length)
        assert data == content[offset : offset + length]
        assert crc32c == crc32c_of(data)
    assert asker.read_with_sum(handle, len(content), 100) == (b"", 0)


def test_many_more_reads_than_credits(start_host, start_asker, image):
    _, address = start_host()
    asker = start_asker(at(address))
    block = image.blocks[0]
    handle = asker.open(block)[0]
    tags = [asker.begin_read(handle, n * 4096, 4096, place=n * 4096) for n in range(1000)]
    for tag in tags:
        assert asker.end(tag).startswith("4096 ")
    assert asker.bytes(0, 1000 * 4096) == image.contents[block.id][: 1000 * 4096]


@pytest.mark.parametrize(
    ("there", "here", "expected"),
    [
        ("dn1", "dn1 *", None),
        ("dn1", "dn2 *", "ENODEV"),  # the guest may not read it: nothing is sent
        ("dn1", "dn1 BP-other", "ENODEV"),
        ("dn2", "dn1 *", "EACCES"),  # this host may not read it
    ],
)
def test_policy_on_either_side(start_host, start_asker, image, there, here, expected):
    host, address = start_host(peers=peer("a", allow_datanodes=there))
    asker = start_asker(at(address))
    asker.send("policy", *here.split())
    assert asker.error(asker.begin_open(image.blocks[0])) == expected
    asked = asker.peer("b")
    assert (asked["requests"] == 0) == (expected == "ENODEV")


def test_pools_a_host_may_not_read(start_host, start_asker, image):
    _, address = start_host(peers=peer("a", allow_datanodes="dn1", allow_pools="BP-other"))
    asker = start_asker(at(address))
    assert asker.error(asker.begin_open(image.blocks[0])) == "EACCES"


def test_blocks_that_are_not_there(start_host, start_asker, image):
    _, address = start_host()
    asker = start_asker(at(address, storages="dn1/DS-1 dn1/DS-other"))
    block = image.blocks[0]
    assert asker.error(asker.begin("open", POOL, 7, 1001, 0, "DS-1")) == "ENOENT"
    wrong = asker.begin("open", POOL, block.id, block.genstamp + 1, 0, "DS-1")
    assert asker.error(wrong) == "EEXIST"
    assert asker.error(asker.begin_open(block, ["DS-unknown"])) == "ENODEV"
    assert asker.error(asker.begin_open(block, ["DS-other"])) == "ENODEV"
    assert asker.error(asker.begin_open(block, visible=block.length + 1)) == "ERANGE"
    assert asker.peer("b")["asked"]["errors"] == {
        "ENOENT": 1,
        "EEXIST": 1,
        "ENODEV": 1,
        "ERANGE": 1,
    }


def test_a_host_without_the_wanted_replica_is_not_contacted(start_host, start_asker, image):
    _, address = start_host()
    others = [peer(f"o{n}", address="127.0.0.1:9", storages=f"dn1/DS-o{n}") for n in range(5)]
    asker = start_asker(at(address), *others)
    assert read_all(asker, image.blocks[1]) == image.contents[image.blocks[1].id]
    status = {p["name"]: p["connects"] for p in asker.status()["peers"]}
    assert status == {"b": 1, **{f"o{n}": 0 for n in range(5)}}


def test_the_next_peer_is_asked_if_one_is_down(start_host, start_asker, image):
    _, address = start_host()
    asker = start_asker(
        peer("c", address=free_address(), storages="dn3/DS-3"),
        at(address),
    )
    for _ in range(2):
        assert asker.open(image.blocks[0], ["DS-3", "DS-1"])[1] == image.blocks[0].length
    assert asker.peer("c")["failures"] >= 1
    assert "cannot connect: Connection refused" in asker.peer("c")["last_error"]


def test_storages_move(start_host, start_asker, image):
    _, address = start_host()
    asker = start_asker(at(address, storages=""), peer("c"))
    block = image.blocks[0]
    assert asker.error(asker.begin_open(block)) == "ENODEV"
    with pytest.raises(Failed, match="EINVAL"):
        asker.move("DS-1", "b")  # its datanode is unknown
    with pytest.raises(Failed, match="ENOENT"):
        asker.move("dn1/DS-1", "nobody")
    asker.move("dn1/DS-1", "b")
    handle = asker.open(block)[0]
    assert asker.read(handle, 0, 10) == image.contents[block.id][:10]
    asker.move("DS-1", None)
    assert asker.error(asker.begin_read(handle, 0, 10)) == "EAGAIN"
    assert asker.error(asker.begin("stat", handle)) == "EAGAIN"
    assert asker.error(asker.begin_open(block)) == "ENODEV"
    asker.move("DS-1", "b")
    assert asker.open(block)[1] == block.length


def test_withdrawn_blocks_are_denied_to_other_hosts(start_host, start_asker, image):
    host, address = start_host(local="publish-datanodes = dn1\n")
    asker = start_asker(at(address))
    block = image.blocks[0]
    handle = asker.open(block)[0]
    with host.front() as owner:
        assert owner.publish(APPEND, block.id, block.genstamp, POOL, STORAGE) == 0
        assert asker.error(asker.begin_read(handle, 0, 10)) == "EAGAIN"
        assert asker.error(asker.begin("stat", handle)) == "EAGAIN"
        assert asker.error(asker.begin_open(block)) == "ENOENT"
        assert owner.publish(FINALIZED, block.id, block.genstamp, POOL, STORAGE) == 0
    assert asker.read(handle, 0, 10) == image.contents[block.id][:10]


def test_handles_end_with_their_connection(start_host, start_asker, image):
    host, address = start_host()
    asker = start_asker(at(address))
    block = image.blocks[0]
    old = asker.open(block)[0]
    assert host.stop() == 0
    start_host(address=address)
    eventually(lambda: asker.error(asker.begin_open(block)) is None)
    assert asker.error(asker.begin_read(old, 0, 10)) == "EAGAIN"
    assert read_all(asker, block) == image.contents[block.id]


# ---- ciphers ------------------------------------------------------------------------------

SUITES = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")


@pytest.mark.parametrize("suite", [*SUITES, "TLS_AES_128_CCM_SHA256"])
def test_who_asks_says_which_cipher(start_host, authority, suite):
    """The asker chooses one of three ciphers, and no other.  The status has the own choice."""
    host, address = start_host()
    certificate, key = authority.certificate("a")
    files = ("-cert", certificate, "-key", key, "-CAfile", authority.ca)
    command = ("openssl", "s_client", "-connect", address, "-tls1_3", "-ciphersuites", suite)
    done = subprocess.run([*command, *files], input=b"", capture_output=True, timeout=60)
    agreed = f"Cipher is {suite}".encode() in done.stdout
    assert agreed == (suite in SUITES)
    assert host.status()["peers"]["cipher"] in SUITES


def test_one_worker_and_few_buffers(start_host, start_asker, image):
    """With the smallest configuration the host answers, and all buffers become free again."""
    host, address = start_host(keys={"workers": 1, "buffers": 8})
    asker = start_asker(at(address))
    assert host.threads() < start_host(keys={"workers": 5})[0].threads()
    block = image.blocks[0]
    handle = asker.open(block)[0]
    tags = [asker.begin_read(handle, n << 20, 1 << 20, n << 20) for n in range(8)]
    assert [asker.end(tag).split()[0] for tag in tags] == [str(1 << 20)] * 8
    assert asker.bytes(0, 8 << 20) == image.contents[block.id][: 8 << 20]
    assert host.status()["peers"]["server"]["buffers"] == 8
    eventually(lambda: host.status()["peers"]["server"]["buffers_used"] == 0)


def test_the_way_that_bytes_came_is_counted(start_daemon, start_host, authority, image):
    """vread-bench reads it of the status: bytes of this host, and of another one by TLS."""
    _, address = start_host()
    section = authority.host("a") + peer("b", address=address, storages="there/DS-1")
    daemon = start_daemon(extra=section, allow="*")

    class Told:
        host, line = None, "status"

        def run(self):
            return daemon.ask(b'{"command": "status"}\n')

    class Target:
        vreadds = (Told(),)

    before = bytes_by.read(Target)
    block = image.blocks[1]
    with daemon.front(pool_pages=64) as front:
        response = front.open(block.id, block.genstamp, POOL, ["DS-1"])
        assert response.status == 0
        assert front.read(response.handle, 0, block.length) == image.contents[block.id]
    came = bytes_by.grown(before, bytes_by.read(Target))
    assert sum(came.values()) == block.length and came["rdma"] == came["plain"] == 0
