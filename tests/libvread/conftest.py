# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures of the tests of libvread: the library, and a vreadd with synthetic blocks."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.libvread import vreadlib
from tests.support.hdfs_dir import CRC32, DataDirectory
from tools.images import make_datanode_image, write_layout
from tools.vreadd import Vreadd

BUILD = Path(__file__).resolve().parents[2] / "build"


def pytest_itemcollected(item):
    """Sets the timeout method to "thread".  While a call hangs in the library, Python runs no
    signal handlers."""
    item.add_marker(pytest.mark.timeout(1200, method="thread"))


@pytest.fixture(scope="session")
def lib():
    return vreadlib.load(os.environ.get("VREAD_TEST_LIBRARY", BUILD / "release/libvread.so.1"))


@pytest.fixture
def endpoint():
    """A socket path that is short enough for sun_path; paths in pytest's folders may not be."""
    directory = tempfile.mkdtemp(prefix="vread-")
    yield os.path.join(directory, "socket")
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """(datanodes for Vreadd, {name: block}) of an image with a few blocks."""
    root = tmp_path_factory.mktemp("libvread")
    directory = DataDirectory(root / "data")
    blocks = {
        "large": directory.add(1073741825, 9_000_001),
        "chunk": directory.add(1073741826, 512),
        "odd": directory.add(1073741827, 262_145, chunk=4096),
        "byte": directory.add(1073741828, 1),
        "rbw": directory.add(1073741829, 100_000, finalized=False),
        "crc32": directory.add(1073741830, 300_001, kind=CRC32),
    }
    image = make_datanode_image([root / "data"], root / "dn.raw")
    write_layout(image, root / "layout.json")
    return {"dn1": (image.path, root / "layout.json")}, blocks


@pytest.fixture(scope="session")
def vreadd(served):
    with Vreadd(served[0], variant="asan") as daemon:
        yield daemon


@pytest.fixture
def connection(lib, vreadd):
    with vreadlib.Connection(lib, vreadd.endpoint) as c:
        yield c
