# SPDX-License-Identifier: GPL-2.0-or-later
"""The publisher without its device, its library or its backend.  The datanode must work on, and
warn once about what is missing."""

import os
import re
import signal
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.support.hadoop_client import HadoopClient
from tests.support.publisher import FACTORY, JAR, PublisherBed, publisher_warnings, until
from tests.support.waiting import eventually
from tools.hdfs import HdfsCluster, HdfsError, jvm

pytestmark = pytest.mark.hadoop

GUIDE = (Path(__file__).parents[2] / "docs/hadoop.md").read_text()
BLOCK_SIZE = 1 << 20
BEAN = "io.vread:type=Publisher"
NO_DEVICE, NO_LIBRARY, RAM_DISK, DISABLED = ("dn1", "dn2", "dn3", "dn4")


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    with PublisherBed(tmp_path_factory.mktemp("faults")) as running:
        yield running


@pytest.fixture(scope="module")
def lacking(tmp_path_factory):
    """A cluster of four datanodes that each lack one thing.  A file with replicas on all four was
    written, appended to, read and deleted."""
    folder = tmp_path_factory.mktemp("lacking")
    cluster = HdfsCluster(
        folder / "c", block_size=BLOCK_SIZE, datanodes=4, replication=4, conf=FACTORY
    )
    for datanode in cluster.datanodes:
        datanode.class_path = [JAR]
    cluster.datanode(NO_LIBRARY).class_path = [without_library(folder)]
    directories = f"[RAM_DISK]file://{folder}/ram,[DISK]file://{folder}/disk"
    cluster.datanode(RAM_DISK).conf = {"dfs.datanode.data.dir": directories}
    cluster.datanode(DISABLED).conf = {"io.vread.enabled": "false"}
    with cluster, HadoopClient(cluster, {}, folder / "client.log") as client:
        life_of_a_file(cluster, client, folder)
        yield cluster


def without_library(folder):
    jar = folder / "without-library.jar"
    with zipfile.ZipFile(JAR) as whole, zipfile.ZipFile(jar, "w") as bare:
        for name in whole.namelist():
            if not name.startswith("native/"):
                bare.writestr(name, whole.read(name))
    return jar


def life_of_a_file(cluster, client, folder):
    def shell(*words):
        client.do("shell", program="dfs", words=list(map(str, words)))

    local = folder / "local"
    local.write_bytes(os.urandom(2 * BLOCK_SIZE))
    shell("-put", local, "/file")
    shell("-appendToFile", local, "/file")
    shell("-get", "/file", folder / "back")
    assert (folder / "back").read_bytes() == 2 * local.read_bytes()
    assert len(cluster.blocks("/file")) == 4
    eventually(lambda: all(len(b.storage_ids) == 4 for b in cluster.blocks("/file")))
    shell("-rm", "-skipTrash", "/file")


def test_no_device_and_only_the_one_property(lacking):
    assert lacking.jmx(NO_DEVICE, BEAN)["Finalized"] == 0
    (warning,) = publisher_warnings(lacking, NO_DEVICE)
    assert "/dev/vread: ENOENT" in warning


def test_no_library(lacking):
    (warning,) = publisher_warnings(lacking, NO_LIBRARY)
    assert "libvread_jni.so" in warning


def test_a_ram_disk(lacking):
    """With a RAM_DISK the publisher must switch itself off and warn: Hadoop's lazy writer casts the
    datanode's data set to the stock class."""
    (warning,) = publisher_warnings(lacking, RAM_DISK)
    assert "RAM_DISK" in warning
    with pytest.raises(HdfsError, match="no JMX bean"):
        lacking.jmx(RAM_DISK, BEAN)


def test_disabled(lacking):
    assert publisher_warnings(lacking, DISABLED) == []


def loads(class_path, name):
    """True if the command of docs/hadoop.md finds the class."""
    words = re.search(rf"^    hdfs (\S+) load {name}$", GUIDE, re.M)
    command = jvm.java_command(class_path, words[1], ["load", name])
    return subprocess.run(command, capture_output=True).returncode == 0


def test_the_property_without_the_jar(tmp_path):
    """The DataNode must not start, as docs/hadoop.md says.  The command there shows before whether
    the jar is in its place."""
    cluster = HdfsCluster(tmp_path / "c", conf=FACTORY)
    (name,) = FACTORY.values()
    with pytest.raises(HdfsError):
        cluster.start()
    log = (cluster.logs / "dn1.log").read_text()
    assert f"ClassNotFoundException: Class {name} not found" in log
    assert not loads(cluster.class_path, name)
    assert loads(f"{JAR}:{cluster.class_path}", name)


def test_a_hung_backend(bed):
    """vreadd hangs: files must be written and appended to meanwhile, and events must go on once
    vreadd answers again."""
    bed.vreadd.suspend()
    try:
        local = bed.write("/while-hung", BLOCK_SIZE + 1000)
        bed.append(local, "/while-hung")
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
    bed.append(local, "/while-dead")
    assert bed.content("/while-dead") == 2 * local.read_bytes()
    waiting = bed.bean()
    assert waiting["pending"] > 0
    bed.start_vreadd()
    # The waiting events are published.  The new vreadd may first have to find the directories.
    until(lambda: bed.bean()["pending"] == 0, lambda: f"empty queue: {bed.bean()}")
    until(bed.served, lambda: f"data directories: {bed.vreadd.status()['datanodes']}")
    before = bed.bean()["finalized"]
    bed.write("/after-dead", 1000)
    until(lambda: bed.bean()["finalized"] > before, lambda: f"events again: {bed.bean()}")
    assert bed.heard()["finalized"] > 0
    assert "Exception" not in "".join(line for line in bed.log().splitlines() if "vread:" in line)
