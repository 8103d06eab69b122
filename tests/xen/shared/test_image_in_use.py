# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode domU mounts its disk for writing while dom0 serves it: it is read all the time."""

import pytest

from tools.lab import deployment

# In `make test`: test_coherence.py has an owner of mounted disks, tests/image/test_live.py has the
# states.
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
    """The owner is a domain, and its writes come by blkback."""
    assert deployment.file_digest(client) == demo.sha256
    owner.run(f"mount -t ext4 {owner.device} /mnt && sync").check()
    assert file_system_states(backend) == ["live"]
    assert deployment.file_digest(client) == demo.sha256

    # The owner writes, as a datanode would, and stops in order.
    owner.run("dd if=/dev/urandom of=/mnt/other bs=1M count=8 && sync").check()
    assert file_system_states(backend) == ["live"]
    assert deployment.file_digest(client) == demo.sha256
    owner.run("rm /mnt/other && umount /mnt").check()
    assert file_system_states(backend) == ["clean"]
    assert deployment.file_digest(client) == demo.sha256
