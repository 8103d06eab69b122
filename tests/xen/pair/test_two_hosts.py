# SPDX-License-Identifier: GPL-2.0-or-later
"""Two hosts on one wire: what reading from another host goes over."""

import hashlib
import random

import pytest

from tests.support.waiting import eventually
from tests.xen.pair.conftest import FAR

# In `make test`: test_remote_read.py goes over all of this.
pytestmark = [pytest.mark.xen, pytest.mark.slow]

NOISE = random.Random(2).randbytes(4 << 20)
BANDWIDTH = "ib_write_bw -d rxe0 -x 1 -s 65536 -n 200 -F"


def succeeds(host, command, stdin=None):
    """Tries until the other host listens; what it said then."""

    def tried():
        done = host.run(command, stdin=stdin)
        return done if done.rc == 0 else None

    return eventually(tried, what=command)


def test_a_stream_between_dom0s(far_host, near_host):
    """The wire of two emulators."""
    listener = far_host.popen("nc -l -p 5000 | sha256sum", timeout=180)
    succeeds(near_host, f"nc -w 5 {FAR} 5000", NOISE)
    assert listener.wait(180).stdout.split()[0].decode() == hashlib.sha256(NOISE).hexdigest()


def test_a_guest_on_each(far_host, near_host):
    """Hosts of one network each make guests."""
    for host, name in ((near_host, "near"), (far_host, "far")):
        with host.create_guest(name, vifs=["10.77.0.11"]) as guest:
            succeeds(guest, "ping -c 1 -W 5 10.77.0.1")


def test_soft_roce_writes_to_the_other_host(far_host, near_host):
    """RDMA from a dom0 to another."""
    server = far_host.popen(BANDWIDTH, timeout=180)
    client = succeeds(near_host, f"{BANDWIDTH} {FAR}")
    server.wait(180).check()
    assert b"65536      200 " in client.stdout


def test_connections_are_made_by_address(far_host, near_host):
    """RDMA's connection manager from a dom0 to another."""
    server = far_host.popen(f"rping -s -C 4 -V -a {FAR}", timeout=180)
    succeeds(near_host, f"rping -c -C 4 -V -a {FAR}")
    server.wait(180).check()
