# SPDX-License-Identifier: GPL-2.0-or-later
"""Whose a storage is: a guest writes any storage id into its image, and its bytes are never served
as those of another datanode.

`honest` and `thief` are images with the same storage, block and stamp, and with other bytes.
"""

import errno
import json
import os
import subprocess
from types import SimpleNamespace

import pytest

from tests.support.block_token import Key, make_token
from tests.support.daemon import REPOSITORY, STORAGE
from tests.support.hanging_disk import HangingDisk
from tests.support.hdfs_dir import POOL, DataDirectory, meta_bytes
from tests.support.localfront import DELETE
from tests.support.peers import read_all
from tests.support.reloading import changed, reload
from tools.images import make_datanode_image
from tools.peers import peer

BLOCK, STAMP, LENGTH = 1073741825, 1001, 70_000
XL_VREAD = REPOSITORY / "build" / "asan" / "xl-vread"


class Shown:
    """The image of a datanode, with one block that repeats the image's name."""

    data_dirs = ("/dfs/data",)

    def __init__(self, folder, name, storage=STORAGE, block=BLOCK, meta=None, **options):
        directory = DataDirectory(folder / name, storage=storage, datanode=name, **options)
        block = directory.add(block, LENGTH)
        self.content = (name.encode() * LENGTH)[:LENGTH]
        block.data.write_bytes(self.content)
        block.meta.write_bytes(meta_bytes(self.content) if meta is None else meta)
        self.path = make_datanode_image([directory.path], folder / f"{name}.img", free_mib=24).path

    def section(self, name, storages=""):
        pins = f"storages = {storages}\n" if storages else ""
        return f"[datanode {name}]\nimage = {self.path}\ndata-dirs = /dfs/data\n{pins}"


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return Shown(tmp_path_factory.mktemp("honest"), "honest")


@pytest.fixture(scope="module")
def thief(tmp_path_factory):
    return Shown(tmp_path_factory.mktemp("thief"), "thief")


@pytest.fixture
def folder(tmp_path_factory):
    """Of the daemon, also of one that is started in the place of another."""
    return tmp_path_factory.mktemp("d")


@pytest.fixture
def record(folder):
    return folder / "storages"


@pytest.fixture
def start(start_daemon, folder):
    """start(dn1, sections): a vreadd that serves the image dn1 as dn1, and the sections."""

    def begin(dn1, sections="", pins="", **options):
        pins = f"storages = {pins}\n" if pins else ""
        extra = pins + sections
        return start_daemon(folder, serving=dn1, extra=extra, allow="*", **options)

    return begin


def datanode(daemon, name):
    return {d["datanode"]: d for d in daemon.status()["datanodes"]}[name]


def refused(daemon, name):
    return [s["because"] for s in datanode(daemon, name).get("refused-storages", [])]


def shows(daemon, name):
    found = datanode(daemon, name).get("filesystems", [])
    return [d["storage-id"] for system in found for d in system["data-dirs"]]


def read(daemon, storages=(STORAGE,), token=b""):
    """The bytes of the block, or the error of its OPEN."""
    with daemon.front() as front:
        response = front.open(BLOCK, STAMP, POOL, storages, token)
        if response.status:
            return errno.errorcode[-response.status]
        return front.read(response.handle, 0, LENGTH)


def add(daemon, section):
    with open(daemon.config, "a") as config:
        config.write(section)


def xl_vread(daemon, *arguments):
    command, *others = arguments
    return subprocess.run(
        [XL_VREAD, command, "--socket", daemon.control, *others], capture_output=True, text=True
    )


# ---- the record ------------------------------------------------------------------------------


def test_a_newcomer_gets_nothing_of_another(start, honest, thief, record):
    daemon = start(honest)
    add(daemon, thief.section("dn2"))
    changed(daemon, "[datanode dn2]: added")
    daemon.wait_until(lambda: refused(daemon, "dn2"))
    (told,) = datanode(daemon, "dn2")["refused-storages"]
    assert (told["storage-id"], told["because"], told["owner"]) == (STORAGE, "recorded", "dn1")
    assert told["problem"] == "datanode dn1 showed it first"
    assert f"run xl-vread datanode give {STORAGE} dn2" in told["remedy"]
    assert (
        f"error: datanode dn2: storage {STORAGE} in /dfs/data is not served: {told['problem']}; "
        f"{told['remedy']}\n"
    ) in daemon.log()
    shown = xl_vread(daemon, "status").stdout
    assert f"storage {STORAGE} in /dfs/data is not served: datanode dn1 showed it first" in shown
    doctor = xl_vread(daemon, "doctor", "--json", "--config", daemon.config)
    (found,) = [f for f in json.loads(doctor.stdout)["findings"] if f["check"] == "storages"]
    assert (found["result"], found["object"]) == ("failed", "dn2")
    assert (found["found"], found["remedy"]) == (
        f"storage {STORAGE} is not served: {told['problem']}",
        told["remedy"],
    )
    assert (shows(daemon, "dn1"), shows(daemon, "dn2")) == ([STORAGE], [])
    assert read(daemon) == honest.content
    assert record.read_text() == f"vread-storages 1 1\n{STORAGE} dn1\n"


def test_the_record_outlives_a_restart(start, honest, thief, record, tmp_path):
    """The thief has become the first in the configuration, and takes nothing."""
    other = Shown(tmp_path, "other", storage="DS-7")
    daemon = start(other, honest.section("dn2"))
    assert "DS-7 dn1\n" in record.read_text()
    assert daemon.stop() == 0
    daemon = start(thief, honest.section("dn2"))
    assert refused(daemon, "dn1") == ["recorded"]
    assert read(daemon) == honest.content


def await_contest(daemon):
    daemon.wait_until(lambda: refused(daemon, "dn1") == refused(daemon, "dn2") == ["contested"])


def test_nobody_knows_who_was_first(start, honest, thief, record):
    """Two datanodes show a storage when vreadd starts for the first time: it serves neither, also
    after a restart, until the operator has said whose it is."""
    for _ in range(2):
        daemon = start(thief, honest.section("dn2"))
        await_contest(daemon)
        assert read(daemon) == "ENODEV"
        assert record.read_text().startswith(f"vread-storages 1 1\n{STORAGE} ")
        assert sorted(record.read_text().split()[-2:]) == ["dn1", "dn2"]
        assert "dn1 shows it too" in daemon.log() and "dn2 shows it too" in daemon.log()
        assert daemon.stop() == 0
    daemon = start(thief, honest.section("dn2"))
    assert xl_vread(daemon, "datanode", "give", STORAGE, "dn2").stderr == ""
    daemon.wait_until(lambda: shows(daemon, "dn2"))
    assert read(daemon) == honest.content
    daemon.wait_until(lambda: refused(daemon, "dn1") == ["recorded"])
    assert daemon.stop() == 0
    assert record.read_text() == f"vread-storages 1 1\n{STORAGE} dn2\n"


def test_two_that_are_added_together(start, honest, thief, tmp_path):
    other = Shown(tmp_path, "other", storage="DS-7")
    daemon = start(other)
    add(daemon, thief.section("dn2") + honest.section("dn3"))
    changed(daemon, "[datanode dn2]: added", "[datanode dn3]: added")
    daemon.wait_until(lambda: refused(daemon, "dn2") == refused(daemon, "dn3") == ["contested"])
    assert read(daemon) == "ENODEV"
    assert shows(daemon, "dn1") == ["DS-7"]


def test_a_disk_that_moves(start, edit, honest, thief):
    """The datanode that had the storage is configured no more: another one may have it."""
    daemon = start(honest, thief.section("dn2"), pins=STORAGE)
    assert read(daemon) == honest.content
    own = f"[datanode dn1]\nimage = {honest.path}\ndata-dirs = /dfs/data\nstorages = {STORAGE}\n"
    edit(daemon, own, "")
    changed(daemon, "[datanode dn1]: removed")
    daemon.wait_until(lambda: shows(daemon, "dn2"))
    assert read(daemon) == thief.content
    add(daemon, honest.section("dn1"))  # it comes back, and is now the second
    changed(daemon, "[datanode dn1]: added")
    daemon.wait_until(lambda: refused(daemon, "dn1") == ["recorded"])
    assert read(daemon) == thief.content


def test_a_withdrawal_counts_for_the_owner_alone(start, honest, thief):
    daemon = start(honest, thief.section("dn2"), pins=STORAGE, local="publish-datanodes = dn2\n")
    with daemon.front() as front:
        event = DELETE, BLOCK, STAMP, POOL, STORAGE
        assert front.publish(*event) == -errno.EACCES
    assert read(daemon) == honest.content


# ---- the operator's word -----------------------------------------------------------------------


def test_pins_change_with_a_reload(start, edit, honest, thief):
    daemon = start(thief, honest.section("dn2", STORAGE))
    assert read(daemon) == honest.content
    assert refused(daemon, "dn1") == ["pinned"]
    with daemon.front() as front:
        handle = front.open(BLOCK, STAMP, POOL, [STORAGE]).handle
        pin = f"storages = {STORAGE}\n"
        edit(daemon, pin, "")
        add(daemon, thief.section("dn3", STORAGE))
        changed(daemon, "[datanode dn2]: storages changed", "[datanode dn3]: added")
        assert front.read_response(handle, 0, 10).status == -errno.EAGAIN  # at once
    daemon.wait_until(lambda: shows(daemon, "dn3"))
    assert read(daemon) == thief.content
    daemon.wait_until(lambda: refused(daemon, "dn2") == ["pinned"])


def test_a_datanode_with_pins_has_no_others(start, edit, honest):
    """For example none of another host, which no datanode of this host has shown."""
    daemon = start(honest, pins="DS-5")
    assert refused(daemon, "dn1") == ["unlisted"]
    assert read(daemon) == "ENODEV"
    edit(daemon, "storages = DS-5", f"storages = DS-5 {STORAGE}")
    changed(daemon, "[datanode dn1]: storages changed")
    daemon.wait_until(lambda: shows(daemon, "dn1"))
    assert read(daemon) == honest.content


def test_mistakes_of_give(start, honest):
    daemon = start(honest, pins=STORAGE)

    def give(**keys):
        return json.loads(daemon.ask(json.dumps({"command": "give", **keys}).encode() + b"\n"))

    assert give(storage=STORAGE, datanode="dn1") == {}
    assert "dn9: no such datanode" in give(storage=STORAGE, datanode="dn9")["error"]
    assert "expected a storage's id" in give(storage="DS 1", datanode="dn1")["error"]
    assert 'expected a string "storage"' in give(storage=STORAGE)["error"]
    add(daemon, honest.section("dn2"))
    assert reload(daemon)["result"] == "applied"
    told = xl_vread(daemon, "datanode", "give", STORAGE, "dn2")
    assert told.returncode == 1
    assert f"{STORAGE}: the configuration says whose this storage is" in told.stderr


# ---- a damaged record ----------------------------------------------------------------------------


def test_a_damaged_record(start, honest, thief, record, tmp_path):
    """What two datanodes show is served from neither.  The rest is served."""
    other = Shown(tmp_path, "other", storage="DS-7")
    record.write_text(f"vread-storages 1 2\n{STORAGE} dn2\n")
    daemon = start(thief, honest.section("dn2") + other.section("dn3"))
    assert "line 3: expected another line" in daemon.log()
    assert refused(daemon, "dn1") == refused(daemon, "dn2") == ["contested"]
    assert read(daemon) == "ENODEV"
    assert read(daemon, ["DS-7"]) == other.content
    problem = daemon.status()["storage_record"]["problem"]
    assert f"the record of storages {record} cannot be used: line 3" in problem
    assert record.read_text() == f"vread-storages 1 2\n{STORAGE} dn2\n"

    record.write_text(f"vread-storages 1 1\n{STORAGE} dn2\n")
    changed(daemon)
    daemon.wait_until(lambda: shows(daemon, "dn2"))
    assert read(daemon) == honest.content
    assert daemon.status()["storage_record"]["problem"] is None
    daemon.wait_until(lambda: "DS-7 dn3\n" in record.read_text())


# ---- twice ---------------------------------------------------------------------------------------


def test_a_storage_twice_in_one_datanode(start, tmp_path):
    folders = []
    for number in range(3):
        folder = DataDirectory(tmp_path / f"d{number}", storage=f"DS-{number // 2}")
        folder.add(BLOCK + number, LENGTH)
        folders.append(folder.path)
    made = make_datanode_image(folders, tmp_path / "twice.img", free_mib=24)
    paths = [directory.path for directory in made.data_dirs]
    twice = Shown(tmp_path, "twice-not-used")
    twice.path, twice.data_dirs = made.path, paths
    daemon = start(twice)
    assert refused(daemon, "dn1") == ["twice", "twice"]
    assert shows(daemon, "dn1") == ["DS-1"]
    assert daemon.log().count("two data directories of this datanode show it") == 2


# ---- tokens --------------------------------------------------------------------------------------


def test_a_token_is_judged_by_the_keys_of_whose_bytes_are_served(start, honest, tmp_path):
    """Both datanodes have the block.  A token of one opens the bytes of that one alone."""
    other = Shown(tmp_path, "other", storage="DS-2")
    daemon = start(honest, other.section("dn2"), local="publish-datanodes = dn1 dn2\n")
    keys = Key(1, b"of-dn1--"), Key(1, b"of-dn2--")
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, keys[:1]) == 0
        assert front.keys(POOL, "DS-2", keys[1:]) == 0
        one, two = (make_token(key, POOL, BLOCK) for key in keys)
        both = [STORAGE, "DS-2"]
        assert read(daemon, both, one) == honest.content
        assert read(daemon, both, two) == other.content
        assert read(daemon, ["DS-2"], one) == read(daemon, [STORAGE], two) == "EPERM"


# ---- other hosts ------------------------------------------------------------------------------


ELSEWHERE = SimpleNamespace(path="/nonexistent", data_dirs=["/dfs/data"])
TIMES = 10  # that a block is read, to see whether the bytes are always those of one


def peers(daemon):
    return {p["name"]: p for p in daemon.status()["peers"]["peers"]}


def announcing(daemon):
    """What each peer announces of others' storages."""
    return {name: p.get("conflicts", []) for name, p in peers(daemon).items()}


def conflicts(daemon):
    """{peer: why it is not asked for what it announces}"""
    return {name: [c["because"] for c in each] for name, each in announcing(daemon).items()}


def reads(daemon):
    return {read(daemon) for _ in range(TIMES)}


@pytest.fixture
def hosts(start_host, honest, thief):
    """hosts(): the hosts b, which has the storage, and c, where a datanode forges it."""

    def start(b=honest, c=thief, **options):
        return {
            name: start_host(name=name, serving=serving, allow="*", **options)
            for name, serving in (("b", b), ("c", c))
            if serving
        }

    return start


@pytest.fixture
def asking(start_daemon, folder, authority):
    """asking({name: address}): a host that reads from these, and that has no such storage."""

    def start(others, serving=ELSEWHERE, more="", **options):
        section = authority.host("a", answer_timeout=60000, idle_timeout=86400)
        section += "".join(peer(name, address=at, datanodes="*") for name, at in others.items())
        return start_daemon(folder, serving=serving, extra=section + more, allow="*", **options)

    return start


def addresses(hosts, *names):
    return {name: hosts[name][1] for name in names}


def heard(daemon, clock, *names):
    clock.until(lambda: all(peers(daemon)[name]["heard"] for name in names))


def is_read_from_none(daemon, clock):
    """Reads until this host knows that both announce the storage.  True if no read succeeded, then
    or afterwards."""
    seen = set()

    def contested():
        seen.add(read(daemon))
        return conflicts(daemon) == {"b": ["contested"], "c": ["contested"]}

    clock.until(contested)
    return seen | reads(daemon) == {"ENODEV"}


def remove_datanode(daemon):
    """Takes [datanode dn1] out of the configuration, and returns it."""
    text = daemon.config.read_text()
    first, rest = text.index("[datanode dn1]"), text.index("[peers]")
    daemon.config.write_text(text[:first] + text[rest:])
    assert reload(daemon)["changes"] == ["[datanode dn1]: removed"]
    return text[first:rest]


@pytest.mark.parametrize("order", ["bc", "cb"])
def test_two_hosts_announce_a_new_storage(asking, hosts, honest, thief, record, clock, order):
    """The datanode of one host forges the storage of the other, and this host has seen neither
    before.  None of the two is asked, in whatever order they are heard, also after a restart, until
    the operator has said where the storage is."""
    others = addresses(hosts(), *order)
    daemon = asking(others)
    assert is_read_from_none(daemon, clock)
    (told,) = announcing(daemon)["b"]
    assert told["problem"] == "peer c shows it too, and who showed it first is not known"
    assert f"xl-vread datanode move {STORAGE} HOST" in told["remedy"]
    assert daemon.stop() == 0
    assert record.read_text().startswith(f"vread-storages 3 1\n{STORAGE} @")

    daemon = asking(others)
    assert is_read_from_none(daemon, clock)
    assert xl_vread(daemon, "datanode", "move", STORAGE, "b").stderr == ""
    assert reads(daemon) == {honest.content}
    assert daemon.stop() == 0
    assert record.read_text() == f"vread-storages 3 1\n{STORAGE} @b\n"


def test_a_host_announces_what_another_one_has(asking, hosts, honest, thief, record, clock):
    """The record says who was first: while the liar is added, over a restart at which it is heard
    first, and while the true owner is away."""
    both = hosts()
    daemon = asking(addresses(both, "b"))
    heard(daemon, clock, "b")
    assert reads(daemon) == {honest.content}
    clock.until(lambda: f"{STORAGE} @b\n" in record.read_text())
    add(daemon, peer("c", address=both["c"][1], datanodes="*"))
    changed(daemon, "[peer c]: added")
    heard(daemon, clock, "c")
    assert conflicts(daemon) == {"b": [], "c": ["recorded"]}
    (told,) = announcing(daemon)["c"]
    assert told["problem"] == "peer b showed it first"
    assert told["remedy"].endswith(f"run xl-vread datanode move {STORAGE} c")
    assert reads(daemon) == {honest.content}
    assert daemon.stop() == 0

    assert both["b"][0].stop() == 0
    daemon = asking(addresses(both, "c", "b"))
    heard(daemon, clock, "c")
    assert reads(daemon) == {"ENODEV"}
    assert conflicts(daemon)["c"] == ["recorded"]
    hosts(c=None, address=both["b"][1])
    clock.until(lambda: read(daemon) == honest.content)
    assert reads(daemon) == {honest.content}


def test_a_datanode_moves_to_another_host(asking, hosts, edit, honest, thief, record, clock):
    """One host has it no more, and the other announces it: no operator is needed.  If the first one
    announces it again, none is asked, until one of the two withdraws it."""
    both = hosts(c=None)
    both |= hosts(b=None, c=ELSEWHERE)
    daemon = asking(addresses(both, "b", "c"))
    heard(daemon, clock, "b", "c")
    assert reads(daemon) == {honest.content}
    section = remove_datanode(both["b"][0])
    clock.until(lambda: read(daemon) == "ENODEV")
    edit(both["c"][0], "/nonexistent", str(thief.path))
    assert reload(both["c"][0])["result"] == "applied"
    clock.until(lambda: read(daemon) == thief.content)
    clock.until(lambda: f"{STORAGE} @c -@b\n" in record.read_text())

    edit(both["b"][0], "[peers]", section + "[peers]")
    changed(both["b"][0], "[datanode dn1]: added")
    clock.until(lambda: conflicts(daemon) == {"b": ["contested"], "c": ["contested"]})
    assert reads(daemon) == {"ENODEV"}
    remove_datanode(both["c"][0])
    clock.until(lambda: read(daemon) == honest.content)
    assert conflicts(daemon) == {"b": [], "c": []}


def test_a_datanode_moves_to_this_host(asking, hosts, honest, thief, record, clock):
    """A datanode of this host shows what another host has: it gets nothing.  When the other host
    announces the storage no more, it has moved."""
    both = hosts(c=None)
    daemon = asking(addresses(both, "b"))
    heard(daemon, clock, "b")
    assert reads(daemon) == {honest.content}
    add(daemon, thief.section("dn2"))
    changed(daemon, "[datanode dn2]: added")
    daemon.wait_until(lambda: refused(daemon, "dn2"))
    (told,) = datanode(daemon, "dn2")["refused-storages"]
    assert (told["because"], told["owner"]) == ("recorded", "peer b")
    assert told["problem"] == "peer b showed it first"
    assert reads(daemon) == {honest.content}
    remove_datanode(both["b"][0])
    clock.until(lambda: shows(daemon, "dn2"))
    assert reads(daemon) == {thief.content}
    daemon.wait_until(lambda: f"{STORAGE} dn2 -@b\n" in record.read_text())


@pytest.mark.parametrize("spoilt", [None, f"vread-storages 3 2\n{STORAGE} @c\n"])
def test_the_record_of_hosts_is_lost(asking, hosts, record, clock, spoilt):
    """Without a record, or with one that is damaged, this host knows nobody."""
    both = hosts()
    if spoilt:
        record.write_text(spoilt)
    daemon = asking(addresses(both, "c", "b"))
    assert is_read_from_none(daemon, clock)
    if spoilt:
        assert record.read_text() == spoilt
        assert "line 3: expected another line" in daemon.status()["storage_record"]["problem"]


def test_a_host_that_starts_withdraws_nothing(asking, hosts, start_host, honest, tmp_path, clock):
    """The owner's host starts again, and its first look hangs.  It announces what its record says,
    so the liar does not get the storage."""
    disk = HangingDisk(tmp_path, honest)
    both = hosts()
    daemon = asking(addresses(both, "b"))
    heard(daemon, clock, "b")
    assert reads(daemon) == {honest.content}
    b, address = both["b"]
    assert b.stop() == 0
    disk.hang()
    again, _ = start_host(
        name="b",
        address=address,
        folder=b.folder,
        serving=honest,
        wrapper=disk.wrapper,
        looked=False,
        allow="*",
    )
    before = peers(daemon)["b"]["announced"]
    add(daemon, peer("c", address=both["c"][1], datanodes="*"))
    changed(daemon, "[peer c]: added")
    heard(daemon, clock, "c")
    clock.until(lambda: peers(daemon)["b"]["announced"] > before)
    assert conflicts(daemon) == {"b": [], "c": ["recorded"]}
    os.close(disk.answer())
    again.wait_until(lambda: shows(again, "dn1"))
    assert reads(daemon) == {honest.content}


@pytest.mark.parametrize("known", [True, False])
def test_a_host_announces_a_storage_of_this_one(asking, hosts, honest, thief, record, clock, known):
    """The datanode of this host has its storage if it was seen first, also after a restart.  If
    both are new, neither has it."""
    both = hosts(b=None)
    if known:
        record.write_text(f"vread-storages 1 1\n{STORAGE} dn1\n")
    for _ in range(2):
        daemon = asking(addresses(both, "c"), serving=honest)
        seen = reads(daemon)
        heard(daemon, clock, "c")
        if known:
            assert conflicts(daemon)["c"] == ["recorded"]
            assert seen | reads(daemon) == {honest.content}
        else:
            clock.until(lambda: refused(daemon, "dn1") == ["contested"])  # noqa: B023
            assert conflicts(daemon)["c"] == ["contested"]
            assert seen | reads(daemon) == {"ENODEV"}
        assert daemon.stop() == 0


def test_the_first_host_to_announce_has_it(start_host, start_asker, honest, thief, clock):
    """Three hosts: b has the storage, c says so, too.  When b has it no more, c has."""
    b, one = start_host(name="b", serving=honest, allow="*")
    _, two = start_host(name="c", serving=thief)
    block = SimpleNamespace(id=BLOCK, genstamp=STAMP)
    asker = start_asker(
        peer("b", address=one, storages="dn1/DS-b", datanodes="dn*"),
        peer("c", address=two, storages="dn1/DS-c", datanodes="*"),
    )
    for bait in ("DS-b", "DS-c"):  # it connects, one after the other
        assert asker.error(asker.begin_open(block, [bait])) == "ENODEV"
    assert asker.peer("c")["announcements_refused"] >= 1
    (told,) = asker.peer("c")["conflicts"]
    assert (told["storage"], told["problem"]) == (STORAGE, "peer b showed it first")
    assert "conflicts" not in asker.peer("b")
    assert read_all(asker, block) == honest.content

    remove_datanode(b)
    clock.until(lambda: "conflicts" not in asker.peer("c"))
    assert read_all(asker, block) == thief.content


def test_no_host_announces_what_this_one_has(
    start, start_host, authority, honest, thief, record, clock
):
    """The block is only at the other host: it is not asked for by a storage of this host."""
    record.write_text(f"vread-storages 1 1\n{STORAGE} dn1\n")
    _, address = start_host(serving=thief)
    section = authority.host("a", answer_timeout=60000)
    section += peer("b", address=address, datanodes="dn*")
    daemon = start(honest, section, local="publish-datanodes = dn1\n")
    clock.until(lambda: announcing(daemon)["b"])
    (told,) = announcing(daemon)["b"]
    assert (told["storage"], told["because"]) == (STORAGE, "recorded")
    expected = f"storage {STORAGE} and is not asked for it: datanode dn1 showed it first"
    assert expected in " ".join(xl_vread(daemon, "status").stdout.split())
    doctor = xl_vread(daemon, "doctor", "--json", "--config", daemon.config)
    (found,) = [f for f in json.loads(doctor.stdout)["findings"] if f["check"] == "storages"]
    assert (found["result"], found["object"]) == ("failed", "b")
    assert (found["found"], found["remedy"]) == (f"it announces {expected}", told["remedy"])
    with daemon.front() as front:
        assert front.publish(DELETE, BLOCK, STAMP, POOL, STORAGE) == 0
    assert read(daemon) == "ENOENT"
    assert daemon.status()["peers"]["peers"][0]["asked"]["opens"] == 0


# ---- which storages a request names ---------------------------------------------------------


def test_a_clone_is_told_apart_by_storages(start, honest, tmp_path):
    """A cluster was cloned: pool, cluster and namespace are equal, and both clusters have given out
    the same id and stamp.  Only the storages say which block is meant."""
    clone = Shown(tmp_path, "clone", storage="DS-2")
    daemon = start(clone, honest.section("dn2"))
    assert read(daemon, ()) == "EDESTADDRREQ"
    assert read(daemon, [STORAGE]) == honest.content
    assert read(daemon, ["DS-2"]) == clone.content


def test_no_image_stands_in_for_a_storage_elsewhere(start, tmp_path):
    """The block is on a datanode that nobody serves.  The clone's block of that name, the only one
    here, is another block."""
    daemon = start(Shown(tmp_path, "clone", storage="DS-2"))
    assert read(daemon) == "ENODEV"
    with daemon.front() as front:
        assert front.open(BLOCK, STAMP, POOL, ()).status == -errno.EDESTADDRREQ
        # Also if a connection of read() has not ended yet.
        assert {"EDESTADDRREQ": 1} in [counters["errors"] for counters in daemon.counters()]


def test_requests_without_storages_are_of_one_cluster(start, edit, honest, tmp_path):
    """The operator says which datanodes these requests mean."""
    clone = Shown(tmp_path, "clone", storage="DS-2")
    lines = "unnamed-datanodes = dn2\n"
    daemon = start(clone, honest.section("dn2"), local=lines)
    assert read(daemon, ()) == honest.content
    assert read(daemon, ["DS-2"]) == clone.content
    edit(daemon, "unnamed-datanodes = dn2", "unnamed-datanodes = dn1")
    changed(daemon, "[local]: lists changed")
    assert read(daemon, ()) == clone.content
    edit(daemon, "allow-datanodes = *", "allow-datanodes = dn2")  # may read the other one only
    changed(daemon, "[local]: lists changed")
    assert read(daemon, ()) == "EACCES"
    edit(daemon, "unnamed-datanodes = dn1\n", "")
    changed(daemon, "[local]: lists changed")
    assert read(daemon, ()) == "EDESTADDRREQ"


def test_one_cluster_is_searched_for_the_first_replica(start, honest, tmp_path):
    """One has no such block, and another one cannot be read now."""
    other = Shown(tmp_path, "other", storage="DS-2", block=BLOCK + 1)
    damaged = Shown(tmp_path, "damaged", storage="DS-3", meta=b"")
    sections = damaged.section("dn2") + honest.section("dn3")
    daemon = start(other, sections, local="unnamed-datanodes = dn1 dn2 dn3\n")
    assert read(daemon, ()) == read(daemon, [STORAGE, "DS-2", "DS-3"]) == honest.content
    assert read(daemon, ["DS-2"]) == "ENOENT"
    assert read(daemon, ["DS-3"]) == "EILSEQ"
