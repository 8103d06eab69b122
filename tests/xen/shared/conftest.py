# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures of the tests on the shared host.  `xen_host` is the host, put back to its state after
boot for each module; `backend` is vreadd on it."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.hdfs_dir import DataDirectory
from tests.support.xfs_owner import make_xfs
from tests.xen.conftest import PRODUCT_VARIANT, mke2fs, starter
from tests.xen.shared.reset import Origin
from tools.lab import Disk, Guest, XenHost, deployment, product

# make test-all sets it to asan: all code for Xen devices runs here.
VARIANT = os.environ.get("VREAD_XEN_VARIANT", PRODUCT_VARIANT)
OWNED_MIB = 16
SPARE_MIB = 64


@pytest.fixture(scope="package")
def disks(demo, tmp_path_factory) -> list[Path]:
    """The host's disks, from /dev/vda on.  vdb to vde are the disks that guests write to.

    vda: the demo datanode's disk
    vdb: ext4 with a data directory /data
    vdc: ext4 with image files of two disks like vdb, file.raw and direct.raw
    vdd: an empty XFS
    vde: not formatted"""
    folder = tmp_path_factory.mktemp("owned")
    store = folder / "store"
    store.mkdir()
    made = [demo.image, owned_disk(folder, folder / "device.raw")]
    for name in ("file", "direct"):
        owned_disk(folder, store / f"{name}.raw")
    made.append(mke2fs(folder / "store.raw", store, 3 * OWNED_MIB))
    make_xfs(folder / "xfs.raw", mib=SPARE_MIB)
    with (folder / "spare.raw").open("wb") as spare:
        spare.truncate(SPARE_MIB << 20)
    return [*made, folder / "xfs.raw", folder / "spare.raw"]


def owned_disk(folder: Path, image: Path) -> Path:
    directory = DataDirectory(folder / image.stem / "data", storage=f"DS-{image.stem}")
    return mke2fs(image, directory.path.parent, OWNED_MIB)


@pytest.fixture(scope="package")
def host_settings() -> dict:
    """Arguments of XenHost.  tests/xen/checked has its own."""
    return {"name": "shared", "guest_files": product.guest_files(VARIANT)}


@pytest.fixture(scope="package")
def booted(_hosts, disks, host_settings) -> Iterator[tuple[XenHost, Origin]]:
    """The host, with vreadd and vread in dom0, and vread, libvread and the module in each guest."""
    with starter(_hosts) as start:
        host = start(
            disks=[*disks, *(Disk(path, "readonly") for path in disks)],
            files=product.dom0_files(VARIANT),
            **host_settings,
        )
        yield host, Origin(host, len(disks))


@pytest.fixture(scope="module")
def origin(booted) -> Origin:
    return booted[1]


@pytest.fixture(scope="module")
def xen_host(booted) -> XenHost:
    host, origin = booted
    origin.restore()
    return host


@pytest.fixture(scope="module")
def owned_images(xen_host) -> dict[str, str]:
    """{datanode: path in dom0} of the images that guests write to."""
    store = "/store"
    xen_host.run(f"mkdir {store} && mount -t ext4 /dev/vdc {store}").check()
    images = {"device": "/dev/vdb", "xfs": "/dev/vdd", "spare": "/dev/vde"}
    return images | {name: f"{store}/{name}.raw" for name in ("file", "direct")}


@pytest.fixture(scope="module")
def backend(xen_host, demo, owned_images) -> Iterator[deployment.Backend]:
    """vreadd in dom0.  It serves the demo's image as datanode dn1, and the formatted images that
    guests write to."""
    datanodes = {"dn1": deployment.Datanode("/dev/vda", data_dirs=demo.data_dirs)}
    for name in ("device", "file", "direct", "xfs"):
        datanodes[name] = deployment.Datanode(owned_images[name], data_dirs=("/data",))
    running = deployment.Backend(xen_host, datanodes, extra="[vreadd]\naudit = yes\n")
    running.start()
    yield running
    if running.running():
        assert running.stop() == 0, running.log()


@pytest.fixture(scope="module")
def until_module_ends() -> Iterator[Callable[[Guest], Guest]]:
    """until_module_ends(guest) -> guest, destroyed after the module's last test."""
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
