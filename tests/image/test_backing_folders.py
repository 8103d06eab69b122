# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files an image may name: those below its own folder, or below a folder that the operator
allows.  Whoever writes the image must not choose files of the host."""

import contextlib
import os
import stat
import subprocess
import threading

import pytest

from tests.support.disk import built
from tests.support.formats import ImageControl, ImageError, run

KIB = 1 << 10
SIZE = 256 * KIB
BLOCK_DEVICE = os.makedev(259, 0xFFFFF)  # a number that no driver has


@pytest.fixture
def folder(tmp_path):
    """The folder of the image that the operator names."""
    path = tmp_path / "img"
    path.mkdir()
    return path


@pytest.fixture
def elsewhere(tmp_path):
    """A folder whose path begins as that of the image's folder does."""
    path = tmp_path / "img2"
    path.mkdir()
    return path


def plain(path, byte=b"s"):
    path.write_bytes(byte * SIZE)
    return path


def names(path, backing, kind="raw"):
    """Makes an image that names the backing file, whether or not there is one."""
    run("qemu-img", "create", "-q", "-u", "-f", "qcow2", "-F", kind, "-b", backing, path, SIZE)
    return path


def refusal(image, folder=None):
    with pytest.raises(ImageError) as caught, ImageControl(f"qcow2:{image}", folder=folder):
        pass
    return caught.value.name, caught.value.text


def content(image, folder=None):
    with ImageControl(f"qcow2:{image}", folder=folder) as opened:
        return opened.read(0, 4)


def test_beside_the_image(folder):
    plain(folder / "base.raw")
    assert content(names(folder / "a.qcow2", "base.raw")) == b"ssss"
    assert content(names(folder / "b.qcow2", folder / "base.raw")) == b"ssss"
    assert content(names(folder / "c.qcow2", "./../img/base.raw")) == b"ssss"


def test_below_the_image(folder):
    (folder / "bases").mkdir()
    plain(folder / "bases/base.raw")
    assert content(names(folder / "a.qcow2", "bases/base.raw")) == b"ssss"


def test_image_named_by_a_relative_path(folder, monkeypatch):
    plain(folder / "base.raw")
    names(folder / "a.qcow2", "base.raw")
    monkeypatch.chdir(folder)
    assert content("a.qcow2") == b"ssss"
    monkeypatch.chdir(folder.parent)
    assert content("img/a.qcow2") == b"ssss"


def test_links_that_stay(folder, tmp_path):
    """The operator names the folder by a link, and the backing file is a link, too."""
    plain(folder / "base.raw")
    (folder / "link").symlink_to("base.raw")
    names(folder / "a.qcow2", "link")
    (tmp_path / "short").symlink_to(folder)
    assert content(tmp_path / "short/a.qcow2") == b"ssss"


@pytest.mark.parametrize("form", ["relative", "absolute"])
def test_outside(form, folder, elsewhere):
    secret = plain(elsewhere / "secret")
    backing = "../img2/secret" if form == "relative" else secret
    image = names(folder / "a.qcow2", backing)
    name, text = refusal(image)
    assert name == "EACCES"
    assert f"image {image} names " in text
    assert f"outside of the allowed folders ({folder})" in text
    assert str(secret) in text
    assert "backing-folders" in text and "--backing-folder" in text


def test_the_shadow_file(folder):
    name, text = refusal(names(folder / "a.qcow2", "/../" * 20 + "etc/shadow"))
    assert name == "EACCES" and "(it is at /etc/shadow)" in text


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_link_that_leads_outside(kind, folder, elsewhere):
    secret = plain(elsewhere / "secret")
    (folder / "link").symlink_to(secret if kind == "file" else elsewhere)
    image = names(folder / "a.qcow2", "link" if kind == "file" else "link/secret")
    name, text = refusal(image)
    assert name == "EACCES" and f"(it is at {secret})" in text


def test_link_to_a_place_that_cannot_be_shown(folder, tmp_path):
    """The error does not show a path that could command the operator's terminal."""
    other = tmp_path / "\x1b[31m\n"
    other.mkdir()
    (folder / "link").symlink_to(plain(other / "secret"))
    name, text = refusal(names(folder / "a.qcow2", "link"))
    assert name == "EACCES" and "outside of the allowed folders" in text and "\x1b" not in text


def test_chain_whose_last_file_is_outside(folder, elsewhere):
    secret = plain(elsewhere / "secret")
    names(folder / "low.qcow2", secret)
    names(folder / "middle.qcow2", "low.qcow2", "qcow2")
    top = names(folder / "top.qcow2", "middle.qcow2", "qcow2")
    name, text = refusal(top)
    assert name == "EACCES" and f"image {folder}/low.qcow2 names {secret} as" in text
    assert content(top, folder=elsewhere) == b"ssss"


def test_folders_do_not_follow_the_chain(folder, tmp_path):
    """Only the image that the operator named decides: the folder of a file in the chain does not
    allow more."""
    for name in ("a", "a/b"):
        (folder / name).mkdir()
    plain(folder / "a/base.raw")
    names(folder / "a/b/low.qcow2", "../base.raw")
    assert content(names(folder / "top.qcow2", "a/b/low.qcow2", "qcow2")) == b"ssss"
    assert refusal(folder / "a/b/low.qcow2")[0] == "EACCES"


@pytest.mark.parametrize("form", ["folder", "link", "file"])
def test_allowed_folder(form, folder, elsewhere, tmp_path):
    base = plain(elsewhere / "base.raw")
    image = names(folder / "a.qcow2", base)
    (tmp_path / "link").symlink_to(elsewhere)
    allowed = {"folder": elsewhere, "link": tmp_path / "link", "file": base}[form]
    assert content(image, folder=allowed) == b"ssss"
    assert content(names(folder / "b.qcow2", "/" + str(base)), folder=allowed) == b"ssss"


def test_allowed_folder_whose_name_only_begins_alike(folder, elsewhere, tmp_path):
    image = names(folder / "a.qcow2", plain(elsewhere / "secret"))
    name, text = refusal(image, folder=tmp_path / "img2/sec")
    assert name == "EACCES" and f"({folder}, {tmp_path}/img2/sec)" in text
    (tmp_path / "im").mkdir()
    assert refusal(image, folder=tmp_path / "im")[0] == "EACCES"


def test_root_folder_allows_nothing(folder, elsewhere):
    image = names(folder / "a.qcow2", plain(elsewhere / "secret"))
    assert refusal(image, folder="/")[0] == "EACCES"


@pytest.mark.parametrize(
    "backing",
    [
        'json:{"driver": "raw", "file": {"driver": "file", "filename": "base.raw"}}',
        "nbd:127.0.0.1:10809",
        "http://192.0.2.1/base.raw",
        "file:base.raw",
        "fd:3",
    ],
)
def test_no_path(backing, folder):
    plain(folder / "base.raw")
    name, text = refusal(names(folder / "a.qcow2", backing), folder=folder)
    assert name == "EMEDIUMTYPE" and "expected the path of a file" in text


def test_links_of_procfs(folder):
    """They lead into other mount namespaces, where the same path is another file."""
    plain(folder / "base.raw")
    for link in ("/proc/self/root", f"/proc/{os.getpid()}/root"):
        name, text = refusal(names(folder / "a.qcow2", f"{link}{folder}/base.raw"))
        assert name == "ELOOP" and "without links of /proc" in text


def special(path, kind):
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        mode = {"character device": stat.S_IFCHR, "block device": stat.S_IFBLK}[kind]
        try:
            os.mknod(path, mode | 0o600, BLOCK_DEVICE)
        except PermissionError:
            pytest.skip("cannot make devices")


@pytest.mark.parametrize("kind", ["fifo", "folder", "character device"])
def test_no_file(kind, folder):
    special(folder / "base", kind)
    image = names(folder / "a.qcow2", "base")
    for allowed in (None, folder):
        name, text = refusal(image, folder=allowed)
        assert name == "EINVAL" and "which is no regular file" in text


def test_block_device(folder):
    """A device needs a folder that the operator lists.  The device of this test does not exist, so
    it is refused by the kernel after it was allowed."""
    special(folder / "base", "block device")
    image = names(folder / "a.qcow2", "base")
    name, text = refusal(image)
    assert name == "EINVAL" and "a device must be below a folder" in text
    for allowed in (folder, folder / "base"):
        assert refusal(image, folder=allowed)[0] == "ENXIO"


def test_file_that_changes_places(folder, elsewhere):
    """The checked file is the one that is read, whatever becomes of its name meanwhile."""
    plain(folder / "base.raw")
    secret = plain(elsewhere / "secret", b"x")
    (folder / "link").symlink_to("base.raw")
    image = names(folder / "a.qcow2", "link")
    done = threading.Event()

    def exchange():
        while not done.is_set():
            for target in (secret, "base.raw"):
                (folder / "new").symlink_to(target)
                os.rename(folder / "new", folder / "link")

    with ImageControl(f"qcow2:{image}") as opened:
        thread = threading.Thread(target=exchange)
        thread.start()
        try:
            for _ in range(1000):
                with contextlib.suppress(ImageError):
                    assert opened.same(), "the file outside was opened"
        finally:
            done.set()
            thread.join()


def output(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", [["vread-provision"], ["xl-vread", "inspect"]])
def test_provisioning(command, folder, elsewhere):
    """The plain file holds no disk, which is found out only if the file may be opened."""
    image = f"qcow2:{names(folder / 'a.qcow2', plain(elsewhere / 'secret'))}"
    command = [built(command[0]), *command[1:]]
    code, said = output(*command, image)
    assert code == 66 and "outside of the allowed folders" in said
    code, said = output(*command, "--backing-folder", elsewhere, image)
    assert code == 65 and "outside" not in said


def test_blocks_of_an_image(folder, elsewhere):
    image = f"qcow2:{names(folder / 'a.qcow2', plain(elsewhere / 'secret'))}"
    command = [built("xl-vread"), "blocks", "--image", image, "--data-dir", "/dfs/data"]
    assert "outside of the allowed folders" in output(*command)[1]
    assert "outside" not in output(*command, "--backing-folder", elsewhere)[1]
