# SPDX-License-Identifier: GPL-2.0-or-later
"""Reload of the configuration under readers: what is applied, refused, and noticed by readers."""

import errno
import json
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.daemon import REPOSITORY, STORAGE, Image, open_block
from tests.support.hdfs_dir import POOL
from tests.support.localfront import APPEND
from tests.support.reloading import PIECE, Reader, changed, reload

XL_VREAD = REPOSITORY / "build" / "asan" / "xl-vread"


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """The image of another datanode: the same blocks with other bytes."""
    return Image(tmp_path_factory.mktemp("other"))


def section(name, image, data_dirs="/dfs/data"):
    return f"[datanode {name}]\nimage = {image.path}\ndata-dirs = {data_dirs}\n"


def datanode(daemon, name):
    return {d["datanode"]: d for d in daemon.status()["datanodes"]}.get(name)


def wait_served(daemon, name):
    daemon.wait_until(lambda: (datanode(daemon, name) or {}).get("filesystems"), 60)


def test_without_datanodes_nothing_is_refused(start_daemon, edit, image):
    daemon = start_daemon()
    block = image.blocks[0]
    edit(daemon, daemon.config.read_text().partition("[datanode dn1]")[2], "", "[datanode dn1]", "")
    changed(daemon, "[datanode dn1]: removed")
    with daemon.front() as front:
        assert front.open(block.id, block.genstamp, POOL, [STORAGE]).status == -errno.ENODEV


def test_readers_of_what_stays_notice_nothing(start_daemon, edit, image, other):
    daemon = start_daemon()
    with daemon.front(pool_pages=1100) as front:
        reader = Reader(front, image)
        device = daemon.status()["devices"][0]["name"]
        assert reader.has_gone_on(daemon)
        edit(daemon, "[datanode dn1]", section("dn2", other) + "[datanode dn1]")
        changed(daemon, "[datanode dn2]: added")
        wait_served(daemon, "dn2")
        edit(daemon, str(other.path), str(image.path))
        changed(daemon, "[datanode dn2]: changed")
        wait_served(daemon, "dn2")
        edit(daemon, section("dn2", image), "", "allow-datanodes = dn1", "allow-datanodes = dn1 x")
        changed(daemon, "[datanode dn2]: removed", "[local]: lists changed")
        assert datanode(daemon, "dn2") is None
        edit(daemon, "log-level = debug", "log-level = info\nread-ahead = 1M")
        changed(daemon, "[vreadd]: log-level changed", "[vreadd]: read-ahead changed")
        assert reader.has_gone_on(daemon)
        assert reader.stop() is None
        (now,) = daemon.status()["devices"]
    assert (now["name"], now["state"]) == (device, "Connected")
    assert now["counters"]["opens"] == 1
    assert now["counters"]["errors"] == {}


def test_a_datanode_with_a_file_of_its_own(start_daemon, edit, image, other, tmp_path):
    """A datanode's file comes and goes while another is read; an error in it changes nothing."""
    daemon = start_daemon()
    own = tmp_path / "datanodes" / "dn2.conf"
    with daemon.front(pool_pages=1100) as front:
        reader = Reader(front, image)
        edit(daemon, "log-level = debug", f"log-level = debug\ndatanode-files = {own.parent}")
        changed(daemon)
        own.parent.mkdir()
        own.write_text(section("dn2", other))
        changed(daemon, "[datanode dn2]: added")
        wait_served(daemon, "dn2")
        assert datanode(daemon, "dn1")["file"] == str(daemon.config)
        assert datanode(daemon, "dn2")["file"] == str(own)
        own.write_text(section("dn1", other))
        told = reload(daemon)
        assert told["result"] == "refused"
        assert [problem["file"] for problem in told["problems"]] == [str(own)]
        assert datanode(daemon, "dn2")["state"] == "served"
        own.unlink()
        changed(daemon, "[datanode dn2]: removed")
        assert reader.has_gone_on(daemon)
        assert reader.stop() is None


def test_readers_of_what_is_removed_fall_back(start_daemon, edit, image):
    daemon = start_daemon(local="max-connections = 3\n")
    text = f"[datanode dn1]\nimage = {image.path}\nlayout = {image.layout}\n"
    with daemon.front(pool_pages=1100) as front:
        reader = Reader(front, image)
        assert reader.has_gone_on(daemon)
        edit(daemon, text, "")
        changed(daemon, "[datanode dn1]: removed")
        reader.join(60)
        assert reader.error == -errno.EAGAIN
        block = image.blocks[0]
        assert front.open(block.id, block.genstamp, POOL, [STORAGE]).status < 0
        edit(daemon, "[local]", text + "[local]")
        changed(daemon, "[datanode dn1]: added")
        wait_served(daemon, "dn1")
        assert front.read(open_block(front, block), 0, 100) == image.contents[block.id][:100]
        assert len(daemon.status()["devices"]) == 1


def test_lists_count_for_what_is_open(start_daemon, edit, image):
    """Rights are checked for each read, also for blocks that are already open."""
    daemon = start_daemon()
    block = image.blocks[0]
    with daemon.front(pool_pages=1100) as front:
        handle = open_block(front, block)
        assert front.read(handle, 0, 100) == image.contents[block.id][:100]
        edit(daemon, "allow-datanodes = dn1", "allow-datanodes = x")
        changed(daemon, "[local]: lists changed")
        assert front.read_response(handle, 0, 100).status == -errno.EAGAIN
        refused = front.open(block.id, block.genstamp, POOL, [STORAGE])
        assert refused.status == -errno.EACCES
        edit(daemon, "allow-datanodes = x", "allow-datanodes = dn1")
        changed(daemon, "[local]: lists changed")
        assert front.read(handle, 0, 100) == image.contents[block.id][:100]


def test_a_datanode_moves_to_another_image(start_daemon, edit, image, other):
    """Open blocks of the datanode get EAGAIN; blocks opened later are read from the new image."""
    daemon = start_daemon()
    block = image.blocks[0]
    with daemon.front(pool_pages=1100) as front:
        before = open_block(front, block)
        edit(
            daemon, f"{image.path}\nlayout = {image.layout}", f"{other.path}\ndata-dirs = /dfs/data"
        )
        changed(daemon, "[datanode dn1]: changed")
        wait_served(daemon, "dn1")
        assert front.read_response(before, 0, 100).status == -errno.EAGAIN
        handle = open_block(front, block)
        assert front.read(handle, 0, PIECE) == other.contents[block.id][:PIECE]
        edit(daemon, "[datanode dn1]", "[datanode dn1]\nimage-mode = buffered\ntokens = required")
        changed(daemon, "[datanode dn1]: tokens changed", "[datanode dn1]: image-mode changed")
        refused = front.open(block.id, block.genstamp, POOL, [STORAGE])
        assert refused.status == -errno.EPERM


def test_what_was_published_outlives_a_change(start_daemon, edit, image):
    daemon = start_daemon(local="publish-datanodes = dn1\n")
    block = image.blocks[0]
    with daemon.front() as front:
        assert front.publish(APPEND, block.id, block.genstamp, POOL, STORAGE) == 0
        edit(daemon, f"layout = {image.layout}", "data-dirs = /dfs/data")
        changed(daemon, "[datanode dn1]: changed")
        wait_served(daemon, "dn1")
        response = front.open(block.id, block.genstamp, POOL, [STORAGE])
        assert response.status == -errno.ENOENT
        assert datanode(daemon, "dn1")["published"]["append"] == 1


def test_limits_count_for_new_connections(start_daemon, edit):
    daemon = start_daemon()
    with daemon.front(), daemon.front():
        edit(daemon, "[local]", "[local]\nmax-connections = 1")
        changed(daemon, "[local]: limits changed")
        assert len(daemon.status()["devices"]) == 2
        assert daemon.status()["ports"]["local"]["max_connections"] == 1


def test_a_wrong_configuration_changes_nothing(start_daemon, edit, image):
    daemon = start_daemon()
    assert daemon.status()["reload"] is None
    with daemon.front(pool_pages=1100) as front:
        reader = Reader(front, image)
        edit(daemon, "[xen]", "[xne]", "log-level = debug", "log-level = loud")
        edit(daemon, "[datanode dn1]", "[datanode dn9]")
        answer = reload(daemon)
        assert answer["result"] == "refused"
        assert [(p["line"], p["section"]) for p in answer["problems"]] == [
            (3, "vreadd"),
            (6, "xne"),
        ]
        assert reader.has_gone_on(daemon)
        assert reader.stop() is None
    assert datanode(daemon, "dn1") and not datanode(daemon, "dn9")
    log = daemon.log()
    assert f"reload: {daemon.config}:3: [vreadd] log-level: loud: expected error, warn" in log
    assert "reload: refused, nothing was changed" in log
    told = daemon.status()["reload"]
    assert told.pop("seconds_ago") >= 0
    assert told == answer
    daemon.config.unlink()
    (problem,) = reload(daemon)["problems"]
    assert "No such file or directory" in problem["problem"]


def test_what_needs_a_restart_is_told_each_time(start_daemon, edit, authority):
    daemon = start_daemon()
    edit(daemon, "[xen]\nenabled = no", "[xen]\nenabled = auto", str(daemon.socket), "/tmp/other")
    peers = authority.host("b", listen="127.0.0.1:7867") + "[peer a]\nallow-datanodes = dn1\n"
    edit(daemon, "[local]", peers + "[local]")
    needed = ["[xen] enabled", "[local] socket", "[peers] listen", "[peers] name"]
    needed += ["[peers] certificate", "[peers] key", "[peers] ca", "[peer a]: added"]
    for _ in range(2):
        changed(daemon, restart=needed)
    with daemon.front() as front:
        assert front.stat(1).status == -errno.EBADF


def test_by_signal_and_systemd_is_told(start_daemon, edit, tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(tmp_path / "notify"))
        notified.settimeout(60)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        daemon = start_daemon(
            extra="[datanode gone]\nimage = /nonexistent\nlayout = /nonexistent\n"
        )
        assert notified.recv(1000) == b"READY=1\nSTATUS=2 datanodes are configured"
        for text, result in (("log-level = warn", "applied"), ("log-level = loud", "refused")):
            edit(daemon, "log-level = ", f"{text}\n#")
            daemon.process.send_signal(signal.SIGHUP)
            assert notified.recv(1000).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
            assert notified.recv(1000) == b"READY=1\nSTATUS=2 datanodes are configured"
            assert daemon.status()["reload"]["result"] == result
        assert datanode(daemon, "gone")["state"] == "waiting"


def test_the_command(start_daemon, edit):
    daemon = start_daemon()

    def run(*words):
        done = subprocess.run(
            [XL_VREAD, "reload", "--socket", daemon.control, *words],
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stdout, done.stderr

    assert run() == (0, "nothing to change\n", "")
    edit(daemon, "log-level = debug", "log-level = info\nivshmem-socket = /run/other")
    told = "[vreadd]: log-level changed\nneeds a restart: [vreadd] ivshmem-socket\n"
    partly = "xl-vread reload: a part of the configuration is not in use: see the lines that begin "
    partly += 'with "failed" or "needs a restart"\n'
    assert run() == (4, told, partly)
    code, out, error = run("--json")
    assert (code, error) == (4, "")
    assert json.loads(out)["restart"] == ["[vreadd] ivshmem-socket"]
    edit(daemon, "log-level = info", "log-level = loud")
    code, out, error = run()
    assert code == 1
    assert out == (
        f"{daemon.config}:3: error: [vreadd] log-level: loud: expected error, warn, info or debug\n"
    )
    assert (
        error == "xl-vread reload: refused: vreadd keeps its old configuration; "
        "see `xl-vread config check`\n"
    )
    code, out, _ = run("--json")
    assert (code, json.loads(out)["result"]) == (1, "refused")
    done = subprocess.run(
        [XL_VREAD, "status", "--socket", daemon.control], capture_output=True, text=True, timeout=60
    )
    assert "s ago: refused\n    line 3: log-level: expected error, warn" in done.stdout
    daemon.stop()
    code, out, error = run()
    assert (code, out) == (3, "")
    assert "is vreadd running" in error


def test_folder_of_backing_files_that_is_taken_away(start_daemon, edit, image, tmp_path):
    """The image names a file of another folder.  It is served as long as the folder is allowed."""
    overlay = tmp_path / "overlays" / "dn1.qcow2"
    overlay.parent.mkdir()
    command = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", image.path, overlay]
    subprocess.run(command, check=True)
    daemon = start_daemon(extra=f"backing-folders = {Path(image.path).parent}\n")
    edit(daemon, f"image = {image.path}\nlayout", f"image = qcow2:{overlay}\nlayout")
    edit(daemon, f"layout = {image.layout}", "data-dirs = /dfs/data")
    changed(daemon, "[datanode dn1]: changed")
    wait_served(daemon, "dn1")
    with daemon.front(pool_pages=1100) as front:
        reader = Reader(front, image)
        assert reader.has_gone_on(daemon)
        edit(daemon, "backing-folders", "#backing-folders")
        changed(daemon, "[datanode dn1]: changed")
        reader.join(120)
        assert reader.stop() in (-errno.EAGAIN, -errno.ENOENT, -errno.ENODEV)
    daemon.wait_until(lambda: "outside" in (datanode(daemon, "dn1").get("missing") or ""), 60)
    now = datanode(daemon, "dn1")
    assert f"image {overlay} names {image.path} as its backing file" in now["missing"]
    assert f"allowed folders ({overlay.parent})" in now["missing"]
    assert now["state"] == "waiting" and not now.get("filesystems")
    edit(daemon, "#backing-folders", "backing-folders")
    changed(daemon, "[datanode dn1]: changed")
    wait_served(daemon, "dn1")
