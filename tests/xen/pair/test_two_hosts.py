# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the lab: the wire between two hosts, which reads from another host go over."""

import hashlib
import random

import pytest

from tests.support.waiting import eventually
from tests.xen.pair.conftest import FAR

# `make test` instead runs test_remote_read.py, which uses all of this.
pytestmark = [pytest.mark.xen, pytest.mark.slow]

NOISE = random.Random(2).randbytes(4 << 20)
BANDWIDTH = "ib_write_bw -d rxe0 -x 1 -s 65536 -n 200 -F"


def succeeds(host, command, stdin=None):
    """Repeats the command until it succeeds, because the other host may not listen yet.  Returns
    the command's result."""

    def tried():
        done = host.run(command, stdin=stdin)
        return done if done.rc == 0 else None

    return eventually(tried, what=command)


def test_a_stream_between_dom0s(far_host, near_host):
    """4 MiB go from one dom0 to the other by TCP, over the wire of two emulators, and must arrive
    unchanged."""
    listener = far_host.popen("nc -l -p 5000 | sha256sum", timeout=180)
    succeeds(near_host, f"nc -w 5 {FAR} 5000", NOISE)
    assert listener.wait(180).stdout.split()[0].decode() == hashlib.sha256(NOISE).hexdigest()


def test_a_guest_on_each(far_host, near_host):
    """Both hosts are on one network, and a guest of each host can ping its own bridge."""
    for host, name in ((near_host, "near"), (far_host, "far")):
        with host.create_guest(name, vifs=["10.77.0.11"]) as guest:
            succeeds(guest, "ping -c 1 -W 5 10.77.0.1")


def test_soft_roce_writes_to_the_other_host(far_host, near_host):
    """ib_write_bw writes by RDMA from one dom0 to the other; native tests have no RDMA."""
    server = far_host.popen(BANDWIDTH, timeout=180)
    client = succeeds(near_host, f"{BANDWIDTH} {FAR}")
    server.wait(180).check()
    assert b"65536      200 " in client.stdout


def test_connections_are_made_by_address(far_host, near_host):
    """rping connects by address from one dom0 to the other, by RDMA's connection manager, which
    native tests do not have."""
    server = far_host.popen(f"rping -s -C 4 -V -a {FAR}", timeout=180)
    succeeds(near_host, f"rping -c -C 4 -V -a {FAR}")
    server.wait(180).check()
