# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports about the driver in a guest (tests/field/README.md), of an emulated KVM.  The test is
the host."""

import pytest

from tests.kvm.conftest import guest_files, vread_holder  # noqa: F401
from tests.kvm.test_frontend import guest, host, machine  # noqa: F401
from tests.support.ivshmem_host import CLOSING, INITIALISED

pytestmark = [pytest.mark.kvm, pytest.mark.slow]


def test_connections_that_fail_for_a_while(host, guest):  # noqa: F811
    """The driver stays closed for a minute of the guest. Then it takes the offer that has waited
    all the time, although nothing has changed for the backend."""
    for _ in range(8):
        host.offer(version=2)
        host.wait_front(CLOSING)
    assert "8 failed connections; staying closed for a minute" in guest.dmesg()
    host.offer()
    host.wait_front(INITIALISED)
    host.connect()
    assert "connected to the host as client" in guest.dmesg()


def test_unloaded_while_it_stays_closed(host, guest):  # noqa: F811
    """The next try does not come when the driver is gone. The fixture unloads it."""
    for _ in range(8):
        host.offer(version=2)
        host.wait_front(CLOSING)
    host.offer()
    guest.run("true").check()
