# SPDX-License-Identifier: GPL-2.0-or-later
"""Helpers of tests in which a guest of one host reads replicas of another host."""

import hashlib
import re

from tests.support.hdfs_dir import DataDirectory
from tests.support.waiting import eventually
from tests.xen.conftest import mke2fs
from tools.lab import deployment

MIB = 1 << 20
LENGTHS = (4 * MIB, 4 * MIB + 1, 3 * MIB - 511)
FIRST_ID = 1073741825
OTHERS = FIRST_ID + 100
# The guest keeps none of the bytes: it has little memory.  The timeout is longer than any
# answer-timeout, so that vreadd gives up its peer before the guest gives up its read.
CAT = "vread cat --timeout 100000 --blocks-from"
READ = f"set -o pipefail; {CAT} {{}} | sha256sum"
READER = f"while sum=$({READ}); do echo $sum; done"
COUNTED = ("bytes", "direct", "bounced", "encrypted")
SOON = 120.0
BACK = 300.0
# Errors that end a connection between two healthy hosts when one of them stands still for longer
# than answer-timeout, as seen at either end.
STOOD_STILL = re.compile(
    "retry counter exceeded|ended the queue pair|closed by the peer|broke off"
    "|adapter does not answer|RDMA_CM_EVENT_(ADDR_ERROR|UNREACHABLE)"
    "|no (answer|hello|connection) within"
)


class Replicas:
    """A datanode's disk with one block of each length in LENGTHS, and the list of the blocks for a
    guest."""

    def __init__(self, folder, storage, first_id=FIRST_ID):
        self.storage = storage
        directory = DataDirectory(folder / "root" / "data", storage=storage)
        found = [directory.add(first_id + i, length) for i, length in enumerate(LENGTHS)]
        self.length = sum(LENGTHS)
        self.disk = mke2fs(folder / "disk.raw", folder / "root", 32)
        self.content = b"".join(block.content() for block in found)
        self.shortest = found[-1].content()
        self.digest = hashlib.sha256(self.content).hexdigest()
        self.listing = folder / "blocks.txt"
        self.lines = [f"{b.pool}/blk_{b.id}_{b.genstamp}@{storage}:{b.length}\n" for b in found]
        self.listing.write_text("".join(self.lines))


def the_peer(backend):
    found = backend.status()["peers"]
    (only,) = found["peers"] if isinstance(found, dict) else found
    return only


def stood_still(told):
    """True if the last failure in the peer's status `told` may come from a host that stood still
    (STOOD_STILL)."""
    return bool(STOOD_STILL.search(told["last_error"] or ""))


def until(condition, what, timeout=BACK):
    return eventually(condition, timeout, what)


def read(guest, blocks=deployment.BLOCKS):
    """Reads all blocks of the list.  Returns the digest, or None if the read failed.  Either
    result must come within SOON.  blocks: the file of the list, and options of `vread cat`."""
    done = guest.run(READ.format(blocks), timeout=SOON)
    return done.stdout.decode().split()[0] if done.rc == 0 else None


def reader(guest, blocks=deployment.BLOCKS):
    """Starts a command that reads all blocks again and again and prints the digest of each round,
    until it is killed or a read fails."""
    return guest.popen(READER.format(blocks), timeout=600)


def counted(backend, guest, replicas, blocks=deployment.BLOCKS):
    """Reads all blocks.  Returns the peer's status after the read, in which the numbers in COUNTED
    are only what the read added.  None: the read failed."""
    before, digest, after = the_peer(backend), read(guest, blocks), the_peer(backend)
    assert digest in (None, replicas.digest)
    if digest is None:
        return None
    return after | {name: after[name] - before[name] for name in COUNTED}


def comes_back(backend, guest, replicas):
    """Waits until all bytes of a read come by RDMA again.  Until then, each read must give the
    right bytes or fail."""

    def one():
        told = counted(backend, guest, replicas)
        return told and told["direct"] >= replicas.length

    until(one, lambda: the_peer(backend))
