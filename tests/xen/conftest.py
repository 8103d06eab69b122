# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures for all tests on emulated Xen hosts.  A host takes ten seconds or more to start, so
tests share hosts.  An idle host slows down all others, so no host stays up longer than it is used.

After each test, the kernel logs of all hosts that are up are searched for reports of bugs.  A
report fails the test, whatever the test was about.
"""

import contextlib
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.guest_program import FOLDER, compiled
from tools.lab import XenHost, product
from tools.lab.channel import Command
from tools.lab.deployment import Backend, Datanode
from tools.lab.packages import Packages

HERE = Path(__file__).parent
# Sanitizers double the work of an emulated processor.  So hosts have the release build, as it is
# installed.  Native tests run the sanitized build, and in make test-all the host in shared/ has it.
PRODUCT_VARIANT = "release"


@contextlib.contextmanager
def watching(host: XenHost) -> Iterator[Command]:
    """In the block, `xl-vread watch` runs in dom0."""
    process = host.popen("exec xl-vread watch")
    yield process
    pid = host.text("pidof xl-vread").strip()
    host.run(f"kill {pid}").check()
    assert process.wait(60).rc == 0, process.stderr


@contextlib.contextmanager
def serving(host: XenHost, datanodes: dict[str, Datanode], extra: str = "") -> Iterator[Backend]:
    """In the block, vreadd runs in dom0 and serves these.  It must end well.  extra: further text
    of its configuration."""
    backend = Backend(host, datanodes, extra=extra)
    backend.start()
    yield backend
    assert backend.stop() == 0, backend.log()


@pytest.fixture(scope="session")
def _hosts() -> Iterator[list[XenHost]]:
    hosts: list[XenHost] = []
    yield hosts
    for host in hosts:
        host.stop()


@contextlib.contextmanager
def starter(hosts: list[XenHost]) -> Iterator[Callable[..., XenHost]]:
    """Yields start(name, ...), which starts a XenHost() with these arguments and appends it to
    `hosts`.  The end of the context stops the hosts it started."""
    own: list[XenHost] = []

    def start(name: str, **arguments) -> XenHost:
        host = XenHost(f"test-{name}", **arguments)
        hosts.append(host)
        own.append(host)
        return host.start()

    try:
        yield start
    finally:
        for host in own:
            host.stop()


@pytest.fixture(scope="module")
def start_host(_hosts) -> Iterator[Callable[..., XenHost]]:
    """start_host(name, ...): starts a XenHost() that lives until the module's last test."""
    with starter(_hosts) as start:
        yield start


@pytest.fixture(autouse=True)
def _kernels_have_nothing_to_say(_hosts) -> Iterator[None]:
    yield
    for host in _hosts:
        if host.alive:
            host.check_dmesg()


def mke2fs(image: Path, contents: Path, mib: int) -> Path:
    command = ["/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-d", contents, image, f"{mib}M"]
    subprocess.run(command, check=True, capture_output=True)
    return image


@pytest.fixture(scope="session")
def product_files() -> tuple[dict[str, Path], dict[str, Path]]:
    """The files of the build for dom0 and for guests."""
    return product.dom0_files(PRODUCT_VARIANT), product.guest_files(PRODUCT_VARIANT)


@pytest.fixture(scope="session")
def packages(tmp_path_factory) -> Packages:
    """The packages, which `make deb` makes."""
    made = subprocess.run(
        ["make", "-C", HERE.parents[1], "deb"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert made.returncode == 0, made.stdout.decode()
    return Packages(HERE.parents[1] / "build/deb", tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="session")
def built_program() -> Callable[..., dict[str, Path]]:
    """built_program(name, variant): {path in a guest: file} of a C program of the tests."""
    build = HERE.parents[1] / "build"

    def of(name: str, variant: str = PRODUCT_VARIANT) -> dict[str, Path]:
        return {f"/usr/bin/{name}": build / variant / name}

    return of


@pytest.fixture
def guest_name(request) -> str:
    """A guest's name, made from the test's name so that no other test uses it."""
    return re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40]


@pytest.fixture(scope="session")
def demo():
    """The file, its blocks and the datanode image that real HDFS daemons made."""
    from tools.hdfs.demo_data import demo_image

    return demo_image(mib=16, block_mib=2, layout=False)


@pytest.fixture(scope="session")
def hostile_frontend(tmp_path_factory) -> Path:
    libraries = ("-lxenstore", "-lxengnttab", "-lxenevtchn")
    return compiled(HERE / "hostile_frontend.c", tmp_path_factory.mktemp("programs"), *libraries)


@pytest.fixture(scope="session")
def uapi_test(tmp_path_factory) -> Path:
    return compiled(FOLDER / "vread_uapi_test.c", tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="session")
def vread_holder(tmp_path_factory) -> Path:
    return compiled(FOLDER / "vread_holder.c", tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="session")
def hostile_backend(tmp_path_factory) -> Path:
    libraries = ("-lxenstore", "-lxengnttab", "-lxenevtchn")
    return compiled(HERE / "hostile_backend.c", tmp_path_factory.mktemp("programs"), *libraries)
