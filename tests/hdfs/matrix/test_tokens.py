# SPDX-License-Identifier: GPL-2.0-or-later
"""Block tokens: datanodes give their keys to vreadd, and vreadd requires a token for every block of
these datanodes."""

import errno

import pytest

from tests.libvread import vreadlib
from tests.support.daemon import REPOSITORY
from tests.support.hadoop_bed import SERVED, SOON, known, served
from tests.support.waiting import eventually

pytestmark = pytest.mark.hadoop


@pytest.fixture
def tokens(bed):
    """tokens(): {datanode: the tokens' part of vreadd's status}.  vreadd has the keys already."""
    if not (bed.mode.tokens and bed.mode.publisher):
        pytest.skip("no tokens, or no publisher, in this column")

    def tokens():
        return {d["datanode"]: d["tokens"] for d in bed.vreadd.status()["datanodes"]}

    eventually(lambda: all(known(tokens()[name]) for name in SERVED), SOON)
    return tokens


def total(tokens, verdict):
    return sum(t["refused"].get(verdict, 0) for t in tokens().values())


def test_a_client_with_tokens_is_served(bed, tokens):
    before = tokens()
    bed.client.do("write", file="/tokens-1", on=["dn1", "dn2"], size=3 << 20)
    for way in ("1m", "pread", "vectored"):
        served(bed.client.do("read", file="/tokens-1", way=way))
    after = tokens()
    assert sum(t["valid"] for t in after.values()) > sum(t["valid"] for t in before.values())
    assert [t["refused"] for t in after.values()] == [t["refused"] for t in before.values()]


def test_who_has_none_is_not(bed, tokens):
    bed.client.do("write", file="/tokens-2", on=["dn1", "dn2"], size=1 << 20)
    served(bed.client.do("read", file="/tokens-2"))
    before = total(tokens, "missing")
    lib = vreadlib.load(REPOSITORY / "build/release/libvread.so.1")
    with vreadlib.Connection(lib, bed.vreadd.endpoint) as connection:
        for block in bed.hdfs.blocks("/tokens-2"):
            with pytest.raises(OSError) as raised:
                connection.open(block.pool, block.block_id, block.genstamp, 0, block.storage_ids)
            assert raised.value.errno == errno.EPERM
    assert total(tokens, "missing") > before


def test_keys_come_back_with_vreadd(bed, tokens):
    """vreadd is restarted.  It does not store keys; the datanodes must send them again without
    being asked."""
    bed.vreadd.end()
    bed.vreadd.start()
    eventually(lambda: all(known(tokens()[name]) for name in SERVED), SOON)
    bed.wait_until_served()
    served(bed.client.do("read", way="1m"))


def test_new_keys_are_handed_over(bed, tokens):
    expiry = {name: newest(t) for name, t in tokens().items() if name in SERVED}
    bed.client.do("new-keys")
    eventually(lambda: all(newest(tokens()[name]) > expiry[name] for name in SERVED), SOON)
    bed.client.do("write", file="/tokens-3", on=["dn1", "dn2"], size=1 << 20)
    served(bed.client.do("read", file="/tokens-3"))


def newest(of_datanode):
    return max(pool.get("expiry", 0) for pool in of_datanode["pools"])
