# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread init: which domains it finds, what it asks, what it writes, and what it refuses.

vread-provision is a script here.  It finds the layout of a real image on each disk whose path has
the word "data".  On the first three disks with "pv" it finds a logical volume with the directories,
on the others a volume without.  test_real_disks uses a real vreadd.
"""

import json
import os
import pty
import subprocess
import threading

import pytest

from tests.cli.test_xl_vread import UUID, XL_VREAD
from tests.cli.test_xl_vread_datanode import APPLIED, DatanodeHost, FakeVreadd, keys, old_file
from tests.libvread import vreadlib
from tests.libvread.conftest import lib  # noqa: F401
from tests.support.provisioning import provision
from tests.support.waiting import eventually
from tools.vreadd import Vreadd

UUIDS = {9: UUID, 10: UUID.replace("6d", "aa"), 11: UUID.replace("6d", "bb")}
NAMES = {9: "dn1", 10: "client1", 11: "web"}
DEVICE = "role=datanode,datanodes=dn1,data-dirs=/dfs/data,disks=xvdb"
RECORD = (
    "id=0,role=datanode,datanodes=dn1,pools=*,publish-datanodes=dn1,data-dirs=/dfs/data,disks=xvdb"
)
UNATTENDED = ("--datanode", "dn1", "--client", "client1", "--yes")
PROVISION = """#!/usr/bin/env python3
import json, sys
layout, images = sys.argv[2], sys.argv[3:]
def volume(name, disks, dirs):
    stripes = [{{"image": disk, "offset": 1 << 20}} for disk in disks]
    first = {{"length": 4096, "stripes": stripes[:1]}}
    second = {{"length": 4096 * len(stripes[1:]), "stripe-size": 4096, "stripes": stripes[1:]}}
    if len(stripes) == 2:
        del second["stripe-size"]
    fs = {{key: filesystem[key] for key in ("type", "uuid")}}
    segments = [first, second] if stripes[1:] else [first]
    return fs | {{"data-dirs": dirs, "volume": name, "segments": segments}}
print(*images, file=open("{log}", "a"))
if any("unreadable" in image for image in images):
    sys.exit(66)
found = json.load(open("{found}"))
(size,), (filesystem,) = found["images"], found["filesystems"]
found["images"] = [size for _ in images]
found["filesystems"] = [filesystem | {{"image": i}} for i, d in enumerate(images) if "data" in d]
pvs = [i for i, d in enumerate(images) if "pv" in d]
for name, group, dirs in ("vg/data", pvs[:3], filesystem["data-dirs"]), ("vg/other", pvs[3:], []):
    if group:
        found["filesystems"].append(volume(name, group, dirs))
if not found["filesystems"]:
    sys.exit(65)
json.dump(found, open(layout, "w"))
"""


class InitHost(DatanodeHost):
    """A datanode, dn1, with its blocks on xvdb, and two other domains."""

    def __init__(self, folder, store):
        super().__init__(folder, store)
        for domid, name in NAMES.items():
            self.add_domain(domid, name, UUIDS[domid])
            self.add_disk("xvda", f"/vg/{name}-system", domid=domid)
        self.add_disk("xvdb", "/vg/dn1-data", domid=9)
        store.on_change = self.see

    @staticmethod
    def see(store, path):
        """What vreadd does when a device appears."""
        state = path.startswith("/local/domain/0/backend/vread/") and path.endswith("/state")
        if state and store.value(path) == "1":
            store.put(path, "2")

    def init(self, *words, **environment):
        return self.run("init", *words, **environment)

    def ask(self, answers, *words):
        """Runs init with a terminal as its input, where the answers have been typed."""
        master, slave = pty.openpty()
        try:
            os.write(master, answers.encode())
            return subprocess.run(
                [XL_VREAD, "init", *words],
                stdin=slave,
                capture_output=True,
                text=True,
                env=self.environment,
                timeout=600,
            )
        finally:
            os.close(master)
            os.close(slave)

    def record_of(self, domid):
        path = self.records / UUIDS[domid]
        return path.read_text().splitlines()[1:] if path.exists() else None

    def written(self):
        """Everything that init may write: files, and devices in xenstore."""
        files = [*self.files.glob("*"), *self.records.glob("*")]
        nodes = self.store.nodes
        return {str(path): path.read_text() for path in files} | {
            path: node.value for path, node in nodes.items() if "/vread/" in path
        }

    def searched(self):
        log = self.folder / "searched"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def host(tmp_path, xenstored, served):  # noqa: F811
    host = InitHost(tmp_path, xenstored)
    found = served[0]["dn1"][1]
    script = tmp_path / "bin/vread-provision"
    script.write_text(PROVISION.format(log=tmp_path / "searched", found=found))
    script.chmod(0o755)
    return host


@pytest.fixture
def daemon(host):
    with FakeVreadd(host) as daemon:
        yield daemon


def client(datanodes="dn1"):
    return [f"id=0,role=client,datanodes={datanodes},pools=*"]


def allowed(host, domid):
    return host.store.value(f"/local/domain/0/backend/vread/{domid}/0/allow-datanodes")


# ---- with options


def test_unattended(host, daemon):
    done = host.init(*UNATTENDED)
    assert host.keys() == keys("xvdb")
    assert (host.record_of(9), host.record_of(10), host.record_of(11)) == ([RECORD], client(), None)
    assert [allowed(host, domid) for domid in NAMES] == ["dn1", "dn1", None]
    assert host.searched() == ["raw:/vg/dn1-system raw:/vg/dn1-data"]  # clients' disks are theirs
    shown = done.stdout
    assert (
        "domain dn1 (9) becomes a datanode:\n"
        f"  {host.records}/{UUIDS[9]}: {DEVICE}\n"
        "domain client1 (10) becomes a client:\n"
        f"  {host.records}/{UUIDS[10]}: datanodes=dn1\n"
    ) in shown
    assert f'  dn1: vread = [ "{DEVICE}" ]\n  client1: vread = [ "datanodes=dn1" ]\n' in shown
    assert "adduser hdfs vread-publish  # in dn1;" in shown
    assert "adduser hdfs vread          # in client1;" in shown


def test_its_end_is_what_doctor_says(host, daemon):
    """Here a fake vreadd has no version, so doctor fails.  All is written nevertheless."""
    done = host.init(*UNATTENDED)
    doctor = host.run("doctor")
    assert (done.returncode, doctor.returncode) == (1, 1)
    assert f"\nxl-vread doctor:\n{doctor.stdout}\nNext, in these guests" in done.stdout
    assert host.keys()


def test_real_disks(host, served, lib, monkeypatch):  # noqa: F811
    """A client must be able to read a block as soon as init has ended."""
    (image, _), block = served[0]["dn1"], served[1]["odd"]
    data = host.folder / "data.raw"
    data.symlink_to(image)
    host.add_disk("xvdb", f"aio:{data}", kind="qdisk", domid=9)
    host.store.remove("/local/domain/0/backend/vbd/9/51728")
    monkeypatch.setenv("XENSTORED_PATH", host.store.path)
    with Vreadd({}, variant="asan", xen="yes") as vreadd:
        host.use(vreadd.status()["config"])
        done = host.init(*UNATTENDED)
        assert host.keys() == keys("xvdb"), done.stderr
        assert vreadd.status()["datanodes"][0]["state"] == "served"
        assert " dn1: " not in done.stdout.partition("doctor:")[2].partition("Next")[0]
        with (
            vreadlib.Connection(lib, vreadd.endpoint) as connection,
            connection.open(block.pool, block.id, block.genstamp) as f,
        ):
            assert bytes(f.pread(block.length, 0)) == block.content()


def test_doctor_waits_until_vreadd_has_seen_the_devices(host, daemon):
    """vreadd sees each device only after init watches its state."""
    daemon.seen = None

    def watched(domid):
        state = f"/local/domain/0/backend/vread/{domid}/0/state"
        with host.store.lock:
            watches = [w for c in host.store.clients.values() for w, _ in c.watches]
        return state in watches

    def see():
        for domid in (9, 10):
            eventually(lambda domid=domid: watched(domid))
            host.store.put(f"/local/domain/0/backend/vread/{domid}/0/state", "2")

    vreadd = threading.Thread(target=see, daemon=True)
    vreadd.start()
    done = host.init(*UNATTENDED)
    vreadd.join()
    assert "waits for the guest: its module is not loaded" in done.stdout
    assert "stuck in Initialising" not in done.stdout


def test_doctor_waits_until_vreadd_has_looked_into_the_disks(host, daemon):
    looking, served = (
        json.dumps({"datanodes": [{"datanode": "dn1", "state": state}]}).encode() + b"\n"
        for state in ("looking", "served")
    )
    daemon.answers = [APPLIED, looking, looking, served]  # the first to attach
    done = host.init(*UNATTENDED)
    assert "dn1: looking" not in done.stdout
    assert daemon.requests[1:] == [b'{"command":"status"}\n'] * 4  # the last is doctor's


def test_without_a_vreadd(host):
    """All is written, and doctor says what is missing."""
    host.store.on_change = None
    done = host.init(*UNATTENDED)
    assert (done.returncode, host.keys()) == (1, keys("xvdb"))
    assert "-> systemctl start vreadd; if it ends at once: journalctl -u vreadd" in done.stdout


def test_run_twice(host, daemon):
    host.init(*UNATTENDED)
    written, requests = host.written(), len(daemon.requests)
    done = host.init(*UNATTENDED)
    assert done.stdout.startswith(
        "domain dn1 (9) is a datanode already: it stays as it is\n"
        "domain client1 (10) is a client of these datanodes already: it stays as it is\n"
        "There is nothing to write.\n\nxl-vread doctor:\n"
    )
    assert host.written() == written
    assert daemon.requests[requests:] == [b'{"command":"status"}\n']  # doctor's
    assert len(host.searched()) == 1


def test_a_client_more(host, daemon):
    """An existing datanode may be named for a new client, by the domain's id, too."""
    host.init("--datanode", "dn1", "--yes")
    host.init("--datanode", "9", "--client", "11", "--yes")
    assert (host.record_of(9), host.record_of(10), host.record_of(11)) == ([RECORD], None, client())


def test_a_datanode_of_vread_conf(host, daemon):
    """Its disk must not be served twice.  The client gets the name in the section."""
    host.configure(
        "[datanode north]\nimage = /vg/dn1-data\ndata-dirs = /dfs/data\n",
        control=host.folder / "socket",
    )
    host.init(*UNATTENDED)
    assert (host.keys(), host.record_of(9), host.record_of(10)) == (None, None, client("north"))
    assert host.searched() == []


def test_a_datanode_of_keys(host, daemon):
    """Its disks are served by another toolstack's keys.  The client gets the name in the keys."""
    subprocess.run(provision(9, "north", "xvdb", "/dfs/data"), check=True, env=host.environment)
    done = host.init(*UNATTENDED)
    assert "domain dn1 (9) is a datanode already: it stays as it is\n" in done.stdout
    assert (host.record_of(9), host.record_of(10)) == (None, client("north"))
    assert host.searched() == []


def test_a_file_that_is_left(host, daemon):
    """It is of vRead 0.1.0, and its domain is gone."""
    path = old_file(host, "raw:/old", uuid=UUID[:-1] + "0")
    done = host.init("--datanode", "dn1", "--yes")
    assert f"{path}: removed: keys in xenstore take its place\n" in done.stderr
    assert (host.keys(), path.exists()) == (keys("xvdb"), False)


def test_disks_that_vreadd_cannot_read_are_left_out(host, daemon):
    host.add_disk("xvdc", "qed:/x-data", kind="qdisk", domid=9)
    done = host.init("--datanode", "dn1", "--yes")
    assert "domain dn1: disk xvdc is left out: 'qed:/x-data': vreadd does not" in done.stderr
    assert host.keys() == keys("xvdb")


def test_a_logical_volume_over_several_disks(host, daemon):
    """All disks that a part of the volume is on belong to the datanode: its first segment is on
    xvdc, its second is striped over xvdd and xvde.  Others, also of the group, do not."""
    for name in "xvdc", "xvdd", "xvde", "xvdf":
        host.add_disk(name, f"/vg/dn1-pv-{name}", domid=9)
    host.store.remove("/local/domain/0/backend/vbd/9/51728")  # xvdb
    done = host.init("--datanode", "dn1", "--yes")
    assert host.keys() == keys("xvdc xvdd xvde"), done.stderr
    assert host.record_of(9) == [RECORD.replace("=xvdb", "=xvdc xvdd xvde")]


# ---- on a terminal


def test_questions(host, daemon):
    done = host.ask("\nclient1\ny\n")
    assert done.stdout.startswith(
        "Domains that look like datanodes:\n"
        "  dn1 (9): /dfs/data on xvdb\n"
        "Which of them are datanodes? (Enter: all; or names, or none) "
        "Domains that can be clients:\n"
        "  client1 (10)\n"
        "  web (11)\n"
        "Which of them may read the datanodes' blocks? (Enter: none) "
        "domain dn1 (9) becomes a datanode:\n"
    )
    assert done.stdout.count("Write this? (y/N)") == 1
    assert host.keys() == keys("xvdb")
    assert (host.record_of(9), host.record_of(10), host.record_of(11)) == ([RECORD], client(), None)
    assert len(host.searched()) == 3


def test_nobody_becomes_a_client_unasked(host, daemon):
    host.ask("\n\ny\n")
    assert (host.record_of(9), host.record_of(10), host.record_of(11)) == ([RECORD], None, None)


@pytest.mark.parametrize("answer", ["n\n", "\n", "Yes, but\n"])
def test_no(host, daemon, answer):
    done = host.ask(f"\nclient1\n{answer}")
    assert (done.returncode, host.written()) == (1, {})
    assert done.stderr.endswith("xl-vread init: nothing was written\n")


@pytest.mark.parametrize("answers", ["\x04", "\n\x04", "\nclient1\n\x04"])
def test_the_end_of_the_input(host, daemon, answers):
    done = host.ask(answers)
    assert (done.returncode, host.written()) == (1, {})
    assert done.stderr.endswith("xl-vread init: no answer: nothing was written\n")


def test_wrong_names_are_asked_for_again(host, daemon):
    """A search takes minutes, so a slip must not end the command."""
    done = host.ask("dn1 dnx\nweb\ndn1\nclient1 dn1\nweb client1\ny\n")
    assert "domain dnx: no such domain (see xl list)\n" in done.stderr
    assert "domain web: no data directory of HDFS was found on its disks" in done.stderr
    assert "domain dn1: is a datanode, whose device reads its own blocks" in done.stderr
    assert (host.record_of(9), host.record_of(10), host.record_of(11)) == (
        [RECORD],
        client(),
        client(),
    )
    assert len(host.searched()) == 3


def test_no_datanode_is_wanted(host, daemon):
    done = host.ask("none\n")
    assert "There is nothing to write.\n" in done.stdout
    assert "clients" not in done.stdout
    assert host.written() == {}


def test_a_domain_whose_disk_cannot_be_read(host, daemon):
    """Others are found nevertheless."""
    host.add_disk("xvdb", "/vg/unreadable", domid=11)
    done = host.ask("\n\ny\n")
    assert "vread-provision failed: exit code 66" in done.stderr
    assert "domain web: its disks could not be looked at: see above; if it is" in done.stderr
    assert host.keys() == keys("xvdb")


def test_a_domain_whose_record_is_wrong(host, daemon):
    """Nothing is offered for it, and others are set up."""
    host.records.mkdir()
    (host.records / UUIDS[11]).write_text("nonsense\n")
    done = host.ask("\nweb\nclient1\ny\n")
    assert f"{host.records}/{UUIDS[11]}:1: 'nonsense': expected KEY=VALUE" in done.stderr
    assert "  web (11)\n" not in done.stdout
    assert (host.record_of(9), host.record_of(10)) == ([RECORD], client())
    assert (host.records / UUIDS[11]).read_text() == "nonsense\n"


def test_nothing_is_found(host, daemon):
    host.store.remove("/local/domain/0/backend/vbd/9/51728")
    done = host.ask("\n")
    assert (done.returncode, host.written()) == (1, {})
    assert "no domain has a data directory of HDFS on its disks, so there is" in done.stderr


def test_nothing_can_be_looked_at(host, daemon):
    host.add_disk("xvdb", "/vg/unreadable", domid=9)
    done = host.ask("\n")
    assert (done.returncode, host.written()) == (1, {})
    assert "no datanode was found, but the disks of 1 domain could not be looked at" in done.stderr


def test_configured_domains_are_not_looked_at_again(host, daemon):
    host.init(*UNATTENDED)
    (host.folder / "searched").unlink()
    done = host.ask("\nweb\ny\n")
    assert "  dn1 (9): is datanode dn1 already\n" in done.stdout
    assert "Domains that can be clients:\n  web (11)\n" in done.stdout
    assert host.searched() == ["raw:/vg/web-system"]
    assert host.record_of(11) == client()


# ---- errors; nothing may be written


def refused(host, *words, code=1, **environment):
    before = host.written()
    done = host.init(*words, **environment)
    assert (done.returncode, host.written()) == (code, before), done.stderr
    return done.stderr


@pytest.mark.parametrize(
    "words, text",
    [
        ([], "there is no terminal to ask on: name the domains with --datanode and --client"),
        (["--yes"], "there is no terminal to ask on"),
        (["--client", "web", "--yes"], "--client: expected --datanode, too"),
        (["dn1"], "dn1: unexpected argument"),
    ],
)
def test_wrong_command_lines(host, words, text):
    assert text in refused(host, *words, code=2)


def test_without_yes_and_a_terminal(host, daemon):
    done = host.init("--datanode", "dn1")
    assert (done.returncode, host.written()) == (1, {})
    assert "domain dn1 (9) becomes a datanode:\n" in done.stdout
    assert done.stderr.endswith("xl-vread init: nothing was written: --yes writes it\n")


def test_no_xenstore(host):
    text = refused(host, *UNATTENDED, code=3, XENSTORED_PATH=str(host.folder / "nobody"))
    assert "xenstore: cannot connect (No such file or directory); this works in dom0, as" in text


def test_no_domains(host):
    for domid in NAMES:
        host.store.remove(f"/local/domain/{domid}")
    assert "no domain runs here besides dom0: start the domains" in refused(host, *UNATTENDED)


@pytest.mark.parametrize("option", ["--datanode", "--client"])
def test_no_such_domain(host, option):
    text = refused(host, "--datanode", "dn1", option, "dnx", "--yes")
    assert "domain dnx: no such domain (see xl list)" in text
    assert host.searched() == []


def test_both(host):
    text = refused(host, "--datanode", "dn1", "--client", "dn1", "--yes")
    assert "domain dn1: is a datanode, whose device reads its own blocks" in text


def test_no_data_directory(host):
    text = refused(host, "--datanode", "web", "--yes")
    assert "domain web: no data directory of HDFS was found on its disks" in text


def test_an_image_that_cannot_be_read(host):
    host.add_disk("xvdc", "/vg/unreadable", domid=9)
    text = refused(host, *UNATTENDED)
    assert "vread-provision failed: exit code 66" in text
    assert "domain dn1: its disks could not be looked at: see above; if it is a datanode" in text
    assert "xl-vread attach dn1 role=datanode,datanodes=NAME,data-dirs=/dfs/data" in text


def test_no_vread_provision(host):
    (host.folder / "bin/vread-provision").unlink()
    text = refused(host, *UNATTENDED, PATH=str(host.folder / "bin"))
    assert "vread-provision: cannot run: No such file or directory" in text


def test_a_directory_with_a_hostile_name(host, served):  # noqa: F811
    script = host.folder / "bin/vread-provision"
    found = json.loads(served[0]["dn1"][1].read_text())
    found["filesystems"][0]["data-dirs"][0]["path"] = "/a,datanodes=*"
    (host.folder / "found.json").write_text(json.dumps(found))
    script.write_text(
        script.read_text().replace(str(served[0]["dn1"][1]), f"{host.folder}/found.json")
    )
    assert "a data directory '/a,datanodes=*', a name that is not" in refused(host, *UNATTENDED)


@pytest.mark.parametrize("domain", ["dn1", "client1"])
def test_devices_that_are_there(host, daemon, domain):
    assert host.run("attach", domain, "datanodes=dn7").returncode == 0
    text = refused(host, *UNATTENDED)
    assert f"domain {domain}: has devices already (dn7), which init does not replace" in text


def test_devices_of_the_operators_file(host, daemon):
    files = host.folder / "domains.d"
    files.mkdir()
    (files / "client1.cfg").write_text('vread = [ "datanodes=dn7" ]\n')
    text = refused(host, *UNATTENDED)
    assert f"domain client1: its devices are those of {files}/client1.cfg, which init" in text


def test_a_record_that_is_wrong(host, daemon):
    host.records.mkdir()
    (host.records / UUIDS[9]).write_text("nonsense\n")
    text = refused(host, *UNATTENDED)
    assert f"{host.records}/{UUIDS[9]}:1: 'nonsense': expected KEY=VALUE" in text


def test_a_name_that_vread_conf_has(host, daemon):
    """Another disk is the datanode of this name."""
    host.configure("[datanode dn1]\nimage = /x\ndata-dirs = /a\n", control=host.folder / "socket")
    assert "[datanode dn1] exists already: remove it" in refused(host, *UNATTENDED)
    assert daemon.requests == []


def test_the_second_of_two_is_wrong(host, daemon):
    """This is found before the first is written."""
    host.add_disk("xvdb", "/vg/web-data", domid=11)
    host.configure("[datanode web]\nimage = /x\ndata-dirs = /a\n", control=host.folder / "socket")
    text = refused(host, "--datanode", "dn1", "--datanode", "web", "--yes")
    assert "[datanode web] exists already: remove it" in text


def test_a_name_that_cannot_be_a_datanodes(host, daemon):
    host.add_domain(9, "data node", UUIDS[9])
    text = refused(host, "--datanode", "9", "--yes")
    assert "domain data node: a datanode cannot have this name; give it another: xl-vread" in text


def test_a_vread_conf_that_is_wrong(host):
    host.configure("[local]\nmode = 7\n")
    assert "vread.conf: correct the mistakes first" in refused(host, *UNATTENDED)
    assert host.searched() == []


def test_records_that_cannot_be_written(host, daemon):
    host.environment["VREAD_DOMAINS"] = "/proc/nowhere"
    text = refused(host, *UNATTENDED)
    assert "/proc/nowhere: cannot lock" in text
    assert "domain dn1: nothing was written for it; correct this and run the command" in text


def test_a_vreadd_that_refuses(host, daemon):
    daemon.says = "refused: because"
    assert "datanode dn1: vreadd refuses domain dn1 (9): because" in refused(host, *UNATTENDED)


def test_what_is_written_stays(host, daemon):
    """The second domain has a device that no record has.  The first one is a datanode by then."""
    host.store.put("/local/domain/0/backend/vread/10/0/state", "4")
    done = host.init(*UNATTENDED)
    assert done.returncode == 1
    assert "domain client1: nothing was written for it, what was written for the" in done.stderr
    assert (host.record_of(9), host.record_of(10)) == ([RECORD], None)
