# SPDX-License-Identifier: GPL-2.0-or-later
"""The command lines of docs/kvm.md, with a real QEMU: its arguments for the device at the start,
and its monitor's commands that plug and unplug the device."""

import pytest

from tests.kvm.documented import VECTORS, documented
from tools.lab import deployment
from tools.lab.kvm import KvmGuest

pytestmark = [pytest.mark.kvm, pytest.mark.thorough]


@pytest.fixture
def start(backend, guest_files, demo):
    """start(name, arguments): a guest of a QEMU with these arguments, and the module loaded."""
    guests = []

    def start(name, arguments):
        guest = KvmGuest(name, files=guest_files, devices=arguments)
        guests.append(guest.start())
        guest.put(demo.blocks_file, deployment.BLOCKS)
        deployment.load_frontend(guest)
        return guest

    yield start
    for guest in guests:
        guest.check_dmesg()
        guest.kill()


def say(guest, line):
    """One line at QEMU's monitor for people.  That says nothing when all is well."""
    assert guest.monitor.ask("human-monitor-command", **{"command-line": line}) == ""


def test_device_of_the_command_line(start, backend, demo):
    backend.allow("started")
    guest = start("started", documented("-chardev", backend.socket_of("started")).split())
    backend.wait_connected(guest)
    assert int(guest.text(VECTORS)) == 5
    assert deployment.file_digest(guest) == demo.sha256


def test_plug_and_unplug(start, backend, demo):
    backend.allow("plugged")
    guest = start("plugged", documented("-device pcie-root-port").split())
    for _ in range(2):
        for line in documented("chardev-add", backend.socket_of("plugged")).splitlines():
            say(guest, line)
        backend.wait_connected(guest)
        assert deployment.file_digest(guest) == demo.sha256
        delete, remove = documented("device_del").splitlines()
        say(guest, delete)
        guest.monitor.wait_event("DEVICE_DELETED")
        say(guest, remove)
        guest.run("test ! -e /dev/vread").check()
