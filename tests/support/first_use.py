# SPDX-License-Identifier: GPL-2.0-or-later
"""A newcomer's first use of vRead, on emulated hosts: what the walks on one host and on two hosts
have in common.  tests/xen/test_first_use.py and tests/xen/test_first_use_two_hosts.py use it.

The commands are those that docs/install.md prints.  Two of them do not run: `apt install` and
`adduser`.  dom0 and the guests start with the contents of the packages, and with the user in the
groups.
"""

import contextlib

from tests.support.guide import commands, printed
from tests.support.waiting import eventually
from tests.support.xen_owner import DataDisk
from tools.lab.appliance import SETTINGS
from tools.lab.deployment import READ_TIMEOUT_MS
from tools.lab.hadoop_guests import DATA_DEVICE, DATA_PARTITION

USER = "hdfs"
MOST_IN_DOM0, MOST_IN_GUEST = 6, 3
INIT_SECONDS = 2100.0  # a slow machine alone takes seven minutes
READ_SECONDS = 300.0
GUEST_MIB = 384
STORAGE = "DS-1"
DISKS = {"datanode": [f"phy:{DATA_DEVICE},xvdb,w"], "client": []}


@contextlib.contextmanager
def domain(host, name):
    """The domU of that name, made by plain xl.  As in any Debian, udev runs."""
    made = host.create_guest(
        name, memory_mib=GUEST_MIB, disks=DISKS[name], printed=printed(f"/etc/xen/{name}.cfg")
    )
    with made as guest:
        guest.run("mkdir -p /run/udev && /lib/systemd/systemd-udevd --daemon").check()
        yield guest


def write_block(datanode, scratch):
    """Writes a block on the datanode's disk, as a DataNode does that is not stopped."""
    datanode.run(f"mkdir /data && mount -t ext4 /dev/{DATA_PARTITION} /data").check()
    disk = DataDisk(datanode, "/data/dfs", scratch, STORAGE)
    disk.format()
    block = disk.write((1 << 20) + 1)
    datanode.run("sync").check()
    return block


def in_dom0(place):
    """The commands for that dom0 behind `apt install`."""
    install, *others = commands(place)
    assert install.startswith("apt install ./vread-backend_")
    assert 1 + len(others) <= MOST_IN_DOM0
    return others


def init(host, command):
    """Runs the printed `xl-vread init`.  vread-provision needs minutes here, as in
    test_provision_in_dom0.py."""
    said = host.run(f"env {' '.join(SETTINGS)} {command}", INIT_SECONDS)
    print(said.stdout.decode(), said.stderr.decode()[-4000:])
    assert said.rc == 0


def walk_in_guest(services, guest):
    """Runs what is printed for a guest, and returns when its device is connected."""
    every = commands("in a guest")
    assert len(every) <= MOST_IN_GUEST
    install, join, load = every
    assert install.startswith("apt install ") and join == f"adduser {USER} vread"
    guest.run(load).check()
    services.wait_connected(guest)


def read(client, block):
    """The block, as the user reads it, or None."""
    spec = f"{block.pool}/blk_{block.id}_{block.genstamp}@{block.storage}:{block.length}"
    command = f"vread cat --timeout {READ_TIMEOUT_MS} {spec}"
    answer = client.run(["su", USER, "-c", command])
    return answer.stdout if answer.rc == 0 else None


def eventually_healthy(machine, program):
    command = f"{program} doctor"
    eventually(lambda: machine.run(command).rc == 0, READ_SECONDS, command)
