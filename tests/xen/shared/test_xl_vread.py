# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread with the real xl: a client domain that gets its device again after a reboot, one that xl
alone makes, and a datanode domain whose disks are served because its configuration says so."""

import re
from contextlib import contextmanager

import pytest

from tests.support.provisioning import keys
from tests.support.waiting import eventually
from tests.xen.conftest import watching
from tools.lab import deployment

pytestmark = pytest.mark.xen

CONFIG = ('vread = [ "datanodes=dn1" ]', 'on_reboot="restart"')
PATIENCE = 150.0


@pytest.fixture
def watch(xen_host):
    with watching(xen_host) as process:
        yield process


def devices(host):
    """{(name, domid): state}"""
    lines = [line.split() for line in host.text("xl-vread list").splitlines()[1:]]
    return {(line[0], int(line[1])): line[4] for line in lines}


def read(guest, backend, demo):
    backend.connect(guest)
    guest.put(demo.blocks_file, deployment.BLOCKS)
    assert deployment.file_digest(guest) == demo.sha256


def test_a_domain_has_what_its_configuration_says_also_after_a_reboot(
    xen_host, backend, demo, watch
):
    """A domain with a vread line must have a connected device and read, also after a reboot; after
    detach it must have none.  The toolstack is the real xl, which makes the domain anew by
    itself."""
    with xen_host.create_guest("client", config=CONFIG, create="xl-vread create") as guest:
        read(guest, backend, demo)
        first = guest.domid
        assert devices(xen_host) == {("client", first): "connected"}
        guest.reboot()
        assert guest.domid != first
        read(guest, backend, demo)
        assert devices(xen_host) == {("client", guest.domid): "connected"}
        watch.wait_output(re.escape(f"domain client ({guest.domid}): 1 device made"), PATIENCE)
        xen_host.run("xl-vread detach --wait 120 client").check()
        assert devices(xen_host) == {}
        assert backend.states(guest) == ("", "")


@pytest.fixture
def domain_file(xen_host, tmp_path):
    """The operator's file of a domain that xl-vread does not make."""
    path = "/etc/vread/domains.d/client.cfg"
    source = tmp_path / "client.cfg"
    source.write_text(CONFIG[0] + "\n")
    xen_host.put(source, path)
    yield path
    xen_host.run(f"rm {path}").check()


def test_a_domain_of_plain_xl_has_what_its_file_says(xen_host, backend, demo, watch, domain_file):
    """xl alone creates and reboots the domain, whose configuration says nothing of vRead."""
    with xen_host.create_guest("client", config=CONFIG[1:]) as guest:
        read(guest, backend, demo)
        first = guest.domid
        assert devices(xen_host) == {("client", first): "connected"}
        guest.reboot()
        assert guest.domid != first
        read(guest, backend, demo)
        assert devices(xen_host) == {("client", guest.domid): "connected"}
        refused = xen_host.run("xl-vread detach client")
        assert refused.rc == 1
        assert f"{domain_file} has device 0: remove it there first" in refused.stderr.decode()


def datanode(backend, name):
    return {d["datanode"]: d for d in backend.status()["datanodes"]}.get(name)


def the_image(backend):
    (image,) = datanode(backend, "dn2")["images"]
    return image


def storages(backend, name):
    """The storages that the datanode serves."""
    systems = datanode(backend, name)["filesystems"]
    return {d["storage-id"] for system in systems for d in system["data-dirs"]}


@contextmanager
def give_storages(xen_host, backend, demo):
    """In the block, dn2 has the storages of the image; then dn1 has them again."""
    ids = {directory.storage_id for directory in demo.image_facts.data_dirs}

    def give(name):
        for storage in ids:
            xen_host.run(["xl-vread", "datanode", "give", storage, name]).check()
        eventually(lambda: storages(backend, name) == ids, PATIENCE, f"the storages of {name}")

    give("dn2")
    try:
        yield
    finally:
        give("dn1")


def test_a_domain_that_is_a_datanode(xen_host, backend, demo):
    """A domain's vread line makes it datanode dn2, without a vread.conf.  vreadd must serve the
    disk that the real libxl gave the guest, by keys that the guest cannot read, and stop after
    detach.  The disk is dn1's, too, so the
    operator says whose its storages are."""
    found = " ".join(demo.data_dirs)
    line = f'vread = [ "role=datanode,datanodes=dn2,data-dirs={found}" ]'
    client = ('vread = [ "datanodes=dn2" ]',)
    with xen_host.create_guest(
        "datanode", disks=["phy:/dev/vda,xvdb,w"], config=(line,), create="xl-vread create"
    ) as owner:
        # vreadd shows dn2 after a first look into the image; xl-vread does not wait for that.
        served = eventually(lambda: datanode(backend, "dn2"), seconds=PATIENCE, what="dn2")
        assert served["file"] == keys(owner.domid)
        owned = f"of domain {owner.domid}, written by blkback"
        eventually(lambda: owned in the_image(backend).get("because", ""), PATIENCE, owned)
        listed = xen_host.text("xl-vread list").splitlines()[-1].split()
        assert listed == ["dn2", "datanode", "raw:/dev/vda"]
        nodes = xen_host.text(f"xenstore-ls -p {keys(owner.domid)}").splitlines()
        assert len(nodes) == 4 and all("(n0)" in node for node in nodes), nodes
        with (
            give_storages(xen_host, backend, demo),
            xen_host.create_guest("client", config=client, create="xl-vread create") as guest,
        ):
            read(guest, backend, demo)
        xen_host.run("xl-vread detach --wait 0 --force datanode").check()
        eventually(lambda: datanode(backend, "dn2") is None, PATIENCE, "the end of dn2")
