# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of guests that no other test has: a guest with a kernel of another series from Debian's
archive, for which the module is built with warnings as errors, a PVH guest, and guests with several
processors.
"""

import re

import pytest

from tests.support.xen_reconnecting import detach_attach_unload_load
from tools.lab import deployment, kernels, product
from tools.lab.debian import BOOKWORM

pytestmark = [pytest.mark.xen, pytest.mark.slow]

# With native time Xen does not intercept RDTSC and RDTSCP.  QEMU reports RDTSC to Xen where the
# guest executed RDTSCP.
PVH = {"config": ('type="pvh"', 'tsc_mode="native"')}
# {name: (series of its kernel or None for dom0's, type as the kernel calls it, arguments)}
KINDS = {
    "linux-6-12": ("6.12", "PV", {}),
    "pvh": (None, "PVH", PVH),
    "two-processors": (None, "PV", {"vcpus": 2}),
    "four-processors": (None, "PV", {"vcpus": 4}),
}


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def client(kind, make_client):
    series, _, arguments = KINDS[kind]
    if series:
        kernel = kernels.archived(series)
        arguments = {"kernel": kernel, "files": product.modules_for(kernel)}
    return make_client(kind, **arguments)


def test_the_guest_is_of_that_kind_and_reads_every_block(client, kind, backend, demo):
    """The guest must have the kernel and the type, and read every block.  Only a hypervisor runs
    the module in these kernels and types of guests."""
    series, guest_type, _ = KINDS[kind]
    release = client.text("uname -r").strip()
    assert release.startswith(f"{series}." if series else BOOKWORM.kernel.release)
    assert client.text("cat /sys/hypervisor/guest_type").strip() == guest_type
    before = backend.bytes_read(client)
    assert deployment.file_digest(client) == demo.sha256
    assert backend.bytes_read(client) - before >= demo.size


def test_a_queue_for_each_processor(client, kind, backend, demo):
    """A reader on each processor must get the right bytes.  Each processor has its own queue."""
    processors = KINDS[kind][2].get("vcpus", 1)
    assert int(client.text("nproc")) == processors
    node = f"/local/domain/{client.domid}/device/vread/0/num-queues"
    assert int(backend.host.text(f"xenstore-read {node}")) == processors
    reader = (
        f"taskset $((1 << cpu)) vread cat --timeout {deployment.READ_TIMEOUT_MS} "
        f"--blocks-from {deployment.BLOCKS} | sha256sum >/sum.$cpu &"
    )
    count = " ".join(map(str, range(processors)))
    command = f"for cpu in {count}; do {reader} done; wait; cat /sum.*"
    sums = client.text(command, deployment.DIGEST_TIMEOUT * processors).split()
    assert [word for word in sums if word != "-"] == [demo.sha256] * processors


def test_every_bad_argument_is_refused_there_too(client, uapi_test, demo):
    """vread_uapi_test must pass.  The ioctls are those of a module that was built for this
    kernel."""
    client.put(uapi_test, "/uapi_test")
    answer = client.run(["/uapi_test", demo.blocks[0].spec()], timeout=400)
    assert answer.rc == 0, answer.stdout.decode()


def test_detached_attached_unloaded_and_loaded_again(client, backend, demo):
    """Detach, attach, unload and load must each work, and a read afterwards.  xenbus differs
    between the kernels."""
    detach_attach_unload_load(client, backend, demo.blocks[0].spec())
    patience = f"--timeout {deployment.READ_TIMEOUT_MS}"
    client.run(f"vread cat {patience} {demo.blocks[0].spec()} >/dev/null").check()


def test_a_backend_that_goes_and_comes(client, backend, demo):
    """vreadd is killed and restarted; the client must read again.  The module handles a lost
    backend by interfaces that differ between kernels."""
    backend.kill()
    backend.start()
    backend.wait_connected(client)
    assert deployment.file_digest(client) == demo.sha256


def test_the_kernel_took_it_as_built_for_it(client):
    """The kernel's log must have no complaint about the module.  Only that kernel can complain."""
    """Neither forced nor complained about (what it reports as a bug fails any test here)."""
    log = client.dmesg()
    assert "vread: connected to domain 0 as client" in log
    assert not re.search(
        r"(xen_vreadfront|vread_core): (?!loading out-of-tree|module verification)", log
    )
