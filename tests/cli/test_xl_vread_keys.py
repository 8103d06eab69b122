# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread's commands beside datanodes that a toolstack provisions by keys in xenstore.

Domain 12 is datanode dn2 by keys.  tests/protocol/test_provisioning.py has the keys themselves.
"""

import json
import subprocess

import pytest

from tests.cli.test_xl_vread import DOMID, UUID
from tests.cli.test_xl_vread_datanode import LINE, DatanodeHost
from tests.support.provisioning import keys, provision

KEYED = 12
KEYS = keys(KEYED)
HEAD = "Datanode                 Domain                   Disks"
WEB = "dn1                      web                      raw:/b"
STORE = "dn2                      store                    raw:/store"
ACCEPTED = "accepted: dn2"


class KeysHost(DatanodeHost):
    def provision(self, domid=KEYED, name="dn2", disks="xvdb"):
        """Does what a toolstack does, by the script of docs/provisioning.md."""
        environment = self.environment
        subprocess.run(provision(domid, name, disks, "/dfs/data"), check=True, env=environment)

    def judge(self, status, domid=KEYED):
        """Writes what vreadd says about the keys."""
        self.store.put(f"{keys(domid)}/status", status)


@pytest.fixture
def host(tmp_path, xenstored):
    host = KeysHost(tmp_path, xenstored)
    host.add_domain(KEYED, "store", UUID.replace("6d", "aa"))
    host.add_disk("xvdb", "/store", domid=KEYED)
    host.provision()
    host.judge(ACCEPTED)
    return host


# ---- list


def datanodes(host):
    """The second table of xl-vread list."""
    done = host.run("list")
    return done.stdout.partition("\n\n")[2].splitlines()


def test_list(host):
    assert datanodes(host) == [HEAD, STORE]
    host.add_disk("xvdb", "/b")
    assert host.create().returncode == 0
    assert datanodes(host) == [HEAD, WEB, "    vreadd has not seen them yet", STORE]


@pytest.mark.parametrize(
    "status, said",
    [
        ("refused: tokens: yes: expected auto", "refused: tokens: yes: expected auto"),
        (f"{ACCEPTED}; waiting: disk xvdc: none yet", f"{ACCEPTED}; waiting: disk xvdc: none yet"),
        (None, "vreadd has not seen them yet"),
    ],
)
def test_list_says_what_vreadd_decided(host, status, said):
    host.store.remove(f"{KEYS}/status")
    if status:
        host.judge(status)
    assert datanodes(host) == [HEAD, STORE, f"    {said}"]


def test_list_of_keys_that_vreadd_will_refuse(host):
    """Without a vreadd, too, list says what is wrong with them."""
    host.store.remove(f"{KEYS}/status")
    host.store.put(f"{KEYS}/disk", "xvdb")
    assert datanodes(host)[-1] == "    disk: no key has this name"


def test_list_of_a_disk_that_is_not_there(host):
    host.store.put(f"{KEYS}/disks", "xvdb xvdc")
    assert STORE in datanodes(host)


def test_list_with_keys_turned_off(host):
    host.configure("[xen]\ndatanode-keys = no\n")
    assert datanodes(host) == []


def test_list_beside_a_vread_conf_with_mistakes(host):
    """Mistakes in the file do not matter to keys."""
    host.vread_conf.write_text("[xen]\nenabled = perhaps\n")
    assert datanodes(host) == [HEAD, STORE]


def test_list_of_a_domain_without_a_name(host):
    host.store.remove(f"/local/domain/{KEYED}/name")
    assert datanodes(host)[1].split() == ["dn2", "(domain", "12)", "raw:/store"]


# ---- config check


def checked(host, *options):
    done = host.run("config", "check", *options, host.vread_conf)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def displaced(because):
    return (
        f"{KEYS} provisions datanode dn2 of domain {KEYED} now, and vreadd refuses these keys when "
        f"it reads this configuration: {because}"
    )


def test_a_section_that_takes_the_name_of_keys(host):
    host.configure("[datanode dn2]\nimage = /dev/null\ndata-dirs = /a\n")
    because = f"name: dn2 is in {host.vread_conf} already: each datanode needs its own"
    assert checked(host) == [
        f"{host.vread_conf}:4: warning: [datanode dn2]: {displaced(because)}",
        f"{host.vread_conf}: 1 warning",
    ]
    (warning,) = json.loads("\n".join(checked(host, "--json")))["warnings"]
    assert (warning["line"], warning["section"]) == (4, "datanode dn2")


def test_a_file_that_takes_the_name_of_keys(host):
    host.files.mkdir()
    own = host.files / "dn2.conf"
    own.write_text("[datanode dn2]\nimage = /dev/null\ndata-dirs = /a\n")
    because = f"name: dn2 is in {own} already: each datanode needs its own"
    assert checked(host)[0] == f"{own}:1: warning: [datanode dn2]: {displaced(because)}"


def test_a_section_that_has_a_storage_of_keys(host):
    host.store.put(f"{KEYS}/storages", "DS-1")
    host.configure("[datanode dn1]\nimage = /dev/null\ndata-dirs = /a\nstorages = DS-1\n")
    because = "storages: DS-1 is pinned to datanode dn1 already"
    assert checked(host)[0] == f"{host.vread_conf}: warning: {displaced(because)}"


@pytest.mark.parametrize("status", ["refused: tokens: yes: expected auto", None])
def test_keys_that_do_not_count_lose_nothing(host, status):
    host.store.remove(f"{KEYS}/status")
    if status:
        host.judge(status)
    host.configure("[datanode dn2]\nimage = /dev/null\ndata-dirs = /a\n")
    assert checked(host) == [f"{host.vread_conf}: ok"]


def test_a_section_beside_keys(host):
    host.configure("[datanode dn1]\nimage = /dev/null\ndata-dirs = /a\n")
    assert checked(host) == [f"{host.vread_conf}: ok"]


def test_keys_that_are_not_read_lose_nothing(host):
    host.configure("[datanode dn2]\nimage = /dev/null\ndata-dirs = /a\n[xen]\ndatanode-keys = no\n")
    assert checked(host) == [f"{host.vread_conf}: ok"]


def test_lists_that_name_datanodes_of_keys(host):
    host.configure(f"[local]\nsocket = {host.folder}/s\nallow-datanodes = dn2 dn22\n")
    assert checked(host)[:-1] == [
        f"{host.vread_conf}:4: warning: [local] allow-datanodes: dn2 dn22: there is no "
        "[datanode dn22]; did you mean dn2?"
    ]


# ---- doctor


def findings(host):
    """What doctor says, as {object: (result, what was found)}.  No vreadd runs."""
    found = json.loads(host.run("doctor", "--json").stdout)["findings"]
    return {f["object"]: (f["result"], f["found"]) for f in found}


def image(host):
    """A file for the disk of domain 12."""
    path = host.folder / "store.img"
    path.write_bytes(b"\0" * 512)
    host.add_disk("xvdb", str(path), domid=KEYED)
    return path


@pytest.mark.parametrize(
    "status, result",
    [
        (ACCEPTED, "ok"),
        ("accepted: dn2; waiting: disk xvdc: none yet", "warning"),
        ("waiting: disk xvdb: none yet", "warning"),
        ("refused: tokens: yes: expected auto", "failed"),
        (None, "warning"),
    ],
)
def test_doctor_says_what_vreadd_decided(host, status, result):
    """Also while vreadd does not run."""
    host.store.remove(f"{KEYS}/status")
    if status:
        host.judge(status)
    said = status or "vreadd has not seen them yet"
    assert findings(host)[KEYS] == (result, said)


def test_doctor_looks_at_images_of_keys(host):
    path = image(host)
    assert findings(host)[str(path)] == ("ok", "datanode dn2, read -")
    path.unlink()
    found = json.loads(host.run("doctor", "--json").stdout)["findings"]
    (lost,) = (f for f in found if f["object"] == str(path))
    assert (lost["result"], lost["found"]) == ("failed", "No such file or directory")
    assert lost["remedy"] == (
        "put the image of datanode dn2 there, or attach the disk to domain 12 anew: vreadd finds "
        "its file in xenstore"
    )
    host.judge("refused: tokens: yes: expected auto")
    assert str(path) not in findings(host)


def test_doctor_knows_that_a_device_may_read_a_datanode_of_keys(host):
    host.add_domain()
    host.run("attach", "--temporary", "web", "datanodes=dn2 dn9")
    found = json.loads(host.run("doctor", "--json").stdout)["findings"]
    allowed = [f["found"] for f in found if "allows datanode" in f["found"]]
    assert allowed == ["allows datanode dn9, which vread.conf does not name"]


def test_doctor_without_anything_to_read(host):
    nothing = ("warning", "names neither datanodes nor peers: nothing can be read")
    path = str(host.vread_conf)
    assert findings(host).get(path) != nothing
    host.store.remove(f"/local/domain/0/backend/vread/{KEYED}")
    assert findings(host)[path] == nothing


def test_doctor_tells_of_keys_that_nobody_reads(host):
    host.configure("[xen]\ndatanode-keys = no\n")
    said = "vreadd does not read the keys of datanodes: vread.conf has datanode-keys = no"
    assert findings(host)[KEYS] == ("warning", said)
    host.store.remove(f"/local/domain/0/backend/vread/{KEYED}")
    assert KEYS not in findings(host)


# ---- create, attach and watch

KEYED_LINE = LINE.replace("dn1", "dn2")
TAKEN = (
    f"datanode dn2: domain {KEYED} has this name already, by keys in xenstore ({KEYS}): each "
    "datanode needs its own\n"
)


@pytest.mark.parametrize("status", [ACCEPTED, "waiting: disk xvdb: none yet", None])
@pytest.mark.parametrize("command", ["create", "check"])
def test_a_name_that_keys_have(host, command, status):
    """It is found before the domain is made."""
    host.store.remove(f"{KEYS}/status")
    if status:
        host.judge(status)
    done = host.run(command, host.config(f'vread = [ "{KEYED_LINE}" ]'))
    assert (done.returncode, done.stderr) == (1, f"xl-vread {command}: {TAKEN}")
    assert (host.xl_calls(), host.keys()) == ([], None)


@pytest.mark.parametrize("domid", [DOMID, KEYED])
def test_attach_of_a_name_that_keys_have(host, domid):
    host.add_domain()
    done = host.run("attach", domid, f"{KEYED_LINE},id=1")
    assert (done.returncode, done.stderr) == (1, f"xl-vread attach: {TAKEN}")
    assert (host.keys(domid, 1), host.record()) == (None, None)


def test_a_name_of_keys_that_are_refused(host):
    """They do not count, whoever has the name."""
    host.judge("refused: tokens: yes: expected auto")
    host.add_disk("xvdb", "/b")
    assert host.create(KEYED_LINE).returncode == 0
    assert host.keys()["name"] == "dn2"


# ---- blocks


def test_blocks_of_datanodes_by_keys(host, served):  # noqa: F811
    (image, _), block = served[0]["dn1"], served[1]["odd"]
    host.add_disk("xvdb", str(image), domid=KEYED)
    listed = json.loads(host.run("blocks", "--json").stdout)
    assert block.id in [b["id"] for b in listed if b["datanode"] == "dn2"]
    host.configure("[xen]\ndatanode-keys = no\n")
    assert json.loads(host.run("blocks", "--json").stdout) == []
    host.configure()
    host.store.put(f"{KEYS}/tokens", "yes")
    assert json.loads(host.run("blocks", "--json").stdout) == []
