# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports about domains and their names (tests/field/README.md), with xl-vread watch and a small
xenstored."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import XL_VREAD, endpoint, xenstored  # noqa: F401
from tests.cli.test_xl_vread import DOMID, UUID, Host, watch  # noqa: F401
from tests.cli.test_xl_vread_domain_file import allowed, introduce, put_file
from tests.support.waiting import eventually

ODD = "web 1/Ünï;$(x)"


def watches(store):
    with store.lock:
        return sum(len(client.watches) for client in store.clients.values())


@pytest.fixture
def host(tmp_path, xenstored):  # noqa: F811
    return Host(tmp_path, xenstored)


def test_a_domain_gets_its_name_last(host, watch):  # noqa: F811
    """xl migrate gives the domain another name until its memory has arrived."""
    put_file(host, "web", 'vread = [ "datanodes=dn1" ]')
    put_file(host, "friend", 'vread = [ "datanodes=dn2" ]')
    host.add_domain(12, name="web--incoming")
    introduce(host)
    host.add_domain(13, name="friend", uuid=UUID.replace("6d", "bb"))
    introduce(host)
    assert watch.stdout.readline() == "domain friend (13): 1 device made\n"
    assert allowed(host, 12) is None
    host.store.put("/local/domain/12/name", "web")
    assert watch.stdout.readline() == "domain web (12): 1 device made\n"
    assert allowed(host, 12) == "dn1"


@pytest.mark.parametrize("late", ["name", "vm"])
def test_nodes_that_come_after_the_domain(host, watch, late):  # noqa: F811
    host.keep("datanodes=dn1")
    put_file(host, "friend", 'vread = [ "datanodes=dn2" ]')
    values = {"device": "", "name": "web", "vm": f"/vm/{UUID}"}
    for node, value in values.items():
        if node != late:
            host.store.put(f"/local/domain/12/{node}", value)
    introduce(host)
    host.add_domain(13, name="friend", uuid=UUID.replace("6d", "bb"))
    introduce(host)
    assert watch.stdout.readline() == "domain friend (13): 1 device made\n"
    host.store.put(f"/local/domain/12/{late}", values[late])
    assert watch.stdout.readline() == "domain web (12): 1 device made\n"


def test_a_renamed_domain_keeps_its_devices(host, watch):  # noqa: F811
    """The record is the UUID's.  A domain that comes back by another name has it, too."""
    host.keep("datanodes=dn1")
    host.add_domain(12)
    introduce(host)
    assert watch.stdout.readline() == "domain web (12): 1 device made\n"
    host.store.put("/local/domain/12/name", "shop")
    host.store.remove("/local/domain/12")
    host.add_domain(13, name="shop")
    introduce(host)
    assert watch.stdout.readline() == "domain shop (13): 1 device made\n"


def test_a_name_of_odd_characters(host, watch):  # noqa: F811
    host.keep("datanodes=dn1")
    host.add_domain(12, name=ODD)
    introduce(host)
    assert watch.stdout.readline() == f"domain {ODD} (12): 1 device made\n"
    listed = host.run("list")
    assert listed.returncode == 0 and "dn1" in listed.stdout
    assert host.run("detach", "12").returncode == 0
    assert host.record() in (None, [])


def test_watches_of_domains_that_are_gone(host, watch):  # noqa: F811
    """A host whose domains come and go for years has as many watches as domains."""
    host.keep("datanodes=dn1")
    for domid in range(12, 40):
        host.add_domain(domid)
        introduce(host)
        assert watch.stdout.readline() == f"domain web ({domid}): 1 device made\n"
        host.store.remove(f"/local/domain/{domid}")
    host.add_domain(DOMID)
    introduce(host)
    assert watch.stdout.readline() == f"domain web ({DOMID}): 1 device made\n"
    assert watches(host.store) <= 1 + 2 * 2


def test_xenstored_ends(host):
    """watch ends, too, so that its service is started again, and does not run in circles."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    host.keep("datanodes=dn1")
    host.add_domain()
    process = subprocess.Popen([XL_VREAD, "watch"], env=host.environment, text=True, **pipes)
    try:
        assert process.stdout.readline() == f"domain web ({DOMID}): 1 device made\n"
        # It waits for events, which do not come any more.
        where = Path(f"/proc/{process.pid}/wchan")
        eventually(lambda: where.read_text().startswith("poll"))
        host.store.hang_up()
        _, said = process.communicate(timeout=60)
        assert process.returncode not in (0, -signal.SIGKILL)
        assert said.startswith("xl-vread watch: xenstore")
    finally:
        process.kill()
        process.communicate()
