# SPDX-License-Identifier: GPL-2.0-or-later
"""Torture test.  A datanode domU writes, appends to, truncates, moves and deletes blocks and uses
their space again, in bursts at full speed, on an ext4 or XFS that dom0 serves.  Eight readers in a
client domU read the blocks through /dev/vread.  Every byte is compared with the owner's ledger.
"""

import json
import time
from dataclasses import dataclass

import pytest

from tests.support.hdfs_dir import POOL
from tests.support.waiting import eventually
from tests.support.xen_owner import XFS_GUEST_MIB, DataDisk, load_xfs, xfs_files

pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(1200)]

READERS = 8
ROOM_KIB = 1024  # free space for the owner; so little that space is used again all the time
REST = "2000"  # ms between bursts
CHANGES = 100  # least changes in the ledger
READS = 60  # least reads through the device
LONG = 600.0
PATIENCE = 300.0


@dataclass(frozen=True)
class Disk:
    """A disk of the owner: datanode in vreadd, device in the guest, kind of file system, and the
    storage on it."""

    datanode: str
    device: str
    kind: str
    storage: str

    @property
    def mount_point(self):
        return f"/mnt/{self.kind}"


EXT4 = Disk("device", "xvdb", "ext4", "DS-device")
XFS = Disk("xfs", "xvdc", "xfs", "DS-xfs")


# `make test` instead runs test_coherence.py, and the tortures of ext4 and XFS on one machine:
# tests/image/test_torture.py and tests/hdfs/test_torture_hdfs.py.
@pytest.fixture(scope="module", params=[EXT4, XFS], ids=lambda disk: disk.kind)
def disk(request):
    return request.param


@pytest.fixture(scope="module")
def owner(backend, owned_images, built_program, until_module_ends, tmp_path_factory):
    guest = until_module_ends(
        backend.host.create_guest(
            "torture-owner",
            memory_mib=XFS_GUEST_MIB,
            disks=[f"phy:{owned_images[d.datanode]},{d.device},w" for d in (EXT4, XFS)],
            files=built_program("torture-owner") | xfs_files(),
        )
    )
    load_xfs(guest)
    for d in (EXT4, XFS):
        at = d.mount_point
        guest.run(f"mkdir -p {at} && mount -t {d.kind} /dev/{d.device} {at}").check()
    DataDisk(guest, XFS.mount_point, tmp_path_factory.mktemp("torture"), XFS.storage).format()
    # vreadd finds the new data directory when it next looks.  Until then it refuses reads.
    eventually(lambda: served(backend, XFS.datanode), PATIENCE, backend.log)
    yield guest
    for d in (EXT4, XFS):
        guest.run(f"umount {d.mount_point}").check()


def served(backend, datanode):
    """True if vreadd has found a data directory of the datanode."""
    (found,) = (d for d in backend.status()["datanodes"] if d["datanode"] == datanode)
    return any(filesystem["data-dirs"] for filesystem in found["filesystems"])


@pytest.fixture(scope="module")
def client(backend, built_program, disk):
    """A client that may read only this disk's datanode: all owners use the same block names."""
    files = built_program("torture-reader")
    with backend.host.create_guest(f"torture-client-{disk.kind}", files=files) as guest:
        backend.attach(guest, disk.datanode)
        backend.connect(guest)
        yield guest


@pytest.fixture
def empty(owner, disk):
    """Empties the data directory, and leaves ROOM_KIB of free space."""
    at = disk.mount_point
    current = f"{at}/data/current/{POOL}/current"
    owner.run(f"rm -rf {at}/ballast {current}/finalized/* {current}/rbw/* && sync").check()
    free = f"$(($(stat -f -c %f {at}) * $(stat -f -c %S {at}) / 1024 - {ROOM_KIB}))"
    owner.run(f"dd if=/dev/zero of={at}/ballast bs=1k count={free} && sync", 120).check()


def relay(owner, reader, over, seconds):
    """Copies the owner's ledger to the readers as it grows, until over() is true."""
    sent = 0

    def handed_over():
        nonlocal sent
        assert owner.running, owner.stderr
        assert reader.running, reader.stderr
        grown = owner.stdout
        reader.write(grown[sent:])
        sent = len(grown)
        return over()

    eventually(handed_over, seconds, f"{CHANGES} changes and {READS} reads")


def reads(backend, client):
    return backend.device(client)["counters"]["reads"]


def torture(backend, owner, client, disk, seconds):
    """Runs owner and readers for at least `seconds`.  Returns (the readers' counts, the owner's
    counts)."""
    before = reads(backend, client)
    reading = client.popen(["torture-reader", str(READERS), "1", disk.storage])
    writing = owner.popen(["torture-owner", disk.mount_point, "1", REST])
    start = looked = time.monotonic()

    def over():
        """True after CHANGES changes and READS reads, or after PATIENCE without them: the
        counts are then judged.  Asks vreadd at most once a second."""
        nonlocal looked
        now = time.monotonic()
        if now < start + seconds or now < looked + 1:
            return False
        looked = now
        enough = writing.stdout.count(b"\n") >= CHANGES and reads(backend, client) >= before + READS
        return enough or now > start + seconds + PATIENCE

    try:
        relay(writing, reading, over, seconds + 2 * PATIENCE)
        reading.close_stdin()
        found = reading.wait(PATIENCE)
        writing.close_stdin()
        done = writing.wait(PATIENCE).check()
    finally:
        reading.kill()
        writing.kill()
    print(found.stdout.decode(), done.stdout.decode().splitlines()[-1])
    assert found.rc == 0, found.stderr.decode()
    return json.loads(found.stdout), json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("seconds", [0.0, pytest.param(LONG, marks=pytest.mark.timeout(1800))])
def test_no_wrong_byte(backend, owner, client, disk, empty, seconds):
    """No reader may get a wrong byte, or an error that claims a damaged image.  Natively owner and
    readers share one kernel; here the owner's writes reach dom0 by blkback.  The test takes more
    than a minute: it needs a hundred changes and sixty reads."""
    counts, did = torture(backend, owner, client, disk, seconds)
    assert counts["wrong"] == 0
    # The run was long enough: blocks were read, and space was reused meanwhile.
    assert counts["right"] > READERS
    assert did["deleted"] > CHANGES // 5
    # The errors after which a reader goes back to plain HDFS.  Any other error would claim that the
    # image, which is good, is damaged.  Time is real here, so limits may pass on a busy machine:
    # the guest's own (ETIME), and that of the parser's answer or start (EBUSY).
    limits = {"ETIME", "EBUSY"}
    opens = {"ENOENT", "EEXIST", "EAGAIN", "ENODATA", "EILSEQ"} | limits
    assert set(counts["open_errors"]) <= opens
    assert set(counts["read_errors"]) <= {"EAGAIN", "EBADMSG"} | limits
    # vreadd must have counted these errors, too; of the guest's own limit it does not know.
    told = backend.device(client)["counters"]["errors"]
    assert (set(counts["open_errors"]) | set(counts["read_errors"])) - {"ETIME"} <= set(told)
