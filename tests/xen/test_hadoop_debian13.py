# SPDX-License-Identifier: GPL-2.0-or-later
"""Stock HDFS in three domUs of Debian 13, on its Xen 4.20: a file is written, published and read
through vRead.  Java is Debian 12's, on the C library of Debian 13.  The JNI library is compiled in
Debian 13, as all programs of C are.
"""

import hashlib
import json

import pytest

from tests.support.owner import needs_root
from tests.support.waiting import eventually
from tools.lab import hadoop, product
from tools.lab.debian import TRIXIE
from tools.lab.source import noise

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
COMMAND_SECONDS = 900.0
LAG = 300.0
STATISTICS = "/run/statistics.json"
READER = hadoop.READER | {hadoop.STATISTICS: STATISTICS}


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
    """`hdfs dfs -cat` must give the bytes that were written, the DataNode must serve none of them,
    and the plug-in must have used the library of Debian 13."""
    content = noise(FILE_MIB).path.read_bytes()
    client = hdfs.client
    client.run("cat >/run/whole", stdin=content).check()
    client.run(hdfs.dfs("-put /run/whole /whole"), COMMAND_SECONDS).check()
    hdfs.wait_published(FILE_MIB // BLOCK_MIB)
    served, before = hdfs.bytes_served(), hdfs.backend.bytes_read(client)

    cat = f"set -o pipefail; {hdfs.dfs('-cat /whole', READER)} | sha256sum"
    read = client.text(cat, COMMAND_SECONDS).split()[0]

    assert read == hashlib.sha256(content).hexdigest()
    assert hdfs.bytes_served() == served
    assert hdfs.backend.bytes_read(client) - before >= len(content)
    found = eventually(lambda: client.run(["cat", STATISTICS]).stdout, LAG, "statistics")
    statistics = json.loads(found)
    assert statistics["vread"]["bytes"] == len(content), statistics
    loaded = client.text(["sha256sum", statistics["library"]]).split()[0]
    compiled = (TRIXIE.build / "release" / product.JNI).read_bytes()
    assert loaded == hashlib.sha256(compiled).hexdigest(), statistics
