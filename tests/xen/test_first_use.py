# SPDX-License-Identifier: GPL-2.0-or-later
"""A newcomer's first use: domains that plain xl made, and the commands that docs/install.md prints
for them.  `xl-vread init` must find the datanode by its disk.  The client must then read a block.

The printed commands are counted: tests/support/first_use.py has the limits, and says which commands
do not run.
"""

import contextlib

import pytest

from tests.support.first_use import (
    DISKS,
    READ_SECONDS,
    USER,
    domain,
    eventually_healthy,
    in_dom0,
    init,
    read,
    walk_in_guest,
    write_block,
)
from tests.support.waiting import eventually
from tools.lab import hadoop
from tools.lab.appliance import Appliance
from tools.lab.installed import Services

pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(9000)]

APPLIANCE_DEVICE = "/dev/vdc"


@pytest.fixture(scope="module")
def host(start_host, packages):
    appliance = Appliance()
    dom0 = packages.dom0(recommended=True)
    dom0.files(appliance.files)
    host = start_host(
        "first-use",
        memory_mib=3584,
        dom0_mib=2560,
        disks=[*hadoop.disks(), appliance.disk],
        files=dom0,
        guest_files=packages.guest(users=(USER,)),
    )
    appliance.install(host, APPLIANCE_DEVICE)
    return host


@pytest.fixture(scope="module")
def services(host, packages):
    services = Services(host, packages)
    services.start()
    return services


@pytest.fixture(scope="module")
def guests(host, services):
    """{name: domU}"""
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(domain(host, name)) for name in DISKS}


def test_the_first_read(host, services, guests, tmp_path):
    """dom0 and the guest run what the guide prints, and nothing else."""
    block = write_block(guests["datanode"], tmp_path)
    (look,) = in_dom0("in dom0")
    init(host, look)
    for guest in guests.values():
        walk_in_guest(services, guest)
    client = guests["client"]
    assert eventually(lambda: read(client, block), READ_SECONDS, "the block") == block.content()
    eventually_healthy(host, "xl-vread")
    eventually_healthy(client, "vread")
