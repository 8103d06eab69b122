# SPDX-License-Identifier: GPL-2.0-or-later
"""Stock HDFS in three domUs of Debian 13, on its Xen 4.20: a file is written, published and read
through vRead.  Java is Debian 12's, on the C library of Debian 13.  The JNI library is compiled in
Debian 13, as all programs of C are.
"""

import hashlib

import pytest

from tests.support.owner import needs_root
from tests.support.xen_hadoop import read_through_vread
from tools.lab import hadoop, product
from tools.lab.debian import TRIXIE

# The first run makes the system by debootstrap, which takes ten minutes.
pytestmark = [
    pytest.mark.xen,
    pytest.mark.hadoop,
    pytest.mark.slow,
    needs_root,
    pytest.mark.timeout(7200),
]

BLOCK_MIB = 4
FILE_MIB = 12


@pytest.fixture(scope="module")
def hdfs(start_host):
    product.make(TRIXIE)
    host = start_host(
        "hadoop-debian13",
        debian=TRIXIE,
        memory_mib=hadoop.HOST_MIB,
        dom0_mib=hadoop.DOM0_MIB,
        disks=hadoop.disks(),
        files=product.dom0_files("release", TRIXIE),
        guest_files=product.guest_files("release", TRIXIE),
    )
    backend = hadoop.backend(host)
    backend.start()
    hdfs = hadoop.Hdfs(host, backend, block_mib=BLOCK_MIB)
    hdfs.start()
    return hdfs


def test_what_was_written_is_read_through_vread(hdfs):
    """The plug-in must have used the library of Debian 13."""
    statistics = read_through_vread(hdfs, FILE_MIB, BLOCK_MIB)
    loaded = hdfs.client.text(["sha256sum", statistics["library"]]).split()[0]
    compiled = (TRIXIE.build / "release" / product.JNI).read_bytes()
    assert loaded == hashlib.sha256(compiled).hexdigest(), statistics
