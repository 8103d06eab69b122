# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults around guests of KVM: vreadd, vread-ivshmem, QEMU or a guest's kernel die, or the device
is unplugged, while a reader reads.  No byte may be wrong, and all must recover or say why not.

The module against a host that lies is in test_frontend.py, and vreadd against a guest that lies in
tests/protocol."""

import pytest

from tests.guest.faults import *  # noqa: F403 - tests, in the order of that file
from tests.guest.faults import SOON, start_reader
from tests.support.waiting import eventually
from tools.lab import deployment
from tools.lab.kvm import DEVICE

pytestmark = [pytest.mark.kvm, pytest.mark.thorough]


@pytest.fixture(scope="module")
def client(make_client):
    """A client that is connected at the start and at the end of each test."""
    return make_client("client")


def test_backend_stopped_in_order_and_restarted(client, demo, backend):
    reader = start_reader(backend, client)
    assert backend.stop() == 0
    reader.wait(SOON)
    backend.start()
    backend.wait_connected(client)
    assert deployment.file_digest(client) == demo.sha256


@pytest.mark.slow
def test_reset_under_a_reader(make_client, backend, demo):
    """The guest's kernel is gone, and QEMU's connection stays.  The next kernel gets a connection
    of its own, although nobody has ended the first one."""
    victim = make_client("reset")
    reader = start_reader(backend, victim)
    victim.reset()
    assert not reader.running
    victim.put(demo.blocks_file, deployment.BLOCKS)
    backend.connect(victim)
    assert deployment.file_digest(victim) == demo.sha256


@pytest.mark.slow
def test_reboot_under_a_reader(make_client, backend, demo):
    """The guest's kernel restarts the machine, in the same QEMU."""
    victim = make_client("reboot")
    start_reader(backend, victim)
    qemu = victim.pid
    victim.reboot()
    victim.put(demo.blocks_file, deployment.BLOCKS)
    backend.connect(victim)
    assert deployment.file_digest(victim) == demo.sha256
    assert victim.pid == qemu


def test_killed_under_its_reader(make_client, client, backend, demo):
    """QEMU dies.  Its device goes from the status, and others notice nothing.  The guest's next
    QEMU gets a device, while vread-ivshmem and vreadd stay."""
    processes = (backend.server_pid, backend.status()["pid"])
    victim = make_client("victim")
    start_reader(backend, victim)
    victim.kill()
    eventually(lambda: backend.device(victim) is None, what="device gone from status")
    assert deployment.file_digest(client) == demo.sha256
    again = make_client("victim")
    assert deployment.file_digest(again) == demo.sha256
    assert backend.bytes_read(again) == demo.size
    assert (backend.server_pid, backend.status()["pid"]) == processes


def test_unplugged_under_a_reader(make_client, backend, demo):
    victim = make_client("unplugged")
    reader = start_reader(backend, victim)
    victim.monitor.ask("device_del", id=DEVICE)
    said = reader.wait(SOON).stdout.decode()
    assert "no backend" in said or "went away" in said, said
    victim.run("test ! -e /dev/vread").check()
    victim.check_dmesg()


def test_the_server_dies(make_client, backend, demo):
    """Without vread-ivshmem nobody could tell a guest that vreadd has ended.  So vreadd closes its
    devices, and readers use TCP."""
    victim = make_client("orphan")
    reader = start_reader(backend, victim)
    backend.kill_server()
    said = reader.wait(SOON).stdout.decode()
    assert "no backend" in said or "went away" in said, said
