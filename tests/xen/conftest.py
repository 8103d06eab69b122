# SPDX-License-Identifier: GPL-2.0-or-later
"""Emulated Xen hosts for tests.  A host costs ten seconds or more, so tests share them; one that
is up and idle slows down all others, so none is up longer than it is used.

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

from tests.support.hdfs_dir import DataDirectory
from tests.support.xfs_owner import make_xfs
from tools.lab import Guest, XenHost, deployment, product

HEADER_FOLDERS = ("xenstore-schema", "build/generated", "linux-frontend/uapi")
OWNED_MIB = 16
SPARE_MIB = 64
PRODUCT_VARIANT = os.environ.get("VREAD_XEN_VARIANT", "asan")


def pytest_collection_modifyitems(items) -> None:
    """Tests of the shared host come last, one after the other: those of other hosts run before it
    is started."""
    places = [i for i, item in enumerate(items) if item.path.parent == Path(__file__).parent]
    ours = sorted((items[i] for i in places), key=lambda item: "xen_host" in item.fixturenames)
    for place, item in zip(places, ours, strict=True):
        items[place] = item


@pytest.fixture(scope="session")
def _hosts() -> Iterator[list[XenHost]]:
    hosts: list[XenHost] = []
    yield hosts
    for host in hosts:
        host.stop()


@contextlib.contextmanager
def starter(hosts: list[XenHost]) -> Iterator[Callable[..., XenHost]]:
    """start(name, ...) as XenHost(), within the context; `hosts` has all there are."""
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
    """start_host(name, ...) as XenHost(); the host lives until the module's last test."""
    with starter(_hosts) as start:
        yield start


@pytest.fixture(autouse=True)
def _kernels_have_nothing_to_say(_hosts) -> Iterator[None]:
    yield
    for host in _hosts:
        if host.alive:
            host.check_dmesg()


@pytest.fixture(scope="session")
def xen_host(_hosts, demo, owned_disks) -> XenHost:
    """A host with vreadd and vread in dom0, vread, libvread and the module in every guest,
    the datanode's disk as /dev/vda, and behind it those of owned_disks."""
    host = XenHost(
        "test-vread",
        disks=[demo.image, *owned_disks],
        files=product.dom0_files(PRODUCT_VARIANT),
        guest_files=product.guest_files(PRODUCT_VARIANT),
    )
    _hosts.append(host)
    return host.start()


@pytest.fixture(scope="session")
def owned_disks(tmp_path_factory) -> list[Path]:
    """Disks whose owners write to them in tests: one with an ext4 and a data directory (/data)
    in it, an ext4 that holds two image files of such disks, file.raw and direct.raw, an XFS with
    nothing in it, and one that is not formatted."""
    folder = tmp_path_factory.mktemp("owned")
    store = folder / "store"
    store.mkdir()
    disks = [owned_disk(folder, folder / "device.raw")]
    for name in ("file", "direct"):
        owned_disk(folder, store / f"{name}.raw")
    disks.append(mke2fs(folder / "store.raw", store, 3 * OWNED_MIB))
    make_xfs(folder / "xfs.raw", mib=SPARE_MIB)
    with (folder / "spare.raw").open("wb") as spare:
        spare.truncate(SPARE_MIB << 20)
    return [*disks, folder / "xfs.raw", folder / "spare.raw"]


def owned_disk(folder: Path, image: Path) -> Path:
    directory = DataDirectory(folder / image.stem / "data", storage=f"DS-{image.stem}")
    return mke2fs(image, directory.path.parent, OWNED_MIB)


def mke2fs(image: Path, contents: Path, mib: int) -> Path:
    command = ["/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-d", contents, image, f"{mib}M"]
    subprocess.run(command, check=True, capture_output=True)
    return image


@pytest.fixture(scope="session")
def product_files() -> tuple[dict[str, Path], dict[str, Path]]:
    """What is built, for dom0 and for guests, in the variant under test."""
    return product.dom0_files(PRODUCT_VARIANT), product.guest_files(PRODUCT_VARIANT)


@pytest.fixture(scope="session")
def built_program() -> Callable[[str], dict[str, Path]]:
    """built_program(name): a C program of the tests, as a file for a guest."""
    build = Path(__file__).parents[2] / "build" / PRODUCT_VARIANT
    return lambda name: {f"/usr/bin/{name}": build / name}


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
def owned_images(xen_host) -> dict[str, str]:
    """The images of owned_disks in dom0, by the datanode each is."""
    store = "/store"
    xen_host.run(f"mkdir {store} && mount -t ext4 /dev/vdc {store}").check()
    images = {"device": "/dev/vdb", "xfs": "/dev/vdd", "spare": "/dev/vde"}
    return images | {name: f"{store}/{name}.raw" for name in ("file", "direct")}


@pytest.fixture(scope="session")
def backend(xen_host, demo, owned_images) -> deployment.Backend:
    """vreadd in dom0, serving the demo's image as datanode dn1, and those of owned_disks that are
    formatted."""
    datanodes = {"dn1": deployment.Datanode("/dev/vda", demo.layout)}
    for name in ("device", "file", "direct", "xfs"):
        image = owned_images[name]
        datanodes[name] = deployment.Datanode(image, data_dirs=("/data",))
    running = deployment.Backend(xen_host, datanodes)
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
