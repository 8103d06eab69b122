# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode domU writes, appends, truncates, moves, deletes and uses space again, in bursts at
full speed, on a disk that dom0 serves; eight readers in a client domU read those blocks through
/dev/vread.  Every byte is judged against what the owner's ledger says is to be there.
"""

import json
import time

import pytest

from tests.support.hdfs_dir import POOL
from tools.lab import deployment

pytestmark = pytest.mark.xen

READERS = 8
ROOM_KIB = 1024  # left to the owner: space is used again all the time
MOUNT = "/mnt/owned"
REST = "2000"  # ms between bursts
CHANGES = 100  # of the ledger, at least
READS = 60  # through the device, at least
LONG = 600.0
PATIENCE = 120.0
POLL = 0.05


@pytest.fixture(scope="module")
def owner(backend, owned_images, built_program, until_module_ends):
    guest = until_module_ends(
        backend.host.create_guest(
            "torture-owner",
            disks=[f"phy:{owned_images['device']},xvdb,w"],
            files=built_program("torture-owner"),
        )
    )
    guest.run(f"mkdir -p {MOUNT} && mount -t ext4 /dev/xvdb {MOUNT}").check()
    yield guest
    guest.run(f"umount {MOUNT}").check()


@pytest.fixture(scope="module")
def client(backend, built_program, until_module_ends):
    guest = until_module_ends(
        backend.host.create_guest("torture-client", files=built_program("torture-reader"))
    )
    backend.attach(guest, "device")
    deployment.load_frontend(guest)
    backend.wait_connected(guest)
    return guest


@pytest.fixture
def empty(owner):
    """No block in the data directory, and room for little more than what there is at one time."""
    current = f"{MOUNT}/data/current/{POOL}/current"
    owner.run(f"rm -rf {MOUNT}/ballast {current}/finalized/* {current}/rbw/* && sync").check()
    free = f"$(($(stat -f -c %f {MOUNT}) * $(stat -f -c %S {MOUNT}) / 1024 - {ROOM_KIB}))"
    owner.run(f"dd if=/dev/zero of={MOUNT}/ballast bs=1k count={free} && sync", 120).check()


def relay(owner, reader, goes_on):
    """Hands the owner's ledger to the readers as it grows, until that is over."""
    sent = 0
    while goes_on():
        assert owner.running, owner.stderr
        assert reader.running, reader.stderr
        grown = owner.stdout
        reader.write(grown[sent:])
        sent = len(grown)
        time.sleep(POLL)


def reads(backend, client):
    return backend.device(client)["counters"]["reads"]


def torture(backend, owner, client, seconds):
    """(what the readers counted, what the owner did)"""
    before = reads(backend, client)
    reading = client.popen(["torture-reader", str(READERS), "1"])
    writing = owner.popen(["torture-owner", MOUNT, "1", REST])
    start = looked = time.monotonic()

    def goes_on():
        """Until it has done what it is for, or is not going to; what was counted tells."""
        nonlocal looked
        now = time.monotonic()
        if now < start + seconds or now < looked + 1:
            return True
        looked = now
        enough = writing.stdout.count(b"\n") >= CHANGES and reads(backend, client) >= before + READS
        return not enough and now < start + seconds + PATIENCE

    try:
        relay(writing, reading, goes_on)
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


@pytest.mark.parametrize(
    "seconds", [0.0, pytest.param(LONG, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_no_wrong_byte(backend, owner, client, empty, seconds):
    counts, did = torture(backend, owner, client, seconds)
    assert counts["wrong"] == 0
    # It did what it is for: much was read, and written over meanwhile.
    assert counts["right"] > READERS
    assert did["deleted"] > CHANGES // 5
    # What sent a reader back to HDFS' own ways.  Any other error would be a claim about an image
    # that is in order.
    assert set(counts["open_errors"]) <= {"ENOENT", "EEXIST", "EAGAIN", "ENODATA", "EILSEQ"}
    assert set(counts["read_errors"]) <= {"EAGAIN", "EBADMSG"}
    # vreadd counts them by the same reasons.
    told = backend.device(client)["counters"]["errors"]
    assert set(counts["open_errors"]) | set(counts["read_errors"]) <= set(told)
