# SPDX-License-Identifier: GPL-2.0-or-later
"""The publisher without what it needs: the datanode works on, and says once what is missing."""

import os
import signal
import zipfile

import pytest

from tests.support.publisher import FACTORY, JAR, PublisherBed, publisher_warnings, until
from tools.hdfs import HdfsCluster, HdfsError

pytestmark = pytest.mark.hadoop

BLOCK_SIZE = 1 << 20


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    with PublisherBed(tmp_path_factory.mktemp("faults")) as running:
        yield running


def life_of_a_file(cluster, folder):
    local = folder / "local"
    local.write_bytes(os.urandom(2 * BLOCK_SIZE))
    cluster.put(local, "/file")
    cluster.append(local, "/file")
    cluster.get("/file", folder / "back")
    assert (folder / "back").read_bytes() == 2 * local.read_bytes()
    assert len(cluster.blocks("/file")) == 4
    cluster.rm("/file")


def test_no_device_and_only_the_one_property(tmp_path):
    cluster = HdfsCluster(tmp_path / "c", block_size=BLOCK_SIZE, class_path=[JAR], conf=FACTORY)
    with cluster:
        life_of_a_file(cluster, tmp_path)
        bean = cluster.jmx("dn1", "io.vread:type=Publisher")
        assert bean["finalized"] == 0
        (warning,) = publisher_warnings(cluster)
        assert "/dev/vread: ENOENT" in warning


def test_no_library(tmp_path):
    jar = tmp_path / "without-library.jar"
    with zipfile.ZipFile(JAR) as whole, zipfile.ZipFile(jar, "w") as bare:
        for name in whole.namelist():
            if not name.startswith("native/"):
                bare.writestr(name, whole.read(name))
    cluster = HdfsCluster(tmp_path / "c", block_size=BLOCK_SIZE, class_path=[jar], conf=FACTORY)
    with cluster:
        life_of_a_file(cluster, tmp_path)
        (warning,) = publisher_warnings(cluster)
        assert "libvread_jni.so" in warning


def test_a_ram_disk(tmp_path):
    """The lazy writer casts the datanode's data set to the stock class."""
    cluster = HdfsCluster(tmp_path / "c", block_size=BLOCK_SIZE, class_path=[JAR], conf=FACTORY)
    directories = f"[RAM_DISK]file://{tmp_path}/ram,[DISK]file://{tmp_path}/disk"
    cluster.datanode("dn1").conf = {"dfs.datanode.data.dir": directories}
    with cluster:
        (tmp_path / "local").write_bytes(b"x" * 10)
        cluster.put(tmp_path / "local", "/file")
        assert len(cluster.blocks("/file")) == 1
        (warning,) = publisher_warnings(cluster)
        assert "RAM_DISK" in warning
        with pytest.raises(HdfsError, match="no JMX bean"):
            cluster.jmx("dn1", "io.vread:type=Publisher")


def test_disabled(tmp_path):
    conf = FACTORY | {"io.vread.enabled": "false"}
    cluster = HdfsCluster(tmp_path / "c", block_size=BLOCK_SIZE, class_path=[JAR], conf=conf)
    with cluster:
        (tmp_path / "local").write_bytes(b"x" * 10)
        cluster.put(tmp_path / "local", "/file")
        assert publisher_warnings(cluster) == []


def test_a_hung_backend(bed):
    """It costs the datanode a timeout; events go on once it answers again."""
    bed.vreadd.suspend()
    try:
        local = bed.write("/while-hung", BLOCK_SIZE + 1000)
        bed.cluster.append(local, "/while-hung")
        reasons = bed.bean()["reasons"]
    finally:
        bed.vreadd.resume()
    assert reasons.keys() & {"ETIME", "ENOTCONN"}, "the append was not to be published"
    before = bed.bean()["finalized"]
    bed.write("/after-hung", 1000)
    until(lambda: bed.bean()["finalized"] > before, lambda: f"events again: {bed.bean()}")


def test_a_killed_backend_and_its_successor(bed):
    os.kill(bed.vreadd.pid, signal.SIGKILL)
    local = bed.write("/while-dead", BLOCK_SIZE + 1000)
    bed.cluster.append(local, "/while-dead")
    bed.cluster.get("/while-dead", local.with_name("back"))
    assert local.with_name("back").read_bytes() == 2 * local.read_bytes()
    waiting = bed.bean()
    assert waiting["pending"] > 0
    bed.start_vreadd()
    # What waited is published; the new backend may first have to find the directories.
    until(lambda: bed.bean()["pending"] == 0, lambda: f"empty queue: {bed.bean()}")
    until(bed.served, lambda: f"data directories: {bed.vreadd.status()['datanodes']}")
    before = bed.bean()["finalized"]
    bed.write("/after-dead", 1000)
    until(lambda: bed.bean()["finalized"] > before, lambda: f"events again: {bed.bean()}")
    assert bed.heard()["finalized"] > 0
    assert "Exception" not in "".join(line for line in bed.log().splitlines() if "vread:" in line)
