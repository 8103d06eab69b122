# SPDX-License-Identifier: GPL-2.0-or-later
"""Stock HDFS in domUs that xl alone makes, and that have their devices then: by an xl with the
patches of tools/toolstack/libxl from one vread line in each configuration, and by Debian's xl from
files in /etc/vread/domains.d.  `hdfs dfs -cat` reads through vRead.

test_libxl.py and shared/test_xl_vread.py have all else that these toolstacks do with devices.
"""

import json

import pytest

from tests.support.xen_hadoop import read_through_vread
from tests.xen.conftest import PRODUCT_VARIANT, starter, watching
from tools.lab import hadoop, libxl, product
from tools.lab.hadoop_guests import CLIENT
from tools.lab.hadoop_guests import DATANODE as DATANODE_GUEST
from tools.lab.rootfs import tree_of

pytestmark = [pytest.mark.xen, pytest.mark.hadoop, pytest.mark.slow, pytest.mark.timeout(7200)]

BLOCK_MIB = 4
FILE_MIB = 12
FILES = "/etc/vread/domains.d"
LINES = {
    CLIENT: f'vread = [ "datanodes={hadoop.DATANODE}" ]',
    DATANODE_GUEST: f'vread = [ "role=datanode,datanodes={hadoop.DATANODE}" ]',
}


class MadeByXl(hadoop.Hdfs):
    """HDFS in domUs whose devices nobody attaches.  lines: {domU: of its configuration}."""

    def __init__(self, host, backend, lines):
        super().__init__(host, backend, block_mib=BLOCK_MIB)
        self._lines = lines

    def _creation(self, name):
        return {"config": [self._lines[name]] if name in self._lines else []}

    def _connect(self, name):
        self.backend.connect(self.guests[name])


@pytest.fixture
def start(_hosts):
    """start(name, toolstack={}): a host that lives until the test's end, and its vreadd.
    toolstack: {path in dom0: file} in place of Debian's files."""
    with starter(_hosts) as start_host:

        def start(name, toolstack=()):
            files = tree_of(product.dom0_files(PRODUCT_VARIANT))
            for path, file in dict(toolstack).items():
                files.file(path, file)
            host = start_host(
                name,
                memory_mib=hadoop.HOST_MIB,
                dom0_mib=hadoop.DOM0_MIB,
                disks=hadoop.disks(),
                files=files,
                guest_files=product.guest_files(PRODUCT_VARIANT),
            )
            backend = hadoop.backend(host)
            backend.start()
            return host, backend

        yield start


def devices_of_xl(host, name):
    """The vread devices that libxl knows of the domain."""
    (found,) = json.loads(host.text(["xl", "list", "-l", name]))
    return found["config"].get("vreads", [])


def test_one_line_for_a_patched_xl(start):
    try:
        toolstack = libxl.patched()
    except libxl.NoSource as error:
        pytest.skip(str(error))
    host, backend = start("hadoop-libxl", toolstack)
    hdfs = MadeByXl(host, backend, LINES)
    hdfs.start()
    read_through_vread(hdfs, FILE_MIB, BLOCK_MIB)
    assert [device["datanodes"] for device in devices_of_xl(host, CLIENT)] == [[hadoop.DATANODE]]


def test_a_file_beside_debians_xl(start, tmp_path):
    host, backend = start("hadoop-file")
    for name, line in LINES.items():
        source = tmp_path / name
        source.write_text(f"{line}\n")
        host.put(source, f"{FILES}/{name}.cfg")
    with watching(host):
        hdfs = MadeByXl(host, backend, {})
        hdfs.start()
        read_through_vread(hdfs, FILE_MIB, BLOCK_MIB)
    assert devices_of_xl(host, CLIENT) == []
