# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks that get the name of an earlier block: after the rollback of an upgrade, HDFS gives block
ids and generation stamps out again.  vreadd keeps verified bytes of images read with O_DIRECT."""

import os

import pytest

from tests.support.hdfs_dir import POOL
from tests.support.live import content
from tests.support.localfront import LocalFront
from tests.support.owner import Owner, needs_root
from tests.support.waiting import eventually
from tests.support.xfs_owner import XfsOwner
from tools.vreadd import Vreadd

STEP = 64 << 10  # what the cache keeps is made of such units
SIZE = 5 * STEP - 100


def _read(front, block):
    opened = []

    def is_found():
        opened[:] = [front.open(block.id, block.genstamp, POOL)]
        return opened[0].status == 0

    eventually(is_found, what=lambda: f"{block.id} is found: {opened}")
    (response,) = opened
    data = b"".join(
        front.read(response.handle, at, min(STEP, SIZE - at)) for at in range(0, SIZE, STEP)
    )
    front.close_handle(response.handle)
    return data


@needs_root
@pytest.mark.parametrize(
    "kind",
    [pytest.param(Owner, id="ext4"), pytest.param(XfsOwner, id="xfs", marks=pytest.mark.thorough)],
)
def test_bytes_of_an_earlier_block_of_the_name(kind, tmp_path):
    """The file systems give the inodes out again, too."""
    inodes = []
    with (
        kind(tmp_path) as owner,
        Vreadd({"dn1": owner.served()}, "asan", sections="image-mode = direct\n") as vreadd,
        LocalFront(vreadd.endpoint) as front,
    ):
        for seed in range(4):
            block = owner.write(7, content(seed, SIZE))
            owner.sync()
            inodes.append(os.stat(owner.data(block)).st_ino)
            assert _read(front, block) == block.content
            assert _read(front, block) == block.content
            owner.delete(block)
            owner.commit()
        assert vreadd.status()["reading"]["cache"]["hits"] > 0
    assert len(set(inodes)) < len(inodes)
