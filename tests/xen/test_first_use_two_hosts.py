# SPDX-License-Identifier: GPL-2.0-or-later
"""A newcomer's first use of two hosts: the commands that docs/install.md prints for them.  The
datanode is a domain of the far host, the client one of the near host.  The client must read a block
of the datanode, through the vreadd of both hosts.

The printed commands are counted: tests/support/first_use.py has the limits, and says which commands
do not run.  The others run as printed, in each dom0, but for three:
- `scp`: the emulated hosts have no ssh.  The files are copied with their modes, as `scp -p` does.
- `systemctl restart vreadd`: there is no systemd.  vreadd ends and is started by its unit's command
  line, in the group that the unit's user has.  So vreadd may read keys of that group.
- `xl-vread init` runs with the settings of tools/lab/appliance.py.
answer-timeout, which the guide leaves alone, is longer here: an emulated host is slow.
"""

import re
from pathlib import Path

import pytest

from tests.support.first_use import (
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
from tests.support.guide import printed
from tests.support.waiting import eventually
from tests.xen.pair.reading import the_peer
from tools.lab import Wire, hadoop
from tools.lab.appliance import Appliance
from tools.lab.installed import CONFIG, SETPRIV, Services
from tools.lab.packages import SERVICE
from tools.vreadd import REPOSITORY

pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(9000)]

APPLIANCE_DEVICE = "/dev/vdc"
SMALL = {"memory_mib": 1536, "dom0_mib": 896}
# busybox has no install, and its setpriv cannot set a group.
PROGRAMS = {path: path for path in ("/usr/bin/openssl", "/usr/bin/install")}
PROGRAMS[SETPRIV] = "/usr/bin/setpriv"
RESTART = "systemctl restart vreadd"
SLOW = r"sed -i '/^\[peers\]/a answer-timeout = 20000'"
(FAR_IP,) = re.findall(r"^listen = (.+):\d+$", printed("on the far host"), re.M)
NEAR_IP = "192.0.2.2"


class Dom0:
    """One of the two hosts, on which printed commands run.  folder: of the wire's socket."""

    def __init__(self, start, name, packages, folder, **arguments):
        files = arguments.pop("files")
        files.files({path: Path(source) for path, source in PROGRAMS.items()})
        address = FAR_IP if name == "far" else NEAR_IP
        wire = Wire(folder / "wire", f"{address}/24", listen=name == "far")
        self.host = start(f"first-use-{name}", files=files, wire=wire, **arguments)
        self.host.run(postinst_line("/etc/vread/peers")).check()
        self.services = Services(self.host, packages, group=SERVICE)
        self.services.start()

    def run(self, command):
        if command == RESTART:
            self.host.run(f"{SLOW} {CONFIG}").check()
            self.services.restart()
        elif command.startswith("xl-vread init "):
            init(self.host, command)
        else:
            self.host.run(command).check()


def postinst_line(path):
    """What the package's postinst does about that path."""
    text = (REPOSITORY / "debian/vread-backend.postinst").read_text()
    (line,) = re.findall(rf"^\s*(install .* {path})$", text, re.M)
    return line


def scp(command, source, target):
    """Does what a printed `scp -p HOST:FOLDER/{NAMES} FOLDER/` does in the dom0 `target`."""
    folder, names, there = re.fullmatch(r"scp -p \w+:(\S+)/\{(\S+)\} (\S+)/", command).groups()
    for name in names.split(","):
        content = source.run(["cat", f"{folder}/{name}"]).check().stdout
        mode = source.text(["stat", "-c", "%a", f"{folder}/{name}"]).strip()
        write = f"umask 077; cat >{there}/{name} && chmod {mode} {there}/{name}"
        target.run(write, stdin=content).check()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("wire")


@pytest.fixture(scope="module")
def far(start_host, packages, folder):
    appliance = Appliance()
    files = packages.dom0(recommended=True, user=True)
    files.files(appliance.files)
    dom0 = Dom0(
        start_host,
        "far",
        packages,
        folder,
        memory_mib=3584,
        dom0_mib=2560,
        disks=[*hadoop.disks(), appliance.disk],
        files=files,
        guest_files=packages.guest(users=(USER,)),
    )
    appliance.install(dom0.host, APPLIANCE_DEVICE)
    return dom0


@pytest.fixture(scope="module")
def near(start_host, packages, folder, far):
    files, guest_files = packages.dom0(user=True), packages.guest(users=(USER,))
    return Dom0(start_host, "near", packages, folder, files=files, guest_files=guest_files, **SMALL)


@pytest.fixture(scope="module")
def block(far, tmp_path_factory):
    """A block that the datanode wrote.  The datanode runs on."""
    with domain(far.host, "datanode") as guest:
        yield write_block(guest, tmp_path_factory.mktemp("block"))


@pytest.fixture(scope="module")
def client(near):
    with domain(near.host, "client") as guest:
        yield guest


def test_the_first_read(far, near, block, client):
    """Both dom0s and the client run what the guide prints, and nothing else."""
    for command in in_dom0("on the far host"):
        far.run(command)
    fetch, *others = in_dom0("on the near host")
    scp(fetch, far.host, near.host)
    for command in others:
        near.run(command)
    walk_in_guest(near.services, client)
    content = eventually(lambda: read(client, block), READ_SECONDS, "the block")
    assert content == block.content()
    assert the_peer(near.services)["bytes"] >= block.length
    for dom0 in (far, near):
        eventually_healthy(dom0.host, "xl-vread")
    eventually_healthy(client, "vread")


def test_the_near_host_must_name_the_datanode(near, block, client):
    """Where the near host's section [peer far] names another datanode, nothing of the first one is
    read, although the two hosts have talked to each other."""
    near.host.run(f"sed -i 's/^datanodes = datanode$/datanodes = another/' {CONFIG}").check()
    near.services.restart()
    near.services.wait_connected(client)

    def talked():
        peer = the_peer(near.services)
        return peer["connects"] > peer["failures"]

    eventually(talked, READ_SECONDS, lambda: the_peer(near.services))
    assert read(client, block) is None
    assert the_peer(near.services)["bytes"] == 0
