# SPDX-License-Identifier: GPL-2.0-or-later
"""vreadd's options, its exit status, and its errors for a bad configuration."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.daemon import STORAGE, binary, open_block
from tests.support.disk import Disk
from tests.support.hdfs_dir import DataDirectory

EXAMPLE = Path(__file__).resolve().parents[2] / "xen-backend" / "control" / "vread.conf"


def vreadd(*arguments, variant="asan", **environment):
    return subprocess.run(
        [binary(variant), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | environment,
    )


@pytest.fixture
def check(tmp_path):
    def run(text):
        path = tmp_path / "vread.conf"
        path.write_text(text)
        return vreadd("--check-config", "-c", path), path

    return run


def test_help_and_version():
    done = vreadd("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for option in ("--config", "--check-config", "--foreground", "--log-level", "--version"):
        assert option in done.stdout
    assert vreadd("--version").stdout.startswith("vreadd ")


@pytest.mark.parametrize(
    "arguments,said",
    [
        (["--nonsense"], "--nonsense"),
        (["file.conf"], "file.conf: unexpected argument"),
        (["--log-level", "loud"], "expected error, warn, info or debug"),
        (["-c"], "requires an argument"),
    ],
)
def test_usage_errors(arguments, said):
    done = vreadd(*arguments)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("variant", ["asan", "release"])
def test_a_clock_that_cannot_be_read(tmp_path, variant):
    """vreadd does not run if VREAD_CLOCK names a file that it cannot read the time from."""
    short = tmp_path / "clock"
    short.write_bytes(bytes(15))
    for path, why in ((short, "No data available"), (tmp_path / "none", "No such file")):
        done = vreadd("--check-config", "-c", EXAMPLE, variant=variant, VREAD_CLOCK=str(path))
        assert done.returncode == 1
        assert f"VREAD_CLOCK={path}: cannot take the time from that file: {why}" in done.stderr


def test_the_example_is_right():
    done = vreadd("--check-config", "-c", EXAMPLE)
    assert (done.returncode, done.stdout) == (0, f"{EXAMPLE}: ok\n"), done.stderr


def test_a_good_configuration(check, image):
    done, path = check(f"[datanode dn1]\nimage = {image.path}\nlayout = {image.layout}\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{path}: ok\n"


def test_every_mistake_is_told_with_its_place(check):
    done, path = check("[vreadd]\nlog-levle = info\n\n[local]\nmax-connections = none\n")
    assert done.returncode == 1
    assert f"{path}:2: [vreadd] log-levle: info: unknown key" in done.stderr
    assert "did you mean log-level?" in done.stderr
    assert (
        f"{path}:5: [local] max-connections: none: expected a number from 1 to 4096" in done.stderr
    )


def test_the_daemon_does_not_start_with_a_mistake(tmp_path):
    path = tmp_path / "vread.conf"
    path.write_text("[xen]\nenabled = perhaps\n")
    done = vreadd("-c", path)
    assert done.returncode == 1
    assert f"{path}:2: [xen] enabled: perhaps: expected yes, no or auto" in done.stderr


def test_no_configuration_file():
    done = vreadd("-c", "/nonexistent/vread.conf")
    assert done.returncode == 1
    assert "/nonexistent/vread.conf: No such file or directory" in done.stderr


def test_nothing_to_serve(check, tmp_path):
    path = tmp_path / "vread.conf"
    path.write_text("[vreadd]\ncontrol-socket =\n[xen]\nenabled = no\n")
    done = vreadd("-c", path)
    assert done.returncode == 4
    assert "nothing to serve" in done.stderr


def test_xen_wanted_where_there_is_none(tmp_path):
    path = tmp_path / "vread.conf"
    path.write_text("[vreadd]\ncontrol-socket =\n[xen]\nenabled = yes\n")
    done = vreadd("-c", path)
    assert done.returncode == 1
    assert "no xenstore here" in done.stderr


def bad_datanodes(image, folder):
    (folder / "empty.img").write_bytes(b"")
    truncated = folder / "truncated.img"
    with open(image.path, "rb") as whole:
        truncated.write_bytes(whole.read(1 << 20))
    (folder / "noise.img").write_bytes(bytes(range(256)) * 40960)
    (folder / "bad.json").write_text('{"layout-version": 1, "image": ')
    good = image.path, image.layout
    yield "image missing", folder / "gone.img", good[1], "gone.img"
    yield "image empty", folder / "empty.img", good[1], "empty.img"
    yield "image truncated", truncated, good[1], "truncated.img"
    yield "image of noise", folder / "noise.img", good[1], "noise.img"
    yield "image a folder", folder, good[1], str(folder)
    yield "layout missing", good[0], folder / "gone.json", "gone.json"
    yield "layout not JSON", good[0], folder / "bad.json", "bad.json"


LACKING = "no mistakes, but of 1 datanode 1 cannot be served now, or only in part"


def write_head(path, head):
    with open(path, "wb") as disk:
        disk.truncate(32 << 20)
        disk.write(head)
    return path


def unserved(image, folder):
    """Pairs: what a datanode's section may name, and what is said about it."""
    luks = write_head(folder / "luks.img", b"LUKS\xba\xbe\0\1" + b"aes".ljust(160, b"\0") + UUID)
    qcow2 = folder / "dn.qcow2"
    subprocess.run(
        ["qemu-img", "convert", "-Oqcow2", image.path, qcow2], check=True, capture_output=True
    )
    yield folder / "gone.img", "No such file or directory; check the path"
    yield folder, f"image {folder}"
    yield image.path, "no data directory /elsewhere: partition gpt:1 is empty; partition gpt:2"
    yield luks, "is encrypted by its guest (LUKS), which alone has the key"
    yield qcow2, "looks like a qcow2 file but is configured as raw"
    yield f"qcow2:{image.path}", "it is not a qcow2 file"
    yield write_head(folder / "empty.img", b""), "is not a disk"


UUID = b"6d5f1c1a-9e0e-4f0f-8b39-000000000001"


def test_what_cannot_be_served_is_told_with_its_reason(check, image, tmp_path):
    """Nothing of it is a mistake in the file, so the exit status is one of its own."""
    for path, said in unserved(image, tmp_path):
        done, conf = check(f"[datanode dn1]\nimage = {path}\ndata-dirs = /elsewhere\n")
        assert (done.returncode, done.stdout) == (3, f"{conf}: {LACKING}\n"), path
        assert "datanode dn1: not served yet: image " in done.stderr, path
        assert said in done.stderr, path
    done, _ = check(f"[datanode dn1]\nimage = {image.path}\ndata-dirs = /dfs/data\n")
    assert (done.returncode, "not served yet" in done.stderr) == (0, False)


def test_one_of_two_directories_is_missing(check, image):
    """The datanode is served in part.  log-level does not hide what is found."""
    done, conf = check(
        "[vreadd]\nlog-level = error\n"
        f"[datanode dn1]\nimage = {image.path}\ndata-dirs = /dfs/data /elsewhere\n"
    )
    assert (done.returncode, done.stdout) == (3, f"{conf}: {LACKING}\n")
    assert "no data directory /elsewhere: " in done.stderr


def test_a_file_system_that_is_refused(check, tmp_path):
    """Its owner did not unmount it cleanly: it is found, and its blocks are not read."""
    disk = Disk(tmp_path, [DataDirectory(tmp_path / "data", storage=STORAGE)])
    disk.debugfs("set_super_value state 0")
    done, _ = check(f"[datanode dn1]\nimage = {disk.path}\nlayout = {disk.layout}\n")
    assert done.returncode == 3
    assert "datanode dn1: a file system is not read: refused: it was not cleanly" in done.stderr


def test_without_rights_the_check_says_so(image, tmp_path):
    """A user who may not read the images cannot check them; vreadd's opener can read them."""
    folder = tmp_path / "open"
    folder.mkdir()
    disk = folder / "dn.img"
    shutil.copyfile(image.path, disk)
    disk.chmod(0o600)
    conf = folder / "vread.conf"
    conf.write_text(f"[datanode dn1]\nimage = {disk}\ndata-dirs = /dfs/data\n")
    done = subprocess.run(
        [binary("release"), "--check-config", "-c", "/proc/self/fd/0"],
        stdin=conf.open(),
        capture_output=True,
        text=True,
        timeout=60,
        user="nobody",
    )
    assert done.returncode == 3
    said = f"image {disk} cannot be checked by uid 65534, who may not read it: run this as root"
    assert said in done.stderr


def test_a_check_beside_a_vreadd_that_serves(start_daemon, image):
    """The images are in use, and so are the sockets."""
    daemon = start_daemon()
    done = vreadd("--check-config", "-c", daemon.config)
    assert (done.returncode, done.stdout) == (0, f"{daemon.config}: ok\n")
    with daemon.front() as front:
        open_block(front, image.blocks[0])


def test_unusable_datanodes_are_told(check, image, tmp_path):
    for what, path, layout, said in bad_datanodes(image, tmp_path):
        done, _ = check(f"[datanode dn1]\nimage = {path}\nlayout = {layout}\n")
        assert done.returncode == 3, what
        assert "datanode dn1: refused: " in done.stderr, what
        assert said in done.stderr, what
