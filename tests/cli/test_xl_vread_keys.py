# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread's commands beside datanodes that a toolstack provisions by keys in xenstore.

Domain 12 is datanode dn2 by keys.  tests/protocol/test_provisioning.py has the keys themselves.
"""

import subprocess

import pytest

from tests.cli.test_xl_vread import DOMID, UUID
from tests.cli.test_xl_vread_datanode import DatanodeHost
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
    assert datanodes(host) == [HEAD, STORE, f"    by keys in xenstore: {ACCEPTED}"]
    host.add_disk("xvdb", "/b")
    assert host.create().returncode == 0
    assert datanodes(host) == [HEAD, WEB, STORE, f"    by keys in xenstore: {ACCEPTED}"]


@pytest.mark.parametrize(
    "status, said",
    [
        ("refused: tokens: yes: expected auto", "refused: tokens: yes: expected auto"),
        (None, "vreadd has not seen them yet"),
    ],
)
def test_list_says_what_vreadd_decided(host, status, said):
    host.store.remove(f"{KEYS}/status")
    if status:
        host.judge(status)
    assert datanodes(host) == [HEAD, STORE, f"    by keys in xenstore: {said}"]


def test_list_of_keys_that_vreadd_will_refuse(host):
    """Without a vreadd, too, list says what is wrong with them."""
    host.store.remove(f"{KEYS}/status")
    host.store.put(f"{KEYS}/disk", "xvdb")
    assert datanodes(host)[-1] == "    by keys in xenstore: disk: no key has this name"


def test_list_of_a_disk_that_is_not_there(host):
    host.store.put(f"{KEYS}/disks", "xvdb xvdc")
    assert STORE in datanodes(host)


def test_list_with_keys_turned_off(host):
    host.configure("[xen]\ndatanode-keys = no\n")
    assert datanodes(host) == []


def test_list_beside_a_vread_conf_with_mistakes(host):
    """Mistakes in the file do not matter to keys."""
    host.vread_conf.write_text("[xen]\nenabled = perhaps\n")
    done = host.run("list")
    assert done.returncode == 1
    assert "has mistakes, so the datanodes that have a file are not listed" in done.stderr
    assert STORE in done.stdout


def test_list_of_a_domain_without_a_name(host):
    host.store.remove(f"/local/domain/{KEYED}/name")
    assert datanodes(host)[1].split() == ["dn2", "(domain", "12)", "raw:/store"]
