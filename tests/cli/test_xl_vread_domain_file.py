# SPDX-License-Identifier: GPL-2.0-or-later
"""The operator's files for domains that another toolstack makes (domains.d): which file counts for
which domain, what `xl-vread watch` makes of it, and what the other commands say.

tests/xen/shared/test_xl_vread.py has a domain that the real xl makes.
"""

import signal

import pytest

from tests.cli.test_xl_vread import DOMID, UUID, Host, watching
from tests.cli.test_xl_vread_datanode import DatanodeHost, keys
from tests.support.waiting import eventually

OTHER = UUID.replace("6d", "aa")


def put_file(host, name, *lines):
    folder = host.folder / "domains.d"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.cfg"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def allowed(host, domid=DOMID, device=0):
    return host.store.value(f"/local/domain/0/backend/vread/{domid}/{device}/allow-datanodes")


def introduce(host):
    host.store.put("@introduceDomain", "")


@pytest.fixture
def host(tmp_path, xenstored):
    return Host(tmp_path, xenstored)


@pytest.fixture
def watch(host):
    with watching(host) as process:
        yield process


@pytest.mark.parametrize("name", ["web", UUID])
def test_a_domain_of_another_toolstack(host, watch, name):
    put_file(host, name, "# a comment", 'vread = [ "datanodes=dn1", "datanodes=dn2, queues=2" ]')
    host.add_domain()
    introduce(host)
    assert watch.stdout.readline() == f"domain web ({DOMID}): 2 devices made\n"
    assert (allowed(host), allowed(host, device=1)) == ("dn1", "dn2")
    assert host.record() is None
    host.add_domain(12)  # it comes back
    introduce(host)
    assert watch.stdout.readline() == "domain web (12): 2 devices made\n"


def test_which_file_counts(host, watch):
    """The record of `xl-vread create`, then the file of the UUID, then that of the name."""
    put_file(host, "web", 'vread = [ "datanodes=named" ]')
    put_file(host, OTHER, 'vread = [ "datanodes=uuid" ]')
    host.keep("datanodes=recorded")
    host.add_domain(11)
    host.add_domain(12, uuid=OTHER)
    host.add_domain(13, uuid=UUID.replace("6d", "bb"))
    introduce(host)
    for domid in (11, 12, 13):
        assert watch.stdout.readline() == f"domain web ({domid}): 1 device made\n"
    assert [allowed(host, domid) for domid in (11, 12, 13)] == ["recorded", "uuid", "named"]


def test_a_name_is_no_path(host, watch):
    put_file(host, "web", 'vread = [ "datanodes=dn1" ]')
    host.add_domain(11, name="../domains.d/web", uuid=OTHER)
    host.add_domain(12)
    introduce(host)
    assert watch.stdout.readline() == "domain web (12): 1 device made\n"
    assert allowed(host, 11) is None


@pytest.mark.parametrize(
    "lines, message",
    [
        (["vread = [ 'datanodes=' ]"], "vread[0] 'datanodes=': "),
        (["vread = 'datanodes=dn1'"], "vread: expected a list"),
        (["vread = ["], "expected a configuration as in xl.cfg(5)"),
        (
            ["vread = [ 'role=datanode,datanodes=dn1,data-dirs=/d' ]"],
            "vread[0]: data-dirs: expected folders and disks by name",
        ),
        (
            ["vread = [ 'role=datanode,datanodes=dn1,data-dirs=auto,disks=xvdb' ]"],
            "vread[0]: data-dirs: expected folders and disks by name",
        ),
    ],
)
def test_a_file_with_a_mistake(host, lines, message):
    """It is named with its place, and no other domain has to wait for its correction."""
    path = put_file(host, "web", *lines)
    put_file(host, "good", 'vread = [ "datanodes=dn1" ]')
    host.add_domain()
    host.add_domain(13, name="good", uuid=OTHER)
    done = host.run("list")
    assert f"{path}: {message}" in done.stderr
    with watching(host) as watch:
        assert watch.stdout.readline() == "domain good (13): 1 device made\n"
    assert allowed(host) is None


def test_a_change_counts_after_a_reload(host, watch):
    put_file(host, "web", 'vread = [ "datanodes=dn1" ]')
    host.add_domain()
    introduce(host)
    assert watch.stdout.readline() == f"domain web ({DOMID}): 1 device made\n"
    path = put_file(host, "web", 'vread = [ "datanodes=dn1", "datanodes=dn2" ]')
    watch.send_signal(signal.SIGHUP)
    assert watch.stdout.readline() == f"domain web ({DOMID}): 1 device made\n"

    done = host.run("detach", "--id", "1", "web")
    assert (done.returncode, done.stderr) == (
        1,
        f"xl-vread detach: domain web: {path} has device 1: remove it there first\n",
    )
    assert allowed(host, device=1) == "dn2"
    put_file(host, "web", 'vread = [ "datanodes=dn1" ]')
    assert host.run("detach", "--force", "--wait", "0", "--id", "1", "web").returncode == 0
    assert (allowed(host), allowed(host, device=1)) == ("dn1", None)


def test_a_file_keeps_its_say(host):
    """With a record the file would count no longer, and its changes would have no effect."""
    path = put_file(host, "web", 'vread = [ "datanodes=dn1" ]')
    host.add_domain()
    done = host.run("attach", "web", "datanodes=dn2")
    assert done.returncode == 1
    assert f"domain web: its devices are those of {path}: add the device there" in done.stderr
    assert host.record() is None
    assert host.run("attach", "--temporary", "web", "datanodes=dn2,id=5").returncode == 0
    assert allowed(host, device=5) == "dn2"
    assert host.run("list").stdout.splitlines()[1].split()[2:] == ["0", "client", "missing", "dn1"]


def test_a_datanode(tmp_path, xenstored):
    """Its disks appear after the domain, and vreadd waits for them.  A change of the line counts
    after a reload.  Without the file they are served no longer."""
    host = DatanodeHost(tmp_path, xenstored)
    line = "role=datanode,datanodes=dn1,data-dirs=/dfs/data,disks=xvdb xvdc"
    path = put_file(host, "web", f'vread = [ "{line}" ]')
    with watching(host) as watch:
        host.add_domain()
        introduce(host)
        assert watch.stdout.readline() == f"domain web ({DOMID}): 1 device made\n"
        assert host.keys() == keys("xvdb xvdc")
        put_file(host, "web", f'vread = [ "{line},tokens=required" ]')
        watch.send_signal(signal.SIGHUP)
        eventually(lambda: host.keys() == keys("xvdb xvdc", tokens="required"))
        path.unlink()
        assert host.run("detach", "--force", "--wait", "0", "web").returncode == 0
        assert host.keys() is None
