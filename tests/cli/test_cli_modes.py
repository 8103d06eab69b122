# SPDX-License-Identifier: GPL-2.0-or-later
"""The mode in which vreadd reads images, as xl-vread status shows it: chosen by the owner's disk in
xenstore or by the configuration, with warnings for combinations that cannot work."""

import contextlib
import json
import os
import subprocess
from types import SimpleNamespace

import pytest

from tests.support.clock import Clock
from tests.support.daemon import Daemon, Image
from tests.support.owner import Owner, needs_root
from tests.support.volumes import MIB, make_ext, partitioned

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


def run(*words):
    return subprocess.check_output([str(word) for word in words], text=True).strip()


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
    because = "qdisk 51712 of domain 7, written by qemu with O_DIRECT"
    wait_shown(daemon, mode="direct", because=because, owner=7)
    assert shown(daemon)["warning"] == (
        f"image-mode = buffered is not followed, because the image is {because}: these writes may "
        "bypass the page cache, and reads would be stale; remove image-mode"
    )
    daemon.wait_until(lambda: "reads would be stale" in daemon.log())


def test_forced_to_what_is_right_anyway(start, xenstored, image):
    attach(xenstored, image)
    daemon = start(image, "image-mode = direct\n")
    wait_shown(daemon, mode="direct", because="set by image-mode")
    assert "warning" not in shown(daemon)


def test_forced_without_xen(tmp_path, image):
    daemon = Daemon(tmp_path, image, extra="image-mode = direct\n")
    assert shown(daemon) == {"mode": "direct", "because": "set by image-mode"}
    assert daemon.stop() == 0


@needs_root
def test_a_block_device_is_never_read_through_the_page_cache(tmp_path, image):
    """A QEMU with cache=none writes past it, and nobody tells vreadd."""
    device = run("losetup", "--find", "--show", image.path)
    try:
        served = SimpleNamespace(path=device, layout=image.layout)
        daemon = Daemon(tmp_path, served, extra="image-mode = buffered\n")
        entry = shown(daemon)
        assert (entry["mode"], entry["because"]) == ("direct", "a block device")
        assert entry["warning"].startswith("image-mode = buffered is not followed")
        assert daemon.stop() == 0
    finally:
        run("losetup", "--detach", device)


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


@pytest.fixture
def clocked(tmp_path):
    """clocked(image): a vreadd without Xen whose looks the test asks for."""
    with contextlib.ExitStack() as running:

        def run(image):
            daemon = Daemon(tmp_path, image, clock=Clock(tmp_path / "clock"))
            running.callback(lambda: daemon.killed or daemon.stop())
            return daemon

        yield run


@needs_root
def test_mounted_on_a_host_without_xen(clocked, tmp_path, xl_vread):
    """It is noticed when it is mounted, and when it is mounted no more."""
    owner = Owner(tmp_path)
    daemon = clocked(SimpleNamespace(path=owner.path, data_dirs=["/data"]))
    assert "warning" not in shown(daemon)
    with owner:
        daemon.look()
        expected = f"mounted on this host, at {owner.root}: if a guest has it, too, unmount it, "
        assert shown(daemon)["warning"].startswith(expected)
        options = ["--config", daemon.config, "--socket", daemon.control]
        done = xl_vread("doctor", "--json", *options)
        found = [f["found"] for f in json.loads(done.stdout)["findings"]]
        assert any(f"mounted on this host, at {owner.root}" in text for text in found)
    daemon.look()
    assert "warning" not in shown(daemon)


def has_device_mapper():
    return subprocess.run(["dmsetup", "version"], capture_output=True).returncode == 0


@needs_root
@pytest.mark.parametrize("way", ["partition", "logical volume"])
def test_a_part_of_it_is_mounted(clocked, tmp_path, way):
    """A partition by a loop device, or a volume that the device mapper makes of it."""
    if way == "logical volume" and not has_device_mapper():
        pytest.skip("this kernel has no device mapper")
    folder = tmp_path / "mnt"
    folder.mkdir()
    volume = make_ext(tmp_path / "part.ext4")
    disk = partitioned(tmp_path / "disk.img", "gpt", volume)
    daemon = clocked(SimpleNamespace(path=disk, data_dirs=["/data"]))
    with contextlib.ExitStack() as undo:
        source = run("losetup", "--find", "--show", f"--offset={MIB}", disk)
        undo.callback(run, "losetup", "--detach", source)
        if way == "logical volume":
            name = f"vread-test-{os.getpid()}"
            sectors = volume.stat().st_size // 512
            run("dmsetup", "create", name, "--table", f"0 {sectors} linear {source} 0")
            undo.callback(run, "dmsetup", "remove", "--retry", name)
            source = f"/dev/mapper/{name}"
        run("mount", source, folder)
        undo.callback(run, "umount", folder)
        daemon.look()
        assert f"mounted on this host, at {folder}" in shown(daemon)["warning"]
    daemon.look()
    assert "warning" not in shown(daemon)
