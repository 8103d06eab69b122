# SPDX-License-Identifier: GPL-2.0-or-later
"""A domain of libvirt with vRead's device, by the XML of docs/kvm.md: reads, detach and attach,
save and restore.  libvirtd is Debian's, in session mode (tools/lab/libvirt.py)."""

import re

import pytest

from tests.guest.faults import SOON, start_reader
from tests.kvm.documented import SAVE_REFUSED, VECTORS, documented
from tests.support.waiting import eventually
from tools.lab import deployment
from tools.lab.libvirt import Libvirt, LibvirtGuest
from tools.lab.paths import LabError

pytestmark = [pytest.mark.kvm, pytest.mark.thorough]

VARIANT = "release"  # as it is installed
PORT = "<controller type='pci' index='8' model='pcie-root-port'/>"
AT_PORT = "<address type='pci' bus='0x08' slot='0x00'/>"


@pytest.fixture(scope="module")
def libvirt():
    with Libvirt() as running:
        yield running


@pytest.fixture(scope="module")
def files(libvirt, backend):
    """Both files of the document for the guest "domain": the device without and with an address."""
    backend.allow("domain", mode="0666")  # its QEMU is of another user
    found = documented_devices(backend.socket_of("domain"))
    return [libvirt.file(f"vread{n}.xml", xml) for n, xml in enumerate(found)]


def documented_devices(path):
    found = documented("<shmem", path, blocks=2)
    return sorted(found, key=lambda xml: AT_PORT in xml)


@pytest.fixture(scope="module")
def guest(libvirt, backend, files, guest_files, demo):
    """A domain with the device from its start, and a port for one that is plugged."""
    devices = documented(PORT) + files[0].read_text()
    more = documented("<qemu:override>")
    with LibvirtGuest("domain", libvirt, devices, more, files=guest_files) as guest:
        guest.put(demo.blocks_file, deployment.BLOCKS)
        backend.connect(guest)
        yield guest
        guest.check_dmesg()


def test_reads(guest, backend, demo):
    device = backend.device(guest)
    assert (device["state"], device["role"]) == ("Connected", "client")
    assert int(guest.text(VECTORS)) == 5
    assert deployment.file_digest(guest) == demo.sha256
    assert backend.bytes_read(guest) == demo.size


@pytest.mark.parametrize("command", ["save", "managedsave"])
def test_no_save_with_the_device(guest, libvirt, backend, demo, command):
    reader = start_reader(backend, guest)
    saved = libvirt.folder / "refused"
    with pytest.raises(LabError, match=re.escape(SAVE_REFUSED)):
        libvirt.virsh(command, guest.name, *([saved] if command == "save" else []))
    assert not saved.exists()
    assert libvirt.virsh("domstate", guest.name) == "running"
    before = backend.bytes_read(guest)  # of this connection
    assert deployment.file_digest(guest) == demo.sha256
    assert backend.bytes_read(guest) >= before + demo.size > demo.size
    assert reader.running
    reader.kill()
    reader.wait(SOON)


@pytest.mark.parametrize("number", [0, 1], ids=["without an address", "at the port"])
def test_detach_and_attach(guest, libvirt, backend, files, demo, number):
    """The first detaches the device of the start."""
    detach(libvirt, backend, guest, files[0])
    assert "<shmem" not in guest.domain()
    guest.run("test ! -e /dev/vread").check()
    libvirt.virsh("attach-device", guest.name, files[number], "--live")
    backend.wait_connected(guest)
    assert deployment.file_digest(guest) == demo.sha256
    detach(libvirt, backend, guest, files[number])
    libvirt.virsh("attach-device", guest.name, files[0], "--live")
    backend.wait_connected(guest)


def detach(libvirt, backend, guest, file):
    """The guest is asked, and virsh does not wait for it long."""
    libvirt.virsh("detach-device", guest.name, file, "--live")
    eventually(lambda: "<shmem" not in guest.domain(), what="device gone from the domain")
    eventually(lambda: backend.device(guest) is None, what="device gone from status")


def test_saved_without_the_device(guest, libvirt, backend, files, demo):
    """The restored guest does not see by itself that a device is attached at the port."""
    detach(libvirt, backend, guest, files[0])
    saved = libvirt.folder / "saved"
    guest.save(saved)
    assert libvirt.virsh("domstate", guest.name) == "shut off"
    guest.restore(saved)
    guest.run("grep -q vread_ivshmem /proc/modules && test ! -e /dev/vread").check()
    libvirt.virsh("attach-device", guest.name, files[1], "--live")
    guest.run("echo 1 >/sys/bus/pci/rescan").check()
    backend.wait_connected(guest)
    assert deployment.file_digest(guest) == demo.sha256
    assert backend.bytes_read(guest) == demo.size
