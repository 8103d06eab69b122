# SPDX-License-Identifier: GPL-2.0-or-later
"""Two hosts on one wire: what reading from another host goes over."""

import hashlib
import random

import pytest

from tests.xen.pair.conftest import FAR

pytestmark = pytest.mark.xen

NOISE = random.Random(2).randbytes(4 << 20)
BANDWIDTH = "ib_write_bw -d rxe0 -x 1 -s 65536 -n 200 -F"


def test_a_stream_between_dom0s(far_host, near_host):
    listener = far_host.popen("nc -l -p 5000 | sha256sum", timeout=180)
    near_host.run(f"until nc -w 5 {FAR} 5000; do sleep 0.3; done", stdin=NOISE).check()
    assert listener.wait(180).stdout.split()[0].decode() == hashlib.sha256(NOISE).hexdigest()


def test_a_guest_on_each(far_host, near_host):
    for host, name in ((near_host, "near"), (far_host, "far")):
        with host.create_guest(name, vifs=["10.77.0.11"]) as guest:
            guest.run("until ping -c 1 -W 5 10.77.0.1; do sleep 0.5; done").check()


def test_soft_roce_writes_to_the_other_host(far_host, near_host):
    server = far_host.popen(BANDWIDTH, timeout=180)
    client = near_host.run(f"until {BANDWIDTH} {FAR}; do sleep 0.5; done").check()
    server.wait(180).check()
    assert b"65536      200 " in client.stdout


def test_connections_are_made_by_address(far_host, near_host):
    server = far_host.popen(f"rping -s -C 4 -V -a {FAR}", timeout=180)
    near_host.run(f"until rping -c -C 4 -V -a {FAR}; do sleep 0.5; done").check()
    server.wait(180).check()
