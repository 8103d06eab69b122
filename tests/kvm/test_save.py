# SPDX-License-Identifier: GPL-2.0-or-later
"""Save, restore and migration of a guest of KVM, by QEMU's monitor.  QEMU refuses all of them while
the guest has its device.  docs/kvm.md says what to do instead."""

import re

import pytest

from tests.guest.faults import SOON, start_reader
from tests.kvm.documented import MASTER_REFUSED, SAVE_REFUSED
from tests.support.waiting import eventually
from tools.lab import deployment, product
from tools.lab.kvm import shared_memory
from tools.lab.paths import LabError

pytestmark = [pytest.mark.kvm, pytest.mark.thorough]


@pytest.fixture(scope="module")
def client(make_client):
    return make_client("client")


def test_qemu_refuses_with_the_device(client, backend, demo, tmp_path):
    """The reader of before goes on in the same connection, and gets right bytes."""
    reader = start_reader(backend, client)
    monitor = client.monitor
    for target in (f"exec:cat >{tmp_path / 'saved'}", f"unix:{tmp_path / 'target'}"):
        with pytest.raises(LabError, match=re.escape(SAVE_REFUSED)):
            monitor.ask("migrate", uri=target)
    savevm = {"command-line": "savevm x"}
    assert SAVE_REFUSED in monitor.ask("human-monitor-command", **savevm)
    assert list(tmp_path.iterdir()) == []
    assert monitor.ask("query-status")["status"] == "running"
    before = backend.bytes_read(client)  # of this connection
    assert deployment.file_digest(client) == demo.sha256
    assert backend.bytes_read(client) >= before + demo.size > demo.size
    assert reader.running
    reader.kill()
    reader.wait(SOON)


def test_nobody_can_ask_qemu_for_more(backend, new_guest):
    """A device with master=on would be saved, but what it stands for would not.  QEMU does not
    start with it."""
    backend.allow("master")
    arguments = shared_memory(backend.socket_of("master"))
    arguments[-1] += ",master=on"
    with pytest.raises(LabError, match=MASTER_REFUSED):
        new_guest("master", devices=arguments).start()


@pytest.mark.slow
def test_saved_without_the_device(backend, demo, tmp_path):
    """Unplugged, saved, restored in another QEMU, and plugged again.  A process that has the device
    open keeps the bytes that it was given, and others read as before."""
    backend.allow("saved")
    path = backend.socket_of("saved")
    guest = backend.host.create_guest("saved", device=False)
    guest.put(demo.blocks_file, deployment.BLOCKS)
    guest.run(product.load()).check()
    guest.plug(path)
    backend.wait_connected(guest)
    assert deployment.file_digest(guest) == demo.sha256
    hold = f"vread_holder hold {demo.blocks[0].spec()} /run/end >/run/said 2>&1"
    guest.run("touch /run/said").check()  # the process may not have begun when it is read
    guest.run(f"setsid sh -c '{hold}; echo >/run/ended' </dev/null >/dev/null 2>&1 &").check()
    eventually(lambda: "holding" in guest.text("cat /run/said"))
    with pytest.raises(LabError, match=re.escape(SAVE_REFUSED)):
        guest.monitor.ask("migrate", uri=f"exec:cat >{tmp_path / 'saved'}")
    guest.unplug()
    eventually(lambda: backend.device(guest) is None, what="device gone from status")
    qemu = guest.pid
    guest.save(tmp_path / "saved")
    guest.restore(tmp_path / "saved")
    assert guest.pid != qemu
    guest.run("test ! -e /dev/vread").check()
    guest.plug(path)
    backend.wait_connected(guest)
    assert deployment.file_digest(guest) == demo.sha256
    assert backend.bytes_read(guest) == demo.size
    guest.run("touch /run/end").check()
    eventually(lambda: guest.run("test -e /run/ended").rc == 0)
    said = guest.text("cat /run/said").splitlines()
    assert said[-5:] == ["hangup", "info ENODEV", "open ENODEV", "open failed", "mapping intact"]
    guest.kill()
