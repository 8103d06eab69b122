# SPDX-License-Identifier: GPL-2.0-or-later
"""Formats read through qemu-nbd: only while nobody writes, and only as long as it answers."""

import contextlib
import os
import random
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.support.disk import BlockError, Disk, blockctl
from tests.support.formats import CONVERT, ImageControl, ImageError, qemu_io, run
from tests.support.hdfs_dir import DataDirectory
from tests.support.owner import Owner, needs_root
from tests.support.waiting import eventually
from tools.vreadd import DataDirs

MIB = 1 << 20
GIVEN_UP = 5  # s: a qemu-nbd that does not answer for so long
STABLE = 10  # s: a parser that ran for so long is started again at once


@pytest.fixture
def content():
    return random.Random(5).randbytes(3 * MIB)


@pytest.fixture
def vdi(tmp_path, content):
    raw = tmp_path / "disk.raw"
    raw.write_bytes(content)
    path = tmp_path / "disk.vdi"
    run(*CONVERT, "-f", "raw", "-O", "vdi", raw, path)
    return path


def text_of(path):
    """Empty: its process or thread has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return path.read_text()
    return ""


def children(process):
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    return [int(pid) for task in tasks for pid in text_of(task / "children").split()]


def servers(blocks):
    """The qemu-nbd processes of a blockctl, which has parsers, too."""
    pids = children(blocks.process)
    return [pid for pid in pids if text_of(Path(f"/proc/{pid}/comm")) == "qemu-nbd\n"]


def is_running(pid):
    """Not: or ended, and nobody asked how."""
    stat = text_of(Path(f"/proc/{pid}/stat"))
    return bool(stat) and stat.rsplit(")")[1].split()[0] != "Z"


def refused(call, name):
    with pytest.raises(ImageError) as caught:
        call()
    assert caught.value.name == name
    return caught.value.text


def refusal(spec, **arguments):
    def attempt():
        with ImageControl(spec, **arguments):
            pass

    with pytest.raises(ImageError) as caught:
        attempt()
    return caught.value.name, caught.value.text


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Where sockets are for a moment."""
    place = tmp_path / "run"
    place.mkdir()
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(place))
    return place


def test_of_one_moment(vdi, content):
    with ImageControl(f"qemu-vdi:{vdi}") as image:
        assert (image.current, image.size) == (False, len(content))
        assert image.same()
        assert image.read(MIB - 5, 10) == content[MIB - 5 : MIB + 5]
        refused(lambda: image.map(0, 4096), "EOPNOTSUPP")
        refused(lambda: image.read(len(content), 1), "EIO")
        assert image.read(0, 512) == content[:512]


def test_nothing_is_left(vdi, folders):
    with ImageControl(f"qemu-vdi:{vdi}") as image:
        (child,) = children(image.process)
        assert list(folders.iterdir()) == []
    eventually(lambda: not Path(f"/proc/{child}").exists())


def test_ends_with_a_killed_daemon(vdi):
    image = ImageControl(f"qemu-vdi:{vdi}")
    (child,) = children(image.process)
    image.process.kill()
    image.end()
    eventually(lambda: not is_running(child))


@pytest.mark.parametrize("how", ["written", "touched", "cut", "replaced"])
def test_changed_since(vdi, content, how):
    """Not a byte more, until it is opened again."""
    with ImageControl(f"qemu-vdi:{vdi}") as image:
        assert image.read(0, 4096) == content[:4096]
        before = image.changes()
        if how == "written":
            qemu_io(vdi, "vdi", "write -P 7 0 64k")
        elif how == "touched":
            os.utime(vdi)
        elif how == "cut":
            os.truncate(vdi, MIB)
        else:
            other = vdi.with_name("other.vdi")
            run(*CONVERT, "-f", "vdi", "-O", "vdi", vdi, other)
            os.replace(other, vdi)
        refused(lambda: image.read(0, 4096), "EIO")
        refused(lambda: image.read(2 * MIB, 4096), "EIO")
        assert image.changes() != before
        if how != "cut":
            assert not image.same()
            with ImageControl(f"qemu-vdi:{vdi}") as again:
                expected = b"\7" * 4096 if how == "written" else content[:4096]
                assert again.read(0, 4096) == expected


def test_server_dies(vdi, content):
    with ImageControl(f"qemu-vdi:{vdi}") as image:
        (child,) = children(image.process)
        os.kill(child, signal.SIGKILL)
        eventually(lambda: not is_running(child))
        refused(lambda: image.read(0, 4096), "EIO")
        refused(lambda: image.read(0, 4096), "EIO")
        assert not image.same()


def test_server_hangs(vdi, tmp_path):
    """All threads that read are answered, and the end does not wait for it either."""
    with ImageControl(f"qemu-vdi:{vdi}") as image:
        (child,) = children(image.process)
        os.kill(child, signal.SIGSTOP)
        refused(lambda: image.copy(tmp_path / "copy"), "EIO")
        refused(lambda: image.read(0, 4096), "EIO")
    eventually(lambda: not is_running(child))


@pytest.mark.parametrize("subformat", ["monolithicFlat", "twoGbMaxExtentSparse"])
def test_vmdk_in_several_files(subformat, tmp_path):
    path = tmp_path / "disk.vmdk"
    run("qemu-img", "create", "-q", "-f", "vmdk", "-o", f"subformat={subformat}", path, "8M")
    name, text = refusal(f"qemu-vmdk:{path}")
    assert name == "EMEDIUMTYPE" and "in one file" in text and str(path) in text


@needs_root
def test_block_device(vdi):
    device = run("losetup", "--read-only", "--find", "--show", vdi).strip()
    try:
        name, text = refusal(f"qemu-vdi:{device}")
    finally:
        run("losetup", "--detach", device)
    assert name == "EMEDIUMTYPE" and "has to be a regular file" in text


def test_not_of_that_format(vdi):
    name, text = refusal(f"qemu-vhdx:{vdi}")
    assert name == "EMEDIUMTYPE" and str(vdi) in text and "qemu-nbd: " in text


def test_odd_names(vdi, content):
    odd = vdi.with_name("a,b=,,c d:e.vdi")
    vdi.rename(odd)
    with ImageControl(f"qemu-vdi:{odd}") as image:
        assert image.read(0, 4096) == content[:4096]


def test_not_installed(vdi, tmp_path):
    environment = {**os.environ, "PATH": str(tmp_path)}
    name, text = refusal(f"qemu-vdi:{vdi}", environment=environment)
    assert name == "ENOENT" and "qemu-utils" in text


def test_written_to_all_the_time(vdi, tmp_path):
    """And certainly while qemu-nbd starts, should the writer get no processor for a while."""
    over = threading.Event()
    script = tmp_path / "qemu-nbd"
    script.write_text(f'#!/bin/sh\ntouch "{vdi}"\nexec {shutil.which("qemu-nbd")} "$@"\n')
    script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def write():
        while not over.is_set():
            os.utime(vdi)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        name, text = refusal(f"qemu-vdi:{vdi}", environment=environment)
    finally:
        over.set()
        writer.join()
    assert name == "EBUSY" and "written to" in text


# ---- under a parser ----------------------------------------------------------------------


@pytest.fixture
def written():
    """Blocks of the disk below."""
    return []


@pytest.fixture
def datanode(tmp_path, written):
    """A blockctl of a VDI, which a parser can be shown only by who started qemu-nbd."""
    directory = DataDirectory(tmp_path / "data")
    written += [directory.add(n, 300_000) for n in range(1, 4)]
    disk = Disk(tmp_path, [directory], table="gpt")
    path = tmp_path / "disk.vdi"
    run(*CONVERT, "-f", "raw", "-O", "vdi", disk.path, path)
    with blockctl(dn1=DataDirs(f"qemu-vdi:{path}", ["/dfs/data"])) as blocks:
        blocks.path = path
        yield blocks


def parser_of(blocks):
    return blocks.status()[0]["parser"]


def is_restarted(blocks, times):
    parser = parser_of(blocks)
    return (parser["state"], parser["restarts"]) == ("running", times)


def assert_not_opened(blocks, block, *names):
    with pytest.raises(BlockError) as caught:
        blocks.open(block)
    assert caught.value.name in names


def test_opened_again_by_the_next_look(datanode, written):
    handle = datanode.open(written[0])
    (old,) = servers(datanode)
    assert handle.read_all() == written[0].content()
    os.utime(datanode.path)
    with pytest.raises(BlockError) as caught:
        handle.read(0, 1000)
    assert caught.value.exposed == 0
    datanode.look()
    assert datanode.open(written[0]).read_all() == written[0].content()
    eventually(lambda: not is_running(old))
    (new,) = [pid for pid in servers(datanode) if pid != old]
    assert is_running(new)


def test_server_dies_under_a_parser(datanode, written):
    """Nothing more is read, the parser is no worse for it, and the next look starts another."""
    parser = parser_of(datanode)
    (server,) = servers(datanode)
    os.kill(server, signal.SIGKILL)
    eventually(lambda: not is_running(server))
    for block in written:
        assert_not_opened(datanode, block, "EIO", "EAGAIN")
    assert parser_of(datanode)["pid"] == parser["pid"]
    assert is_restarted(datanode, 0)
    datanode.look()
    assert datanode.open(written[0]).read_all() == written[0].content()
    assert parser_of(datanode)["restarts"] == 0


def test_parser_dies_under_a_feed(datanode, written):
    """The next one is shown the same image by the same qemu-nbd, again and again."""
    (server,) = servers(datanode)
    handle = datanode.open(written[0])
    for times, block in enumerate(written, 1):
        datanode.clock.advance(STABLE)
        os.kill(parser_of(datanode)["pid"], signal.SIGKILL)
        eventually(partial(is_restarted, datanode, times))
        assert datanode.open(block).read_all() == block.content()
    assert handle.read_all() == written[0].content()
    assert servers(datanode) == [server]


@contextlib.contextmanager
def stopped_server(blocks, call):
    """A call that has come to need a server that was stopped."""

    def polling():
        tasks = Path(f"/proc/{blocks.process.pid}/task").iterdir()
        return sum("poll" in text_of(task / "wchan") for task in tasks)

    (server,) = servers(blocks)
    os.kill(server, signal.SIGSTOP)
    with ThreadPoolExecutor() as pool:
        called = pool.submit(call)
        eventually(lambda: polling() == 2, what="one who waits for a parser, one for a server")
        yield server, called


def test_slow_server_under_a_parser(datanode, written):
    """Waited for, by the parser and by who asks it."""
    with stopped_server(datanode, lambda: datanode.open(written[0]).read_all()) as (server, data):
        datanode.clock.advance(GIVEN_UP - 0.001)
        os.kill(server, signal.SIGCONT)
        assert data.result() == written[0].content()
    assert parser_of(datanode)["restarts"] == 0


def test_server_hangs_under_a_parser(datanode, written):
    def open_first():
        assert_not_opened(datanode, written[0], "EIO", "EAGAIN")

    with stopped_server(datanode, open_first) as (server, refused):
        datanode.clock.advance(GIVEN_UP)
        refused.result()
    for block in written[1:]:
        assert_not_opened(datanode, block, "EIO", "EAGAIN")
    eventually(lambda: not is_running(server))
    assert parser_of(datanode)["restarts"] == 0
    datanode.look()
    assert datanode.open(written[0]).read_all() == written[0].content()


@needs_root
def test_mounted(tmp_path):
    """What QEMU remembers of a journal is no journal."""
    with Owner(tmp_path) as owner:
        block = owner.write(1, b"some bytes" * 1000)
        owner.fsync(block)
        copy = owner.crash()
    path = tmp_path / "disk.vdi"
    run(*CONVERT, "-f", "raw", "-O", "vdi", copy, path)
    with blockctl(dn1=DataDirs(f"qemu-vdi:{path}", ["/data"])) as blocks:
        (status,) = blocks.status()
        assert "its image's format shows it as it was only" in str(status)
        with pytest.raises(BlockError):
            blocks.open(block)
