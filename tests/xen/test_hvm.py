# SPDX-License-Identifier: GPL-2.0-or-later
"""An HVM guest with Xen's PV drivers, as a client.  Its dom0 has a device model for it, Debian's
QEMU.  The kernel is the one of all other guests.
"""

import re

import pytest

from tests.support.xen_reconnecting import detach_attach_unload_load
from tests.xen.conftest import PRODUCT_VARIANT, serving
from tools.lab import deployment, device_model, product
from tools.lab.rootfs import tree_of

pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(2400)]

HOST_MIB, DOM0_MIB = 3072, 1024  # QEMU and its libraries are in dom0


@pytest.fixture(scope="module")
def backend(start_host, demo):
    files = tree_of(product.dom0_files(PRODUCT_VARIANT))
    files.files(device_model.files())
    host = start_host(
        "hvm",
        memory_mib=HOST_MIB,
        dom0_mib=DOM0_MIB,
        disks=[demo.image],
        files=files,
        guest_files=product.guest_files(PRODUCT_VARIANT),
    )
    datanodes = {"dn1": deployment.Datanode("/dev/vda", data_dirs=demo.data_dirs)}
    with serving(host, datanodes) as backend:
        yield backend


@pytest.fixture(scope="module")
def client(backend, demo):
    with deployment.start_client(
        backend, "client", demo.blocks_file, config=device_model.CONFIG
    ) as guest:
        yield guest


def test_it_is_hvm_and_reads_every_block(client, backend, demo):
    assert client.text("cat /sys/hypervisor/guest_type").strip() == "HVM"
    before = backend.bytes_read(client)
    assert deployment.file_digest(client) == demo.sha256
    assert backend.bytes_read(client) - before >= demo.size


def test_detached_attached_unloaded_and_loaded_again(client, backend, demo):
    """Detach, attach, unload and load must each work, and a read afterwards."""
    detach_attach_unload_load(client, backend, demo.blocks[0].spec())
    assert deployment.file_digest(client) == demo.sha256


def test_a_backend_that_goes_and_comes(client, backend, demo):
    """vreadd is killed and started again; both ends must be Connected, and the bytes right."""
    backend.kill()
    backend.start()
    backend.wait_connected(client)
    assert backend.states(client) == (deployment.CONNECTED, deployment.CONNECTED)
    assert deployment.file_digest(client) == demo.sha256


def test_the_kernel_has_no_complaint(client):
    log = client.dmesg()
    assert "vread: connected to domain 0 as client" in log
    assert not re.search(
        r"(xen_vreadfront|vread_core): (?!loading out-of-tree|module verification)", log
    )
