# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode that a toolstack provisions with ten lines of shell, those of docs/provisioning.md.
The domains are plain xl's, and xl-vread does nothing for the datanode."""

import pytest

from tests.support.provisioning import keys, provision
from tests.support.waiting import eventually
from tests.xen.shared.test_xl_vread import PATIENCE, datanode, give_storages, read

pytestmark = pytest.mark.xen


def status(host, domid):
    return host.text(f"xenstore-read {keys(domid)}/status || true").strip()


def test_ten_lines_of_shell(xen_host, backend, demo):
    """The real libxl makes the disk, the script writes the keys, and a client domain reads a file
    out of the disk.  The keys are private, also for the real xenstored.  With the domain ends the
    datanode, and vreadd removes what the script wrote.

    The disk is dn1's, too, so the operator says whose its storages are."""
    client = ('vread = [ "datanodes=dn2" ]',)
    with xen_host.create_guest("datanode", disks=["phy:/dev/vda,xvdb,w"]) as owner:
        domid = owner.domid
        xen_host.run(provision(domid, "dn2", "xvdb", " ".join(demo.data_dirs))).check()
        eventually(lambda: status(xen_host, domid) == "accepted: dn2", PATIENCE, "accepted")
        served = eventually(lambda: datanode(backend, "dn2"), PATIENCE, "dn2")
        assert served["file"] == keys(domid)
        listed = xen_host.text(f"xenstore-ls -p {keys(domid)}").splitlines()
        assert len(listed) == 4 and all("(n0)" in line for line in listed), listed
        checked = xen_host.run("xl-vread xenstore check").stdout.decode()
        assert f"{keys(domid)}" not in checked, checked
        with (
            give_storages(xen_host, backend, demo),
            xen_host.create_guest("client", config=client, create="xl-vread create") as guest,
        ):
            read(guest, backend, demo)
    eventually(lambda: datanode(backend, "dn2") is None, PATIENCE, "the end of dn2")
    left = f"xenstore-ls /local/domain/0/backend/vread/{domid} 2>/dev/null | wc -l"
    eventually(lambda: xen_host.text(left).strip() == "0", PATIENCE, "the end of the keys")
