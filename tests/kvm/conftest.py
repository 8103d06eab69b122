# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures for tests on guests of KVM, which are emulated (tools/lab/kvm.py).

The tests that guests of Xen pass, too, are in tests/guest.  Each module of this folder has a host
with vreadd and vread-ivshmem of its own, and guests, which boot in a few seconds.  checked/ runs
some of the modules in guests whose kernel checks itself.
"""

import contextlib

import pytest

from tests.support.guest_program import FOLDER, compiled
from tools.lab import product
from tools.lab.deployment import Datanode
from tools.lab.guest import GuestKind
from tools.lab.kvm import KvmGuest
from tools.lab.kvm_host import KIND, KvmBackend, KvmHost, start_client


@pytest.fixture(scope="session")
def vread_holder(tmp_path_factory):
    return compiled(FOLDER / "vread_holder.c", tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="session")
def uapi_test(tmp_path_factory):
    return compiled(FOLDER / "vread_uapi_test.c", tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="session")
def guest_files(vread_holder):
    """The product, and vread_holder, in a guest."""
    return product.guest_files("release") | {"/usr/bin/vread_holder": vread_holder}


@pytest.fixture(scope="session")
def guest_kind() -> GuestKind:
    """What guests are.  tests/kvm/checked has its own."""
    return KIND


@pytest.fixture(scope="module")
def new_guest(guest_files, guest_kind):
    """new_guest(name, devices=...): a guest with the product, which is not started yet and has no
    KvmHost."""

    def make(name, **arguments):
        kind = guest_kind
        return KvmGuest(
            name,
            files=guest_files,
            memory_mib=kind.memory_mib,
            cpus=kind.vcpus,
            kernel=kind.kernel,
            **arguments,
        )

    return make


@pytest.fixture(scope="session")
def demo():
    """The file, its blocks and the datanode image that real HDFS daemons made."""
    from tools.hdfs.demo_data import demo_image

    return demo_image(mib=16, block_mib=2, layout=False)


@pytest.fixture(scope="module")
def kvm_host(request, guest_files, guest_kind):
    name = f"test-{request.module.__name__.rpartition('_')[2]}"
    with KvmHost(name, guest_files, guest_kind) as host:
        yield host


@pytest.fixture(scope="module")
def backend(request, kvm_host, demo):
    """vreadd and vread-ivshmem of the build that the module's VARIANT names.  They serve the demo's
    image as datanode dn1."""
    running = KvmBackend(
        kvm_host,
        {"dn1": Datanode(str(demo.image), data_dirs=demo.data_dirs)},
        variant=getattr(request.module, "VARIANT", "asan"),
        settings="audit = yes\n",
    )
    running.start()
    yield running
    assert running.stop() == 0


@pytest.fixture(autouse=True)
def _kernels_have_nothing_to_say(request):
    yield
    if "kvm_host" in request.fixturenames:
        request.getfixturevalue("kvm_host").check_dmesg()


@pytest.fixture(scope="module")
def make_client(backend, demo):
    """make_client(name, allow="*"): see kvm_host.start_client()."""
    with contextlib.ExitStack() as guests:

        def make(name, **arguments):
            client = start_client(backend, name, demo.blocks_file, **arguments)
            guests.callback(client.kill)
            return client

        yield make
