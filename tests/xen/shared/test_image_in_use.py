# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode domU mounts its disk for writing while dom0 serves the disk.  A client must be able to
read all the time."""

import pytest

from tools.lab import deployment

# `make test` instead runs test_coherence.py, in which a domU has its disks mounted, and
# tests/image/test_live.py, which has the states.
pytestmark = [pytest.mark.xen, pytest.mark.slow]


@pytest.fixture(scope="module")
def client(make_client):
    return make_client("in-use-client")


@pytest.fixture
def owner(backend, demo):
    """The datanode domU, with the disk that vreadd serves attached for writing."""
    with backend.host.create_guest("in-use-owner", disks=["phy:/dev/vda,xvda,w"]) as guest:
        guest.device = f"/dev/xvda{demo.image_facts.partition or ''}"
        yield guest


def file_system_states(backend):
    return [fs["state"] for fs in backend.status()["datanodes"][0]["filesystems"]]


def test_an_image_in_use_is_read(client, owner, demo, backend):
    """The client must read the same file before, during and after the mount, and the state must
    follow the mount.  The owner is a domain, and its writes come by blkback."""
    assert deployment.file_digest(client) == demo.sha256
    owner.run(f"mount -t ext4 {owner.device} /mnt && sync").check()
    assert file_system_states(backend) == ["live"]
    assert deployment.file_digest(client) == demo.sha256

    # The owner writes, as a datanode would, and unmounts cleanly.
    owner.run("dd if=/dev/urandom of=/mnt/other bs=1M count=8 && sync").check()
    assert file_system_states(backend) == ["live"]
    assert deployment.file_digest(client) == demo.sha256
    owner.run("rm /mnt/other && umount /mnt").check()
    assert file_system_states(backend) == ["clean"]
    assert deployment.file_digest(client) == demo.sha256
