# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by tests of images that their owner has mounted (tests/image): contents, errors, an owner
that writes many blocks, and all blocks that vRead finds."""

import random

import pytest

from tests.support.disk import BlockError, blockctl
from tests.support.owner import LiveBlock, Owner, variants
from tests.support.xfs_owner import PARAMS, XfsOwner
from tools.vreadd import DataDirs


def kinds():
    """Yields a parameter (owner's class, kind) for each kind.  Marks such as slow are kept."""
    for make, label, params in ((Owner, "ext4", variants()), (XfsOwner, "xfs", PARAMS)):
        for kind in params:
            name, marks = (kind, ()) if isinstance(kind, str) else (kind.values[0], kind.marks)
            yield pytest.param((make, name), id=f"{label}-{name}", marks=marks)


def content(seed, length):
    return random.Random(seed).randbytes(length)


def refused(call, *names):
    with pytest.raises(BlockError) as caught:
        call()
    assert caught.value.name in names
    assert caught.value.exposed == 0


def state(blocks):
    (datanode,) = blocks.status()
    (system,) = datanode["filesystems"]
    return system["state"]


def churn(owner, seed, count):
    """Makes blocks in every state that a datanode leaves.  Returns the blocks left at the end."""
    chance = random.Random(seed)
    there = []
    for n in range(count):
        if there and chance.random() < 0.4:
            victim = there.pop(chance.randrange(len(there)))
            if chance.random() < 0.5:
                owner.delete(victim)
            else:
                there.append(owner.append(victim, content(n, chance.randrange(1, 40_000))))
        else:
            size = chance.randrange(1, 120_000)
            there.append(owner.write(n, content(n, size), finalized=chance.random() < 0.8))
        if chance.random() < 0.3:
            owner.fsync(there[-1])
    owner.commit()
    return there


def listed(image):
    """Every block vRead finds in an image, with its bytes or the error."""
    found = {}
    with blockctl(dn1=DataDirs(image, ["/data"])) as control:
        for entry in control.list():
            block = LiveBlock(entry["id"], b"", entry["genstamp"])
            try:
                with_bytes = control.open(block).read_all()
            except BlockError as error:
                with_bytes = error.name
            found[block.id, block.genstamp] = with_bytes
    return found
