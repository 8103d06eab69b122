# SPDX-License-Identifier: GPL-2.0-or-later
"""Datanodes that a toolstack provisions by keys in xenstore, as docs/provisioning.md says.

vreadd runs natively, beside tests/cli/xenstored.py.  The tests write what a toolstack writes.  The
datanode dn1 is in vread.conf; the images a and b are for domains.
"""

import shutil
import subprocess

import pytest

from tests.cli.xenstored import Xenstored
from tests.support.daemon import REPOSITORY
from tests.support.hdfs_dir import POOL, DataDirectory
from tests.support.provisioning import SCRIPT, keys, provision
from tests.support.reloading import changed
from tests.support.waiting import eventually
from tools.images import make_datanode_image

XL_VREAD = REPOSITORY / "build/asan/xl-vread"
BLOCK, STAMP, LENGTH = 1073741825, 1001, 70_000
ABSENT = "dom0 serves no disk of that name yet"


class Disk:
    """An image with one block that repeats the image's name."""

    def __init__(self, folder, name, number):
        directory = DataDirectory(folder / name, storage=f"DS-{name}", datanode=name)
        self.storage = f"DS-{name}"
        self.block = directory.add(BLOCK + number, LENGTH)
        self.path = make_datanode_image([directory.path], folder / f"{name}.img", free_mib=24).path


@pytest.fixture(scope="module")
def disks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("disks")
    return {name: Disk(folder, name, i) for i, name in enumerate("ab", 1)}


class Toolstack:
    """Writes what toolstacks write, and reads what vreadd wrote."""

    def __init__(self, store):
        self.store = store

    def domain(self, domid):
        self.store.put(f"/local/domain/{domid}", "", ("n0", f"r{domid}"))

    def destroy(self, domid):
        self.store.remove(f"/local/domain/{domid}")
        self.store.remove(f"/local/domain/0/backend/qdisk/{domid}")
        with self.store.lock:
            self.store.changed(["@releaseDomain"])

    def disk(self, domid, name, path, kind="qdisk"):
        number = (202 << 8) + (ord(name[-1]) - ord("a") << 4)
        directory = f"/local/domain/0/backend/{kind}/{domid}/{number}"
        for node, value in {"dev": name, "mode": "w", "device-type": "disk"}.items():
            self.store.put(f"{directory}/{node}", value)
        self.store.put(f"{directory}/params", f"aio:{path}" if kind == "qdisk" else str(path))
        return directory

    def provision(self, domid, name="dn2", disks="xvdb", **others):
        """Writes the other keys, then runs the script of the contract."""
        for key, value in others.items():
            self.store.put(f"{keys(domid)}/{key}", value, ("n0",))
        subprocess.run(provision(domid, name, disks, "/dfs/data"), check=True)

    def write(self, domid, key, value):
        self.store.put(f"{keys(domid)}/{key}", value)

    def remove(self, domid):
        self.store.remove(keys(domid).removesuffix("/0/datanode"))

    def status(self, domid):
        return self.store.value(f"{keys(domid)}/status")

    def says(self, domid, status):
        eventually(lambda: self.status(domid) == status, what=lambda: (status, self.status(domid)))


@pytest.fixture
def toolstack(tmp_path_factory, monkeypatch):
    path = tmp_path_factory.mktemp("x") / "xenstored"
    with Xenstored(path) as store:
        monkeypatch.setenv("XENSTORED_PATH", str(path))
        store.put("/local/domain/0", "", ("n0",))
        told = Toolstack(store)
        told.domain(7)
        yield told


@pytest.fixture
def start(toolstack, start_daemon):
    """xenstored ends after the daemons."""
    return lambda **options: start_daemon(xen="yes", allow="*", **options)


def datanode(daemon, name="dn2"):
    return {d["datanode"]: d for d in daemon.status()["datanodes"]}.get(name)


def served_from(daemon, disk, name="dn2"):
    """Waits until the datanode serves the disk, and only it."""

    def found():
        entry = datanode(daemon, name)
        images = [image["image"] for image in entry["images"]] if entry else []
        return images == [f"raw:{disk.path}"] and entry["state"] == "served"

    daemon.wait_until(found)


def read(daemon, disk):
    with daemon.front(pool_pages=512) as front:
        response = front.open(disk.block.id, disk.block.genstamp, POOL, [disk.storage])
        assert response.status == 0
        return front.read(response.handle, 0, LENGTH)


def gone(daemon, name="dn2"):
    daemon.wait_until(lambda: datanode(daemon, name) is None)


def xl_vread(*words):
    done = subprocess.run([XL_VREAD, *words], capture_output=True, text=True)
    return done.returncode, done.stdout


# ---- the contract's script


def test_ten_lines_and_it_is_served(start, toolstack, disks):
    """The documented script has a disk served, a client reads a block of it, and every view says
    where the datanode comes from.  Then the script's directory is removed."""
    assert len(SCRIPT.splitlines()) <= 11
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    toolstack.says(7, "accepted: dn2")
    served_from(daemon, disks["a"])
    assert read(daemon, disks["a"]) == disks["a"].block.content()
    assert datanode(daemon)["file"] == keys(7)
    assert daemon.status()["keys"] == [
        {
            "path": keys(7),
            "domain": 7,
            "datanode": "dn2",
            "status": "accepted: dn2",
        }
    ]
    assert xl_vread("xenstore", "check") == (0, "1 device, 0 problems\n")
    code, told = xl_vread("status", "--socket", daemon.control)
    assert (code, f"configured in {keys(7)}" in told) == (0, True)
    toolstack.remove(7)
    gone(daemon)
    assert daemon.status()["keys"] == []


def test_no_other_domain_may_read_the_keys(start, toolstack, disks):
    start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    toolstack.says(7, "accepted: dn2")
    below = {
        path: node.perms for path, node in toolstack.store.nodes.items() if path.startswith(keys(7))
    }
    assert len(below) == 5 and set(below.values()) == {("n0",)}


def test_keys_that_were_there_before(start, toolstack, disks):
    """vreadd finds them when it starts, and serves them as soon as it is ready."""
    toolstack.disk(7, "xvdb", disks["a"].path, kind="vbd")
    toolstack.provision(7)
    daemon = start()
    assert toolstack.status(7) == "accepted: dn2"
    served_from(daemon, disks["a"])
    assert read(daemon, disks["a"]) == disks["a"].block.content()


# ---- changes


def test_a_reload_drops_no_datanode_of_keys(start, toolstack, disks, edit):
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    served_from(daemon, disks["a"])
    with daemon.front(pool_pages=512) as front:
        block = disks["a"].block
        opened = front.open(block.id, block.genstamp, POOL, [disks["a"].storage])
        assert opened.status == 0
        edit(daemon, "log-level = debug", "log-level = info")
        changed(daemon, "[vreadd]: log-level changed")
        assert front.read(opened.handle, 0, LENGTH) == block.content()
    assert toolstack.status(7) == "accepted: dn2"


def test_another_disk(start, toolstack, disks):
    """The keys change, then the disk behind a name does."""
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    second = toolstack.disk(7, "xvdc", disks["b"].path)
    toolstack.provision(7)
    served_from(daemon, disks["a"])
    toolstack.write(7, "disks", "xvdc")
    served_from(daemon, disks["b"])
    assert read(daemon, disks["b"]) == disks["b"].block.content()
    toolstack.store.put(f"{second}/params", f"aio:{disks['a'].path}")
    served_from(daemon, disks["a"])


def test_tokens_change_without_a_look(start, toolstack, disks):
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7, tokens="required")
    served_from(daemon, disks["a"])
    assert datanode(daemon)["tokens"]["mode"] == "required"
    toolstack.write(7, "tokens", "off")
    daemon.wait_until(lambda: datanode(daemon)["tokens"]["mode"] == "off")
    assert "[datanode dn2]: tokens changed" in daemon.log()
    assert "[datanode dn2]: changed" not in daemon.log()


def test_disks_that_come_one_by_one(start, toolstack, disks):
    daemon = start()
    toolstack.provision(7, disks="xvdb xvdc")
    toolstack.says(7, f"waiting: disk xvdb: {ABSENT}")
    assert datanode(daemon) is None
    toolstack.disk(7, "xvdc", disks["b"].path)
    toolstack.says(7, f"accepted: dn2; waiting: disk xvdb: {ABSENT}")
    served_from(daemon, disks["b"])
    code, told = xl_vread("status", "--socket", daemon.control)
    assert f"{keys(7)}: accepted: dn2; waiting: disk xvdb" in " ".join(told.split())
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.says(7, "accepted: dn2")
    daemon.wait_until(lambda: len(datanode(daemon)["images"]) == 2)


def test_an_unfinished_directory_is_left_alone(start, toolstack, disks):
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    served_from(daemon, disks["a"])
    toolstack.store.remove(f"{keys(7)}/name")
    gone(daemon)
    assert daemon.status()["keys"] == []
    toolstack.write(7, "name", "dn3")
    toolstack.says(7, "accepted: dn3")
    served_from(daemon, disks["a"], "dn3")


# ---- what is refused

REFUSED = {
    "name": [
        ("..", "expected a name of 1 to 63 letters, digits, '.', '_' and '-', the first no '.'"),
        ("dn1", "name: dn1 is in {config} already: each datanode needs its own"),
    ],
    "data-dirs": [
        ("dfs", "data-dirs: dfs: expected paths inside the image that start with /"),
        ("", "data-dirs is missing"),
    ],
    "disks": [("", "disks is missing")],
    "backing-folders": [("bases", "backing-folders: bases: expected ")],
    "image-mode": [("odd", "image-mode: odd: expected auto, buffered or direct")],
    "tokens": [("yes", "tokens: yes: expected auto, required or off")],
    "storages": [("DS-a DS-a", "storages: DS-a DS-a: expected each storage once")],
    "storage": [("DS-a", "storage: no key has this name")],
}


@pytest.mark.parametrize("key", REFUSED)
def test_a_wrong_value(start, toolstack, disks, key):
    """Nothing is served, the status says why, doctor and xenstore check do, too; a right value
    helps at once."""
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    served_from(daemon, disks["a"])
    path = f"{keys(7)}/{key}"
    before = toolstack.store.value(path)
    for value, said in REFUSED[key]:
        toolstack.write(7, key, value)
        said = "refused: " + said.format(config=daemon.config)
        eventually(
            lambda said=said: (toolstack.status(7) or "").startswith(said),
            what=lambda said=said: (said, toolstack.status(7)),
        )
        gone(daemon)
    _, told = xl_vread("status", "--socket", daemon.control)
    assert said.split()[-1] in told
    _, told = xl_vread("doctor", "--socket", daemon.control)
    assert f"{keys(7)}: refused:" in " ".join(told.split())
    if before is None:
        toolstack.store.remove(path)
    else:
        toolstack.write(7, key, before)
    toolstack.says(7, "accepted: dn2")
    served_from(daemon, disks["a"])


def test_a_disk_that_is_no_file(start, toolstack, disks):
    daemon = start()
    directory = toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.store.put(f"{directory}/params", "qed:/etc/shadow")
    toolstack.provision(7)
    toolstack.says(
        7,
        "refused: disks: xvdb: 'qed:/etc/shadow': vreadd does not read disks of this format",
    )
    assert datanode(daemon) is None


@pytest.mark.parametrize(
    "perms", [("n0", "r7"), ("n0", "w7"), ("r0",), ("n7",), ("n7", "r0")], ids=" ".join
)
@pytest.mark.parametrize("node", ["", "/disks"])
def test_keys_that_a_guest_could_touch(start, toolstack, disks, perms, node):
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    served_from(daemon, disks["a"])
    path = keys(7) + node
    toolstack.store.put(path, toolstack.store.value(path), perms)
    gone(daemon)
    assert "another domain may read or write" in toolstack.status(7)
    assert f"{path}: has permissions " in xl_vread("xenstore", "check")[1]
    toolstack.store.put(path, toolstack.store.value(path), ("n0",))
    toolstack.says(7, "accepted: dn2")


def test_the_disks_of_another_domain(start, toolstack, disks):
    """A name means a disk of the keys' own domain."""
    toolstack.domain(8)
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(8)
    toolstack.says(8, f"waiting: disk xvdb: {ABSENT}")
    assert datanode(daemon) is None


def test_keys_can_be_turned_off(start, toolstack, disks):
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    daemon = start(extra="[xen]\ndatanode-keys = no\n")
    assert (datanode(daemon), daemon.status()["keys"]) == (None, [])
    assert toolstack.status(7) is None


# ---- names


def test_vread_conf_counts_first(start, toolstack, disks, edit):
    """Also for a name that keys had; without the section they have it again."""
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    served_from(daemon, disks["a"])
    section = f"[datanode dn2]\nimage = raw:{disks['b'].path}\ndata-dirs = /dfs/data\n"
    edit(daemon, "[datanode dn1]", section + "[datanode dn1]")
    changed(daemon, "[datanode dn2]: changed")
    toolstack.says(
        7, f"refused: name: dn2 is in {daemon.config} already: each datanode needs its own"
    )
    served_from(daemon, disks["b"])
    edit(daemon, section, "")
    changed(daemon, "[datanode dn2]: changed")
    toolstack.says(7, "accepted: dn2")
    served_from(daemon, disks["a"])


def test_keys_in_place_of_a_section(start, toolstack, disks, edit, tmp_path):
    """A toolstack writes keys for a datanode that vread.conf has, then the operator removes the
    section.  Blocks that are open are read on, and the storages are kept from then on while the
    domain is away, as those of any keys."""
    section = f"[datanode dn2]\nimage = raw:{disks['a'].path}\ndata-dirs = /dfs/data\n"
    daemon = start()
    edit(daemon, "[datanode dn1]", section + "[datanode dn1]")
    changed(daemon, "[datanode dn2]: added")
    served_from(daemon, disks["a"])
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    eventually(lambda: (toolstack.status(7) or "").startswith("refused: name: dn2 is in "))
    block = disks["a"].block
    with daemon.front(pool_pages=512) as front:
        opened = front.open(block.id, block.genstamp, POOL, [disks["a"].storage])
        assert opened.status == 0
        edit(daemon, section, "")
        changed(daemon)
        toolstack.says(7, "accepted: dn2")
        assert front.read(opened.handle, 0, LENGTH) == block.content()
    assert "[datanode dn2]: removed" not in daemon.log()
    daemon.wait_until(lambda: f"{disks['a'].storage} dn2*" in daemon.record.read_text())
    toolstack.destroy(7)
    gone(daemon)
    copy = tmp_path / "copy.img"
    shutil.copyfile(disks["a"].path, copy)
    toolstack.domain(8)
    toolstack.disk(8, "xvdb", copy)
    toolstack.provision(8, name="thief")

    def refused():
        entry = datanode(daemon, "thief")
        return entry and [s["because"] for s in entry.get("refused-storages", ())] == ["recorded"]

    daemon.wait_until(refused)


def test_two_domains_with_one_name(start, toolstack, disks):
    """The first one stays, also over a restart, and although its domid is the higher one; when it
    is gone, the second follows."""
    toolstack.domain(6)
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    toolstack.says(7, "accepted: dn2")
    toolstack.disk(6, "xvdb", disks["b"].path)
    toolstack.provision(6)
    refused = f"refused: name: dn2 is in {keys(7)} already: each datanode needs its own"
    toolstack.says(6, refused)
    served_from(daemon, disks["a"])
    assert daemon.stop() == 0
    daemon = start()
    assert (toolstack.status(7), toolstack.status(6)) == ("accepted: dn2", refused)
    served_from(daemon, disks["a"])
    toolstack.remove(7)
    toolstack.says(6, "accepted: dn2")
    served_from(daemon, disks["b"])
    assert read(daemon, disks["b"]) == disks["b"].block.content()


def test_a_changed_name_takes_nothing(start, toolstack, disks):
    """Keys that were accepted do not keep their place when they take the name of others."""
    toolstack.domain(6)
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    toolstack.says(7, "accepted: dn2")
    toolstack.disk(6, "xvdb", disks["b"].path)
    toolstack.provision(6, name="dn3")
    toolstack.says(6, "accepted: dn3")
    toolstack.write(6, "name", "dn2")
    eventually(lambda: toolstack.status(6).startswith("refused: name: dn2 is in "))
    served_from(daemon, disks["a"])


def test_a_pin_of_another(start, toolstack, disks, edit):
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7, storages="DS-a")
    toolstack.says(7, "accepted: dn2")
    edit(daemon, "[datanode dn1]", "[datanode dn1]\nstorages = DS-1 DS-a")
    changed(daemon, "[datanode dn2]: removed", "[datanode dn1]: storages changed")
    toolstack.says(7, "refused: storages: DS-a is pinned to datanode dn1 already")


# ---- domains end


def test_a_domain_that_reboots(start, toolstack, disks):
    """The new domain's keys are followed.  vreadd removes those of the old one, so that another
    domain with its domid finds nothing there."""
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    served_from(daemon, disks["a"])
    toolstack.destroy(7)
    gone(daemon)
    eventually(lambda: not [p for p in toolstack.store.nodes if "/backend/vread/7" in p])
    toolstack.domain(8)
    toolstack.disk(8, "xvdb", disks["a"].path)
    toolstack.provision(8)
    toolstack.says(8, "accepted: dn2")
    served_from(daemon, disks["a"])
    assert read(daemon, disks["a"]) == disks["a"].block.content()


def test_a_new_domain_before_the_old_one_is_gone(start, toolstack, disks):
    """A datanode whose disk stays the same is read on, also through open blocks."""
    daemon = start()
    toolstack.domain(8)
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    served_from(daemon, disks["a"])
    toolstack.disk(8, "xvdb", disks["a"].path)
    toolstack.provision(8)
    eventually(lambda: (toolstack.status(8) or "").startswith("refused: name: dn2 is in "))
    block = disks["a"].block
    with daemon.front(pool_pages=512) as front:
        opened = front.open(block.id, block.genstamp, POOL, [disks["a"].storage])
        toolstack.destroy(7)
        toolstack.says(8, "accepted: dn2")
        daemon.wait_until(lambda: datanode(daemon)["file"] == keys(8))
        assert front.read(opened.handle, 0, LENGTH) == block.content()
    assert "[datanode dn2]: removed" not in daemon.log()


def test_keys_without_a_device(start, toolstack, disks):
    """A device that was never made, or only half, leaves nothing either."""
    daemon = start()
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    served_from(daemon, disks["a"])
    for path in toolstack.store.nodes:
        if path.startswith("/local/domain/0/backend/vread/7/0/") and "datanode" not in path:
            toolstack.store.remove(path)
    toolstack.write(7, "tokens", "off")
    daemon.wait_until(lambda: datanode(daemon)["tokens"]["mode"] == "off")
    toolstack.destroy(7)
    gone(daemon)
    eventually(lambda: not [p for p in toolstack.store.nodes if "/backend/vread/7" in p])


def test_what_a_domain_left_while_vreadd_did_not_run(start, toolstack, disks):
    toolstack.disk(7, "xvdb", disks["a"].path)
    toolstack.provision(7)
    toolstack.store.remove("/local/domain/7")
    daemon = start()
    assert datanode(daemon) is None
    eventually(lambda: not [p for p in toolstack.store.nodes if "/backend/vread/7" in p])


def leave_a_copy(daemon, toolstack, disk, folder):
    """Domain 7's datanode gets its storage, and the domain goes away.  Domain 8 has a copy of the
    disk."""
    copy = folder / "copy.img"
    shutil.copyfile(disk.path, copy)
    toolstack.domain(8)
    toolstack.disk(8, "xvdb", copy)
    toolstack.disk(7, "xvdb", disk.path)
    toolstack.provision(7)
    served_from(daemon, disk)
    daemon.wait_until(lambda: f"{disk.storage} dn2*" in daemon.record.read_text())
    toolstack.destroy(7)
    gone(daemon)


def test_a_storage_stays_while_its_domain_is_away(start, toolstack, disks, tmp_path):
    """Domain 8 shows the storage of domain 7's datanode.  It must not get the storage while domain
    7 reboots, nor over a restart of vreadd meanwhile; the owner has it again, and the operator may
    give it away."""
    daemon = start()
    leave_a_copy(daemon, toolstack, disks["a"], tmp_path)

    def refused():
        entry = datanode(daemon, "thief")
        return entry and [s["because"] for s in entry.get("refused-storages", ())] == ["recorded"]

    toolstack.provision(8, name="thief")
    daemon.wait_until(refused)
    assert daemon.stop() == 0
    daemon = start(folder=daemon.folder)
    daemon.wait_until(refused)
    toolstack.domain(9)
    toolstack.disk(9, "xvdb", disks["a"].path)
    toolstack.provision(9)
    served_from(daemon, disks["a"])
    assert read(daemon, disks["a"]) == disks["a"].block.content()
    assert refused()
    toolstack.destroy(9)
    gone(daemon)
    assert refused()
    given = xl_vread("datanode", "give", disks["a"].storage, "thief", "--socket", daemon.control)
    assert given[0] == 0
    daemon.wait_until(lambda: not datanode(daemon, "thief").get("refused-storages"))


def test_a_domain_that_has_left_the_host(start, toolstack, disks, tmp_path):
    """xl-vread migrate says that the domain does not come back.  Its storage gives way then."""
    daemon = start()
    leave_a_copy(daemon, toolstack, disks["a"], tmp_path)
    assert daemon.ask(b'{"command": "leave", "datanode": "dn2"}\n') == b"{}\n"
    toolstack.provision(8, name="dn3")
    daemon.wait_until(lambda: datanode(daemon, "dn3") and datanode(daemon, "dn3")["filesystems"])
    assert read(daemon, disks["a"]) == disks["a"].block.content()
    assert b'expected a string \\"datanode' in daemon.ask(b'{"command": "leave"}\n')
