# SPDX-License-Identifier: GPL-2.0-or-later
"""A domain that libvirt's driver for Xen makes, and makes again after a reboot, with a file in
/etc/vread/domains.d.  libvirt, as any toolstack but xl-vread, knows nothing of vRead.
"""

import pytest

from tests.xen.conftest import PRODUCT_VARIANT, serving, watching
from tools.lab import deployment, libvirt_xen, product
from tools.lab.rootfs import tree_of

pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(2400)]

HOST_MIB, DOM0_MIB = 2048, 896
FILE = "/etc/vread/domains.d/client.cfg"
LINE = 'vread = [ "datanodes=dn1" ]\n'


@pytest.fixture(scope="module")
def backend(start_host, demo):
    files = tree_of(product.dom0_files(PRODUCT_VARIANT))
    libvirt_xen.install(files)
    host = start_host(
        "libvirt",
        memory_mib=HOST_MIB,
        dom0_mib=DOM0_MIB,
        disks=[demo.image],
        files=files,
        guest_files=product.guest_files(PRODUCT_VARIANT),
    )
    libvirt_xen.start(host)
    datanodes = {"dn1": deployment.Datanode("/dev/vda", data_dirs=demo.data_dirs)}
    with serving(host, datanodes) as backend:
        yield backend


def names(host):
    """The names of the domains that libvirt runs."""
    return set(host.text(f"{libvirt_xen.VIRSH} list --name").split())


def test_a_domain_of_libvirt_has_what_its_file_says(backend, demo, tmp_path):
    host = backend.host
    source = tmp_path / "client.cfg"
    source.write_text(LINE)
    host.put(source, FILE)

    def reads(guest):
        backend.connect(guest)
        guest.put(demo.blocks_file, deployment.BLOCKS)
        return deployment.file_digest(guest) == demo.sha256

    restarts = ('on_reboot="restart"',)
    with (
        watching(host),
        host.create_guest("client", config=restarts, create=libvirt_xen.CREATE) as guest,
    ):
        assert "client" in names(host)
        assert reads(guest)
        first = guest.domid
        guest.reboot()
        assert guest.domid != first and "client" in names(host)
        assert reads(guest)
