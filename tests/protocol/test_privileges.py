# SPDX-License-Identifier: GPL-2.0-or-later
"""A vreadd that root starts becomes the user of the key `user`, without any capability.  It goes on
to serve images that only root can read, also after a reload."""

import json
import os
import pwd
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.xenstored import Xenstored
from tests.support.clock import Clock
from tests.support.daemon import REPOSITORY, Image, binary, children, open_block
from tests.support.ivshmemfront import Driver, Qemu, Server
from tests.support.reloading import changed, reload
from tests.support.users import folder_of, needs_root
from tests.support.waiting import eventually

pytestmark = needs_root
USER = "nobody"
ACCOUNT = pwd.getpwnam(USER)


@pytest.fixture
def folder():
    with folder_of(ACCOUNT) as path:
        yield path


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    """An image that only root can read, in a folder that only root can search."""
    place = tmp_path_factory.mktemp("private")
    image = Image(place)
    image.data_dirs = ["/dfs/data"]
    image.path = Path(image.path)
    image.path.chmod(0o600)
    place.chmod(0o700)
    return image


@pytest.fixture
def start(start_daemon, folder, private):
    def start(**arguments):
        extra = f"[vreadd]\nuser = {USER}\n" + arguments.pop("extra", "")
        arguments = {"serving": private, "clock": Clock(folder / "clock")} | arguments
        return start_daemon(folder=folder, extra=extra, **arguments)

    return start


def rights(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return dict(line.split(":\t", 1) for line in text.splitlines())


def first_bytes(daemon, image, index=0):
    block = image.blocks[index]
    with daemon.front(pool_pages=512) as front:
        data = front.read(open_block(front, block), 0, 1)
    return data == image.contents[block.id][:1]


@pytest.mark.parametrize("variant", ["release", "asan"])
def test_it_has_no_right_left(start, private, variant):
    daemon = start(variant=variant)
    for task in Path(f"/proc/{daemon.process.pid}/task").iterdir():
        known = rights(task.name)
        assert set(known["Uid"].split()) == {str(ACCOUNT.pw_uid)}
        assert set(known["Gid"].split()) == {str(ACCOUNT.pw_gid)}
        for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            assert int(known[name], 16) == 0, name
        assert known["NoNewPrivs"] == "1"
    status = daemon.status()
    assert (status["user"], status["group"], status["opener"]) == (USER, ACCOUNT.pw_gid, True)
    assert first_bytes(daemon, private)
    assert not os.path.exists(daemon.folder / "core")


def test_its_children(start):
    """The opener has one capability, the others none; none is another user's."""
    daemon = start()
    found = children(daemon.process.pid)
    expected = {"vread-opener": 1 << 2, "vread-key-agent": 0, "vread-parser": 0}
    assert set(found) == set(expected)
    for name, kept in expected.items():
        known = rights(found[name])
        assert set(known["Uid"].split()) == {str(ACCOUNT.pw_uid)}
        assert int(known["CapEff"], 16) == int(known["CapPrm"], 16) == kept
        assert (known["NoNewPrivs"], known["Seccomp"]) == ("1", "2")


def cannot_look_into(pid):
    """True if a process of the user may not read the memory of another one of the same user."""
    user = [f"--reuid={ACCOUNT.pw_uid}", f"--regid={ACCOUNT.pw_gid}", "--clear-groups"]
    command = ["setpriv", *user, "cat", f"/proc/{pid}/maps"]
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout, "Permission denied" in done.stderr) == ("", True)


def test_its_own_user_cannot_look_into_memory(start):
    """vreadd's memory has guests' bytes, and the key agent's has block keys."""
    daemon = start(variant="release")
    assert cannot_look_into(daemon.process.pid)
    assert cannot_look_into(children(daemon.process.pid)["vread-key-agent"])


def test_vread_ivshmem_is_that_user_too(start, folder, private):
    own = f"[vreadd]\nuser = {USER}\n"
    keys = {"memory": "1M", "allow_datanodes": "dn1"}
    server = Server(folder, "g1", variant="release", extra=own, **keys)
    try:
        known = rights(server.process.pid)
        assert set(known["Uid"].split()) == {str(ACCOUNT.pw_uid)}
        assert set(known["Gid"].split()) == {str(ACCOUNT.pw_gid)}
        assert int(known["CapEff"], 16) == int(known["CapPrm"], 16) == 0
        assert known["NoNewPrivs"] == "1"
        assert cannot_look_into(server.process.pid)
        assert server.control.stat().st_uid == ACCOUNT.pw_uid
        start(extra=server.sections)
        with Qemu(server.sockets["g1"]) as qemu, Driver(qemu) as driver:
            driver.connect()
            block = private.blocks[1]
            data = driver.read(open_block(driver, block), 0, 100)
            assert data == private.contents[block.id][:100]
        assert server.stop() == 0
    finally:
        server.kill()


def test_reload(start, edit, private, tmp_path):
    """A datanode that comes by a reload, with an image that only root can read."""
    daemon = start()
    other = tmp_path / "other.img"
    shutil.copyfile(private.path, other)
    other.chmod(0o600)
    added = f"[datanode dn2]\nimage = {other}\ndata-dirs = /dfs/data\n[datanode dn1]"
    edit(daemon, "[datanode dn1]", added)
    changed(daemon, "[datanode dn2]: added")

    def opened():
        found = {d["datanode"]: d for d in daemon.status()["datanodes"]}["dn2"]
        return found["images"] and not found.get("missing")

    daemon.wait_until(opened)
    assert "Permission denied" not in daemon.log()
    edit(daemon, f"user = {USER}", "user = root")
    assert "[vreadd] user" in reload(daemon)["restart"]
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_until(lambda: daemon.log().count("is applied") >= 3)
    assert first_bytes(daemon, private)


def test_who_writes_an_image(start, folder, private, monkeypatch):
    """Whether another program writes the image past the page cache is found out by the opener, too:
    vreadd itself cannot search the folder of the image."""
    directory = "/local/domain/0/backend/qdisk/7/51712"
    with Xenstored(folder / "xenstored") as store:
        (folder / "xenstored").chmod(0o666)
        for node, value in (("params", f"aio:{private.path}"), ("mode", "w")):
            store.put(f"{directory}/{node}", value)
        store.put(f"{directory}/direct-io-safe", "1")
        monkeypatch.setenv("XENSTORED_PATH", str(folder / "xenstored"))
        daemon = start(xen="yes")
        (image,) = daemon.status()["datanodes"][0]["images"]
        assert (image["owner"], image["mode"]) == (7, "direct")
        assert first_bytes(daemon, private)
        assert daemon.stop() == 0


def test_a_datanode_of_keys(start, folder, private, tmp_path, monkeypatch):
    """A disk that only root can read: the opener finds in xenstore itself that keys name it."""
    disk, keys = "/local/domain/0/backend/vbd/7/51728", "/local/domain/0/backend/vread/7/0/datanode"
    other = tmp_path / "other.img"
    shutil.copyfile(private.path, other)
    other.chmod(0o600)
    with Xenstored(folder / "xenstored") as store:
        (folder / "xenstored").chmod(0o666)
        monkeypatch.setenv("XENSTORED_PATH", str(folder / "xenstored"))
        daemon = start(xen="yes")
        store.put("/local/domain/7", "")
        store.put(f"{disk}/dev", "xvdb")
        store.put(f"{disk}/params", str(other))
        for key, value in (("data-dirs", "/dfs/data"), ("disks", "xvdb"), ("name", "dn2")):
            store.put(f"{keys}/{key}", value)

        def opened():
            found = {d["datanode"]: d for d in daemon.status()["datanodes"]}.get("dn2", {})
            return found.get("images") and "format" in found["images"][0]

        daemon.wait_until(opened)
        assert store.value(f"{keys}/status") == "accepted: dn2"
        assert "Permission denied" not in daemon.log()
        assert daemon.stop() == 0


def test_state_and_sockets_are_the_users(start, private):
    daemon = start(local="mode = 0660\n")
    assert first_bytes(daemon, private)
    for path in (daemon.socket, daemon.control, daemon.record):
        eventually(path.exists, what=path)
        assert path.stat().st_uid == ACCOUNT.pw_uid, path


def test_a_killed_opener(start, private):
    """vreadd cannot start it again, so it ends: in order, and saying why."""
    daemon = start()
    sockets = (daemon.socket, daemon.control)
    os.kill(children(daemon.process.pid)["vread-opener"], signal.SIGKILL)
    assert daemon.process.wait(120) == 1
    assert "vread-opener has ended, and without it no image can be opened" in daemon.log()
    assert [path for path in sockets if path.exists()] == []
    daemon.killed = True
    again = start()
    assert first_bytes(again, private)


def test_it_stops_in_order(start, private):
    daemon = start()
    assert first_bytes(daemon, private)
    found = children(daemon.process.pid)
    assert daemon.stop() == 0
    assert [pid for pid in found.values() if Path(f"/proc/{pid}").exists()] == []


@pytest.mark.thorough
def test_the_opener_dies_with_it(start):
    daemon = start()
    found = children(daemon.process.pid)
    daemon.kill()
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in found.values()))


def ends(folder, text, *wrapper):
    """vreadd's exit status and log, with the text as its configuration."""
    config = folder / "vread.conf"
    config.write_text(f"[local]\nsocket = {folder}/local.sock\n[vreadd]\ncontrol-socket =\n{text}")
    command = [*wrapper, binary(), "-c", config]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.parametrize("user", ["no-such-user", "root"])
def test_a_wrong_user(folder, user):
    status, log = ends(folder, f"user = {user}\n")
    assert status == 1
    assert f"[vreadd] user: {user}: expected a user of this host other than root" in log


def test_no_right_to_change(folder):
    dropped = ["setpriv", "--bounding-set=-dac_read_search"]
    status, log = ends(folder, f"user = {USER}\n", *dropped)
    assert status == 1
    assert f"[vreadd] user: {USER}: cannot become this user" in log


def test_a_configuration_that_the_user_cannot_read(folder):
    text = f"user = {USER}\n"
    (folder / "vread.conf").touch(0o600)
    status, log = ends(folder, text)
    assert status == 1
    assert f"vread.conf: user {USER} cannot read it: Permission denied" in log


def test_root_without_the_key_stays_root(start_daemon, private):
    daemon = start_daemon(serving=private)
    assert daemon.status()["user"] == "root"
    assert daemon.status()["opener"] is False
    assert "warning: runs as root: set user in [vreadd]" in daemon.log()


def test_another_user_opens_images_itself(start_daemon, folder, image):
    """As tests and labs do: no root, no capability, so no opener, and `user` does not count."""
    own = folder / "dn.img"
    shutil.copyfile(image.path, own)
    os.chown(own, ACCOUNT.pw_uid, -1)
    served = type("Served", (), {"path": own, "data_dirs": ["/dfs/data"]})
    wrapper = ["setpriv", f"--reuid={USER}", "--clear-groups", f"--regid={ACCOUNT.pw_gid}"]
    daemon = start_daemon(
        folder=folder,
        serving=served,
        wrapper=wrapper,
        clock=Clock(folder / "clock"),
        extra="[vreadd]\nuser = daemon\n",
    )
    assert (daemon.status()["user"], daemon.status()["opener"]) == (USER, False)
    assert first_bytes(daemon, image)


def test_started_by_systemd_as_the_user(start_daemon, folder, private):
    """As vreadd.service starts it: a user, with the capability as an ambient one."""
    wrapper = ["setpriv", f"--reuid={USER}", "--clear-groups", f"--regid={ACCOUNT.pw_gid}"]
    wrapper += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", "--no-new-privs"]
    daemon = start_daemon(
        folder=folder, serving=private, wrapper=wrapper, clock=Clock(folder / "clock")
    )
    assert int(rights(daemon.process.pid)["CapEff"], 16) == 0
    assert daemon.status()["opener"] is True
    assert first_bytes(daemon, private)


def test_the_private_key_of_this_host(start, authority, folder):
    """Its file may belong to the group of the user, and must not be root's alone."""
    made = (*authority.certificate("a"), authority.ca)
    certificate, key, ca = (folder / path.name for path in made)
    for path in made:
        shutil.copyfile(path, folder / path.name)
    section = authority.host("a", files=(certificate, key), ca=ca)
    os.chown(key, 0, ACCOUNT.pw_gid)
    key.chmod(0o640)
    daemon = start(extra=section)
    assert daemon.stop() == 0
    key.chmod(0o600)
    command = [binary(), "-c", daemon.config]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"[peers] key: {key}: user {ACCOUNT.pw_uid} cannot read this private key" in done.stderr


def test_what_the_status_says(start):
    daemon = start()
    command = [REPOSITORY / "build/asan/xl-vread", "status", "--socket", daemon.control]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"\buser {USER}\b", told)
    assert json.loads(daemon.ask(b'{"command": "status"}\n'))["user"] == USER
    command = [REPOSITORY / "build/asan/xl-vread", "doctor", "--socket", daemon.control, "--json"]
    told = subprocess.run(command, capture_output=True, text=True).stdout
    (found,) = (f for f in json.loads(told)["findings"] if f["object"] == "user")
    assert (found["result"], found["found"]) == (
        "ok",
        f"vreadd is {USER} without capabilities; vread-opener opens images",
    )
