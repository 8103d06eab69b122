# SPDX-License-Identifier: GPL-2.0-or-later
"""The mode in which vreadd reads images, as xl-vread status shows it: chosen by the owner's disk in
xenstore or by the configuration, with warnings for combinations that cannot work."""

from types import SimpleNamespace

import pytest

from tests.support.daemon import Daemon, Image
from tests.support.owner import Owner, needs_root

DISK = "/local/domain/0/backend/qdisk/7/51712"


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return Image(tmp_path_factory.mktemp("image"))


@pytest.fixture
def start(tmp_path, xenstored):
    daemons = []

    def run(image, extra=""):
        store = ["env", f"XENSTORED_PATH={xenstored.path}"]
        daemon = Daemon(tmp_path, image, wrapper=store, extra=extra, xen="yes")
        daemons.append(daemon)
        return daemon

    yield run
    for daemon in daemons:
        assert daemon.stop() == 0, daemon.log()


def attach(xenstored, image, mode="w", **nodes):
    for node, value in {"params": f"aio:{image.path}", "mode": mode, **nodes}.items():
        xenstored.put(f"{DISK}/{node.replace('_', '-')}", value)


def shown(daemon):
    """The image's entry in status, without the members that describe the image itself."""
    what = ("image", "format", "size", "device", "inode")
    (entry,) = daemon.status()["datanodes"][0]["images"]
    return {key: entry[key] for key in entry if key not in what}


def wait_shown(daemon, **expected):
    daemon.wait_until(lambda: shown(daemon).items() >= expected.items(), 60)


def with_data_dirs(image):
    return SimpleNamespace(path=image.path, data_dirs=["/dfs/data"])


@pytest.mark.parametrize("form", [lambda image: image, with_data_dirs], ids=["layout", "data dirs"])
def test_mode_follows_the_disk(start, xenstored, image, form, xl_vread):
    daemon = start(form(image))
    wait_shown(daemon, mode="buffered", because="no domain can write to it")
    attach(xenstored, image, direct_io_safe="1")
    because = "qdisk 51712 of domain 7, written by qemu with O_DIRECT"
    wait_shown(daemon, mode="direct", because=because, owner=7)
    text = xl_vread("status", "--socket", daemon.control).stdout.decode().splitlines()
    assert f"    read direct: {because}" in text
    xenstored.remove("/local/domain/0/backend/qdisk/7")
    wait_shown(daemon, mode="buffered", because="no domain can write to it")
    assert "owner" not in shown(daemon)


def test_a_datanode_that_comes_back_as_another_domain(start, xenstored, image):
    """The datanode's disk now belongs to another domain and is written in the same way.  vreadd
    must show the new owner without opening the image again."""
    attach(xenstored, image)
    daemon = start(with_data_dirs(image))
    wait_shown(daemon, mode="buffered", owner=7)
    xenstored.remove("/local/domain/0/backend/qdisk/7")
    xenstored.put("/local/domain/0/backend/qdisk/8/51712/params", f"aio:{image.path}")
    xenstored.put("/local/domain/0/backend/qdisk/8/51712/mode", "w")
    wait_shown(daemon, mode="buffered", owner=8)
    assert daemon.log().count(": serving ") == 1


def test_forced(start, xenstored, image):
    attach(xenstored, image, direct_io_safe="1")
    daemon = start(image, "image-mode = buffered\n")
    wait_shown(daemon, mode="buffered", because="set by image-mode", owner=7)
    assert shown(daemon)["warning"] == (
        "image-mode = buffered, but the image is qdisk 51712 of domain 7, written by qemu with "
        "O_DIRECT: these writes bypass the page cache, so reads will be stale; remove image-mode"
    )
    daemon.wait_until(lambda: "reads will be stale" in daemon.log())


def test_forced_to_what_is_right_anyway(start, xenstored, image):
    attach(xenstored, image)
    daemon = start(image, "image-mode = direct\n")
    wait_shown(daemon, mode="direct", because="set by image-mode")
    assert "warning" not in shown(daemon)


def test_forced_without_xen(tmp_path, image):
    daemon = Daemon(tmp_path, image, extra="image-mode = direct\n")
    assert shown(daemon) == {"mode": "direct", "because": "set by image-mode"}
    assert daemon.stop() == 0


def test_nothing_is_said_without_xen(tmp_path, image):
    daemon = Daemon(tmp_path, image)
    assert shown(daemon) == {"mode": "buffered"}
    assert daemon.stop() == 0


@needs_root
def test_mounted_here_too(start, xenstored, tmp_path, xl_vread):
    with Owner(tmp_path) as owner:
        daemon = start(SimpleNamespace(path=owner.path, data_dirs=["/data"]))
        wait_shown(
            daemon,
            warning=f"mounted in this domain too, at {owner.root}: unmount it, or its file system "
            "will be destroyed",
        )
        text = xl_vread("status", "--socket", daemon.control).stdout.decode()
        assert "WARNING: mounted in this domain too" in text
        assert daemon.stop() == 0
