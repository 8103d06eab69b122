# SPDX-License-Identifier: GPL-2.0-or-later
"""The read path of a guest of KVM: a client reads a datanode's image through /dev/vread and vreadd
on the host."""

import pytest

from tests.guest.reading import *  # noqa: F403 - tests, in the order of that file

VARIANT = "release"  # as it is installed

pytestmark = [pytest.mark.kvm, pytest.mark.thorough]


@pytest.fixture(scope="module")
def client(make_client):
    return make_client("reader")


def test_status(client, backend):
    device = backend.device(client)
    assert (device["state"], device["role"]) == ("Connected", "client")


def test_rights_change_under_the_guest(client, backend, demo):
    """A reload takes the guest's right away, and gives it back."""
    spec = demo.blocks[0].spec()
    backend.allow("reader", "dn9")
    refused = client.run(["vread", "cat", "--timeout", "30000", spec])
    assert (refused.rc, refused.stdout) == (1, b"")
    backend.allow("reader", "*")
    assert len(client.run(["vread", "cat", "--timeout", "30000", spec]).check().stdout) == 2 << 20
    assert backend.device(client)["state"] == "Connected"


def test_the_guest_has_memory_barriers(client, guest_kind):
    """QEMU emulates them where a second processor is possible (tools/lab/kvm.py)."""
    assert client.text("cat /sys/devices/system/cpu/possible").strip() == "0-1"
    assert client.text("nproc").strip() == str(guest_kind.vcpus)
