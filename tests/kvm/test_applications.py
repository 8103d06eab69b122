# SPDX-License-Identifier: GPL-2.0-or-later
"""TestDFSIO in a client guest of KVM reads stock HDFS by vRead.  Xen's guests run it and further
applications (tests/xen/test_applications.py).

The module is slow: Hadoop's JVMs run on emulated processors.
"""

import pytest

from tests.guest.applications import BLOCK_MIB, Bed, test_dfsio  # noqa: F401
from tools.lab import applications, hadoop, hadoop_kvm, product
from tools.lab.application_disk import application_disk
from tools.lab.hadoop_state import APPLICATIONS_DISK
from tools.lab.java_program import WarmShell
from tools.lab.kvm_host import KvmHost
from tools.lab.qemu import Disk

pytestmark = [pytest.mark.kvm, pytest.mark.hadoop, pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def bed():
    disk = Disk(application_disk(), "readonly")
    with KvmHost("applications-kvm", product.guest_files("release")) as host:
        backend = hadoop_kvm.backend(host, more=[disk])
        hdfs = hadoop.Hdfs(
            host,
            backend,
            block_mib=BLOCK_MIB,
            client_disks=[APPLICATIONS_DISK],
            client_files=WarmShell.files(),
            client_mib=applications.GUEST_MIB,
        )
        hdfs.start()
        applications.mount(hdfs.client)
        with hdfs.shell() as shell:
            yield Bed(hdfs, backend, shell)
        host.check_dmesg()
        hadoop_kvm.image(host).unlink()
