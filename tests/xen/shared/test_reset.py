# SPDX-License-Identifier: GPL-2.0-or-later
"""reset.py puts the shared host back between modules: it must remove everything that a module left,
and repair changed disks.  Only a host that boots has all this."""

import hashlib

import pytest

from tests.support.waiting import eventually
from tools.lab import deployment

pytestmark = [pytest.mark.xen, pytest.mark.slow]

SPOILT = "/dev/vda"
ERROR = "/local/domain/0/error/backend/vread/9/0/error"


def digest(path):
    with path.open("rb") as image:
        return hashlib.file_digest(image, "sha256").hexdigest()


def test_all_that_a_module_may_leave_is_gone(xen_host, origin, backend, disks, owned_images):
    """The test leaves a guest that restarts by itself, a vreadd that hangs and one that runs, a
    program, mounts, a loop device, a full file system, an overwritten disk, xenstore nodes and
    files.  After restore() no difference may be found."""
    host = xen_host
    # The differences of the fixtures: vreadd, and the mount of /store.
    assert set(origin.differences()) == {"process", "mount", "file", "disk"}
    guest = host.create_guest("left", config=['on_reboot="restart"'], disks=["phy:/dev/vdb,xvda,w"])
    backend.attach(guest)
    backend.connect(guest)
    guest.run("mkdir -p /mnt && mount -t ext4 /dev/xvda /mnt && echo text >/mnt/left").check()
    guest.run("dd if=/dev/zero of=/mnt/all bs=1M; sync").check()
    other = deployment.Backend(host, {}, name="-left", xen=False)
    other.start()
    host.popen("exec tail -f /dev/null")
    host.run(f"losetup --find {owned_images['file']}").check()
    host.run("mkdir /mnt/left && mount -t tmpfs left /mnt/left").check()
    host.run(f"dd if=/dev/urandom of={SPOILT} bs=1M count=4 conv=fsync").check()
    host.run(["xenstore-write", ERROR, "left"]).check()
    host.run("mkdir -p /run/left/here && touch /run/left/here/file /etc/vread/left").check()
    backend.signal("STOP")
    found = origin.differences()
    assert set(found) == {
        *("domain", "process", "mount", "loop device", "file", "xenstore node", "disk")
    }
    assert found["disk"] == {"vda", "vdb", "vdc"}

    origin.restore()

    assert origin.differences() == {}
    assert host.text("xl list").split()[-6] == "Domain-0"
    assert host.run("pidof vreadd tail").rc == 1
    eventually(lambda: not guest.alive, what="the end of its agent's bridge")
    for name, path in zip(("vda", "vdb", "vdc"), disks, strict=False):
        read = f"dd if=/dev/{name} bs=1M iflag=direct status=none | sha256sum"
        assert host.text(read).split()[0] == digest(path), name
    assert host.run(["xenstore-read", ERROR]).rc != 0
    assert host.run("test -e /run/left || test -e /etc/vread/left").rc == 1
