# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest of one host reads what Replicas of others have."""

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
# Nothing of it is kept: a guest has little memory.
# Longer than any answer-timeout: it is the host that gives a peer up.
CAT = "vread cat --timeout 100000 --blocks-from"
READ = f"set -o pipefail; {CAT} {{}} | sha256sum"
READER = f"while sum=$({READ}); do echo $sum; done"
SOON = 120.0
BACK = 300.0
# What ends a connection of two hosts that are well, when one of them stands still for longer than
# answer-timeout, at the near end or at the far one.
STOOD_STILL = re.compile(
    "retry counter exceeded|ended the queue pair|closed by the peer|broke off"
    "|adapter does not answer|RDMA_CM_EVENT_(ADDR_ERROR|UNREACHABLE)"
    "|no (answer|hello|connection) within"
)


class Replicas:
    """A datanode's disk with a block of each of LENGTHS, and the list of them for a guest."""

    def __init__(self, folder, storage, first_id=FIRST_ID):
        self.storage = storage
        directory = DataDirectory(folder / "root" / "data", storage=storage)
        found = [directory.add(first_id + i, length) for i, length in enumerate(LENGTHS)]
        self.length = sum(LENGTHS)
        self.disk = mke2fs(folder / "disk.raw", folder / "root", 32)
        self.content = b"".join(block.content() for block in found)
        self.digest = hashlib.sha256(self.content).hexdigest()
        self.listing = folder / "blocks.txt"
        lines = (f"{b.pool}/blk_{b.id}_{b.genstamp}@{storage}:{b.length}\n" for b in found)
        self.listing.write_text("".join(lines))


def the_peer(backend):
    found = backend.status()["peers"]
    (only,) = found["peers"] if isinstance(found, dict) else found
    return only


def stood_still(told):
    """Whether the peer's last failure, as its status tells, may have been that."""
    return bool(STOOD_STILL.search(told["last_error"] or ""))


def until(condition, what, timeout=BACK):
    return eventually(condition, timeout, what)


def read(guest, blocks=deployment.BLOCKS):
    """Its digest, or None: it failed.  Ends soon, in either case."""
    done = guest.run(READ.format(blocks), timeout=SOON)
    return done.stdout.decode().split()[0] if done.rc == 0 else None


def reader(guest, blocks=deployment.BLOCKS):
    """A command that sums what it reads again and again, until it is killed or a read fails."""
    return guest.popen(READER.format(blocks), timeout=600)


def counted(backend, guest, replicas):
    """What the peer's status says after a read of all, and what that added to its counters; None:
    it failed."""
    before, digest, after = the_peer(backend), read(guest), the_peer(backend)
    assert digest in (None, replicas.digest)
    if digest is None:
        return None
    return after | {name: after[name] - before[name] for name in ("bytes", "direct", "bounced")}


def comes_back(backend, guest, replicas):
    """Bytes come by RDMA again, all of a read, and until then they come rightly or not at all."""

    def one():
        told = counted(backend, guest, replicas)
        return told and told["direct"] >= replicas.length

    until(one, lambda: the_peer(backend))
