# SPDX-License-Identifier: GPL-2.0-or-later
"""Emulated Xen hosts for tests.  A host costs ten seconds or more, so tests share them.

After each test the kernels of all hosts that are up are asked for reports of bugs; one
of those fails the test, whatever it was about.
"""

import contextlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tools.lab import Guest, XenHost, deployment, product

HEADER_FOLDERS = ("xenstore-schema", "build/generated", "linux-frontend/uapi")
PRODUCT_VARIANT = os.environ.get("VREAD_XEN_VARIANT", "asan")


@pytest.fixture(scope="session")
def _hosts() -> Iterator[list[XenHost]]:
    hosts: list[XenHost] = []
    yield hosts
    for host in hosts:
        host.stop()


@pytest.fixture(scope="session")
def start_host(_hosts) -> Callable[..., XenHost]:
    """start_host(name, ...) as XenHost(); the host lives until the tests end."""

    def start(name: str, **arguments) -> XenHost:
        host = XenHost(f"test-{name}", **arguments)
        _hosts.append(host)
        return host.start()

    return start


@pytest.fixture(autouse=True)
def _kernels_have_nothing_to_say(_hosts) -> Iterator[None]:
    yield
    for host in _hosts:
        if host.alive:
            host.check_dmesg()


@pytest.fixture(scope="session")
def xen_host(start_host, demo) -> XenHost:
    """A host with vreadd and vread in dom0, vread, libvread and the module in every guest,
    and the datanode's disk as /dev/vda."""
    return start_host(
        "vread",
        disks=[demo.image],
        files=product.dom0_files(PRODUCT_VARIANT),
        guest_files=product.guest_files(PRODUCT_VARIANT),
    )


@pytest.fixture(scope="session")
def product_files() -> tuple[dict[str, Path], dict[str, Path]]:
    """What is built, for dom0 and for guests, in the variant under test."""
    return product.dom0_files(PRODUCT_VARIANT), product.guest_files(PRODUCT_VARIANT)


@pytest.fixture
def guest_name(request) -> str:
    """A name for a guest that no other test uses."""
    return re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40]


@pytest.fixture(scope="session")
def demo():
    """The file, its blocks and the datanode image that real HDFS daemons made."""
    from tools.hdfs.demo_data import demo_image

    return demo_image(mib=64, block_mib=8)


@pytest.fixture(scope="session")
def backend(xen_host, demo) -> deployment.Backend:
    """vreadd in dom0, serving that image as datanode dn1."""
    running = deployment.Backend(xen_host, {"dn1": deployment.Datanode("/dev/vda", demo.layout)})
    running.start()
    return running


@pytest.fixture(scope="module")
def until_module_ends() -> Iterator[Callable[[Guest], Guest]]:
    """until_module_ends(guest) -> guest, destroyed after the module's last test: the shared host
    has memory for the guests of one module only."""
    with contextlib.ExitStack() as guests:
        yield guests.enter_context


@pytest.fixture(scope="module")
def make_client(backend, demo, until_module_ends) -> Callable[..., Guest]:
    """make_client(name, allow="*", frontend=True): see deployment.start_client()."""

    def make(name: str, **arguments) -> Guest:
        return until_module_ends(
            deployment.start_client(backend, name, demo.blocks_file, **arguments)
        )

    return make


def _compiled(tmp_path_factory, source: str, *libraries: str) -> Path:
    folder = Path(__file__).parent
    repository = folder.parents[1]
    program = tmp_path_factory.mktemp("programs") / source.removesuffix(".c")
    headers = [repository / name for name in HEADER_FOLDERS]
    command = ["gcc", "-std=gnu17", "-O1", "-Wall", "-Werror", "-D_GNU_SOURCE", "-pthread"]
    command += [f"-I{path}" for path in headers]
    subprocess.run([*command, folder / source, *libraries, "-o", program], check=True)
    return program


@pytest.fixture(scope="session")
def hostile_frontend(tmp_path_factory) -> Path:
    libraries = ("-lxenstore", "-lxengnttab", "-lxenevtchn")
    return _compiled(tmp_path_factory, "hostile_frontend.c", *libraries)


@pytest.fixture(scope="session")
def uapi_test(tmp_path_factory) -> Path:
    return _compiled(tmp_path_factory, "vread_uapi_test.c")


@pytest.fixture(scope="session")
def vread_holder(tmp_path_factory) -> Path:
    return _compiled(tmp_path_factory, "vread_holder.c")


@pytest.fixture(scope="session")
def hostile_backend(tmp_path_factory) -> Path:
    libraries = ("-lxenstore", "-lxengnttab", "-lxenevtchn")
    return _compiled(tmp_path_factory, "hostile_backend.c", *libraries)
