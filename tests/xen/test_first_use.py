# SPDX-License-Identifier: GPL-2.0-or-later
"""A newcomer's first use: domains that plain xl made, and the commands that docs/install.md prints
for them.  `xl-vread init` must find the datanode by its disk.  The client must then read a block.

The commands `apt install` and `adduser` do not run: dom0 and the guests start with the contents of
the packages, and with the user in the groups.  vread-provision needs minutes here, as in
test_provision_in_dom0.py.
"""

import contextlib

import pytest

from tests.support.guide import printed
from tests.support.hdfs_dir import POOL
from tests.support.waiting import eventually
from tests.support.xen_owner import DataDisk
from tools.lab import hadoop
from tools.lab.appliance import SETTINGS, Appliance
from tools.lab.deployment import READ_TIMEOUT_MS
from tools.lab.hadoop_guests import DATA_DEVICE, DATA_PARTITION
from tools.lab.installed import Services

pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(9000)]

USER = "hdfs"
APPLIANCE_DEVICE = "/dev/vdc"
INIT_SECONDS = 2100.0  # a slow machine alone takes seven minutes
HEALTHY_SECONDS = 300.0
GUEST_MIB = 384
DISKS = {"datanode": [f"phy:{DATA_DEVICE},xvdb,w"], "client": []}


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
    """{name: domU}, made by plain xl.  As in any Debian, udev runs."""
    with contextlib.ExitStack() as stack:
        made = {
            name: stack.enter_context(
                host.create_guest(
                    name, memory_mib=GUEST_MIB, disks=disks, printed=printed(f"/etc/xen/{name}.cfg")
                )
            )
            for name, disks in DISKS.items()
        }
        for guest in made.values():
            guest.run("mkdir -p /run/udev && /lib/systemd/systemd-udevd --daemon").check()
        yield made


def commands(place):
    return printed(place).splitlines()


def test_the_first_read(host, services, guests, tmp_path):
    """dom0 and the guest run what the guide prints, and nothing else."""
    datanode, client = guests["datanode"], guests["client"]
    datanode.run(f"mkdir /data && mount -t ext4 /dev/{DATA_PARTITION} /data").check()
    disk = DataDisk(datanode, "/data/dfs", tmp_path, "DS-1")
    disk.format()
    block = disk.write((1 << 20) + 1)
    datanode.run("sync").check()

    install, init = commands("in dom0")
    assert install.startswith("apt install ./vread-backend_")
    said = host.run(f"env {' '.join(SETTINGS)} {init}", INIT_SECONDS)
    print(said.stdout.decode(), said.stderr.decode()[-4000:])
    assert said.rc == 0

    install, join, load = commands("in a guest")
    assert install.startswith("apt install ") and join == f"adduser {USER} vread"
    for guest in guests.values():
        guest.run(load).check()
        services.wait_connected(guest)
    cat = f"vread cat --timeout {READ_TIMEOUT_MS} {POOL}/blk_{block.id}_{block.genstamp}"

    def read():
        answer = client.run(["su", USER, "-c", cat])
        return answer.stdout if answer.rc == 0 else None

    assert eventually(read, HEALTHY_SECONDS, "the block") == block.content()
    for machine, program in ((host, "xl-vread"), (client, "vread")):
        healthy = f"{program} doctor"
        eventually(lambda m=machine, c=healthy: m.run(c).rc == 0, HEALTHY_SECONDS, healthy)
