# SPDX-License-Identifier: GPL-2.0-or-later
"""HDFS's disks and vreadd for guests of KVM (kvm_host.py), which hadoop.Hdfs then boots.  The demo,
the benches and tests use it.

    with KvmHost("h", product.guest_files("release")) as host:
        backend = hadoop_kvm.backend(host, more=[source.disk])
        hdfs = hadoop.Hdfs(host, backend, client_disks=[SOURCE_DISK])
        hdfs.start()
"""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from . import hadoop
from .deployment import Datanode
from .hadoop_guests import CLIENT, DATA_DIR, DATANODE
from .kvm_host import KvmBackend, KvmHost
from .qemu import Disk


def image(host: KvmHost) -> Path:
    """The DataNode's image.  The caller may remove it at the end: the folder stays."""
    return host.folder / "data.raw"


def backend(host: KvmHost, more: Sequence[Disk] = ()) -> KvmBackend:
    """vreadd, which runs.  The guests have the data disk, the Java disk, and `more`."""
    data, java = hadoop.disks()
    shutil.copy(data.path, image(host))
    host.disks = [replace(data, path=image(host)), java, *more]
    served = {hadoop.DATANODE: Datanode(str(image(host)), data_dirs=(DATA_DIR,))}
    running = KvmBackend(host, served)
    running.allow(CLIENT, hadoop.DATANODE)
    running.allow(DATANODE, hadoop.DATANODE, role="datanode")
    running.start()
    return running
