# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults in vRead, or in the replicas below HDFS, which readers must not notice.

No read may fail that TCP would serve.  Because of vRead no datanode may count as dead, and no
replica may be reported corrupt.  The counters must say why vRead was not used.
"""

import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

import pytest

from tests.support.clock import Clock
from tests.support.hadoop_bed import BLAME, ONE_COLUMN, SOON, by_tcp, known, served
from tests.support.hadoop_client import JAR, ClientError, another_user
from tests.support.waiting import eventually
from tools.hdfs.plug_in import BUILDER_ALONE

pytestmark = pytest.mark.hadoop

READERS = 8


@pytest.fixture
def unharmed(bed):
    """HDFS must be unharmed, and the client must have blamed no datanode and no replica."""
    said = len(bed.client.logged())
    with bed.unharmed():
        yield
    assert not BLAME.search(bed.client.logged()[said:])


# ---- the backend ------------------------------------------------------------


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_backend_goes_and_comes_back_under_readers(bed, unharmed, restored, how):
    bed.client.do("readers-start", readers=READERS)
    with_vread = bed.client.do("readers-progress")
    (bed.vreadd.end if how == "stopped" else bed.vreadd.kill)()
    without = bed.client.do("readers-progress", rounds=3 * READERS)
    bed.vreadd.start()
    eventually(lambda: "vread.bytes" in bed.client.do("readers-progress")["stats"])
    result = bed.client.do("readers-stop")
    assert result["errors"] == []
    assert with_vread["stats"]["vread.bytes"] > 0
    assert without["stats"]["fallback.blocks"] > 0
    told = {name for name in without["stats"] if name.startswith("fallback.reasons.")}
    assert told <= {"fallback.reasons.backoff", "fallback.reasons.ENOTCONN"}, without


@ONE_COLUMN
def test_hung_backend_costs_one_timeout(bed, unharmed, restored, tmp_path):
    """vreadd hangs under readers.  Each reader may wait for one timeout, none for two."""
    clock = Clock(tmp_path / "clock")
    with bed.another_client(tmp_path, clock=clock) as client:
        bed.wait_until_served(client)
        client.do("readers-start", readers=READERS)
        client.do("readers-progress")
        bed.vreadd.suspend()
        hung = client.do_as_time_passes("readers-progress", rounds=4 * READERS)
        bed.vreadd.resume()
        result = client.do("readers-stop")
        assert not BLAME.search(client.logged())
    assert result["errors"] == []
    stats = hung["stats"]
    assert stats["fallback.blocks"] > 0, hung
    # Each reader waits in a READ, or in the OPEN of its next file: perhaps all in an OPEN.
    failed_reads = stats.get("vread.failures", 0)
    assert failed_reads + stats.get("fallback.reasons.ETIME", 0) >= 1, hung
    # A reader that has gone over to TCP does not wait for vreadd again.
    assert failed_reads <= READERS, hung


@ONE_COLUMN
def test_backend_that_hangs_from_the_start(bed, unharmed, restored, tmp_path):
    bed.vreadd.suspend()
    with bed.another_client(tmp_path, clock=Clock(tmp_path / "clock")) as client:
        answer = client.do_as_time_passes("read", way="pread")
        by_tcp(answer, "ETIME", "backoff")
        assert answer["stats"]["fallback.reasons.ETIME"] == 1, answer
        bed.vreadd.resume()
        bed.wait_until_served(client)


# ---- the way to it -----------------------------------------------------------


@ONE_COLUMN
def test_no_device(bed, tmp_path):
    properties = bed.properties(endpoint=str(tmp_path / "none"))
    with bed.another_client(tmp_path, properties) as client:
        by_tcp(client.do("read", way="4k"), "no-device", "backoff")
        by_tcp(client.do("read", way="pread"), "backoff")
        assert _warnings(client) == 1


@pytest.fixture
def open_folder():
    """A folder that every user may read.  pytest's own folders may not be readable."""
    with tempfile.TemporaryDirectory(prefix="vread-open-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@ONE_COLUMN
def test_device_without_permission(bed, open_folder):
    """The socket has mode 0600 and owner root, and the client is another user.  All bytes must come
    by TCP, with one warning."""
    shutil.copytree(bed.hdfs.conf_dir, open_folder / "conf")
    options = {"prefix": another_user(), "conf_dir": open_folder / "conf"}
    with bed.another_client(open_folder, **options) as client:
        by_tcp(client.do("read", way="4k"), "no-permission", "backoff")
        by_tcp(client.do("read", way="pread"), "backoff")
        assert _warnings(client) == 1


@ONE_COLUMN
def test_endpoint_that_is_something_else(bed, tmp_path):
    (tmp_path / "file").write_text("no device, no socket\n")
    properties = bed.properties(endpoint=str(tmp_path / "file"))
    with bed.another_client(tmp_path, properties) as client:
        answer = client.do("read")
        assert "vread.bytes" not in answer["stats"]
        assert answer["stats"]["fallback.blocks"] > 0


@ONE_COLUMN
def test_switched_off(bed, tmp_path):
    with bed.another_client(tmp_path, bed.properties(enabled="false")) as client:
        by_tcp(client.do("read"), "disabled")
        assert _warnings(client) == 0


# ---- the library ---------------------------------------------------------------


@pytest.fixture
def bare_jar(tmp_path):
    """The plug-in's jar without the native library."""
    bare = tmp_path / "bare.jar"
    with zipfile.ZipFile(JAR) as full, zipfile.ZipFile(bare, "w") as out:
        for entry in full.infolist():
            if not entry.filename.startswith("native/"):
                out.writestr(entry, full.read(entry))
    return bare


@ONE_COLUMN
def test_library_missing(bed, tmp_path, bare_jar):
    with bed.another_client(tmp_path, jar=bare_jar) as client:
        by_tcp(client.do("read", way="4k"), "no-library")
        by_tcp(client.do("read", way="pread"), "no-library")
        assert _warnings(client) == 1
        assert "libvread_jni.so cannot be loaded" in client.logged()


@ONE_COLUMN
def test_library_of_another_version(bed, tmp_path):
    source = tmp_path / "other.c"
    source.write_text("int Java_io_vread_NativeLibrary_version(void) { return 999; }\n")
    library = tmp_path / "libvread_jni.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    with bed.another_client(tmp_path, bed.properties(library_path=str(tmp_path))) as client:
        by_tcp(client.do("read"), "wrong-version")
        assert _warnings(client) == 1
        assert "interface version 999" in client.logged()


@ONE_COLUMN
def test_library_that_is_none(bed, tmp_path):
    """The configured library is not a library; the library in the jar must be used."""
    (tmp_path / "libvread_jni.so").write_text("not a library\n")
    with bed.another_client(tmp_path, bed.properties(library_path=str(tmp_path))) as client:
        served(client.do("read"))


@ONE_COLUMN
def test_no_plugin_on_the_class_path(bed, tmp_path):
    properties = bed.properties() | BUILDER_ALONE
    with bed.another_client(tmp_path, properties, jar=tmp_path / "none.jar") as client:
        answer = client.do("read")
        assert answer["bytes"] == answer["stock_bytes"] > 0
        assert answer["stats"] == {}


@ONE_COLUMN
def test_no_file_system_on_the_class_path(bed, tmp_path):
    """fs.hdfs.impl needs its class: the error names it."""
    with (
        bed.another_client(tmp_path, jar=tmp_path / "none.jar") as client,
        pytest.raises(ClientError, match="ClassNotFoundException.*io.vread.hdfs.VreadFileSystem"),
    ):
        client.do("read")


def _warnings(client):
    return len(
        re.findall(r"^\S+ \S+ WARN \S*hdfs\.\S*: vread:|WARN \S*: vread:", client.logged(), re.M)
    )


# ---- replicas ---------------------------------------------------------------------


def test_corrupt_replica_with_another_one(bed):
    """One of two replicas is corrupt.  Reads must succeed, with vRead as without, and only that
    replica may be reported corrupt."""
    for by in ("stock", "vread"):
        file = f"/rotten-{by}"
        bed.client.do("write", file=file, on=["dn1", "dn2"], size=400_000)
        (block,) = bed.hdfs.blocks(file)
        _rot(bed, block, "dn1")
        for _ in range(4):
            bed.client.do("read-by", by=by, file=file, way="pread-fully")
            bed.client.do("read-by", by=by, file=file, way="1m")
        # The stock client finds the corrupt replica only if it chose that replica.
        assert bed.reported_corrupt(block) <= {bed.hdfs.datanode("dn1").address}
        _forget(bed, file)


def test_corrupt_replica_alone(bed):
    """The only replica is corrupt.  Both clients must fail with the same error, and both or neither
    must report the replica to the NameNode."""
    ends, told = {}, {}
    for by in ("stock", "vread"):
        file = f"/rotten-alone-{by}"
        bed.client.do("write", file=file, on=["dn1"], size=400_000)
        (block,) = bed.hdfs.blocks(file)
        _rot(bed, block, "dn1")
        with pytest.raises(ClientError) as failure:
            bed.client.do("read-by", by=by, file=file, way="1m")
        ends[by] = re.search(r"read-by: (\S+):", str(failure.value))[1]
        told[by] = bed.reported_corrupt(block)
        _forget(bed, file)
    assert ends["vread"] == ends["stock"]
    assert told["vread"] == told["stock"]


def test_deleted_replica(bed, unharmed):
    """A replica's files are deleted without the datanode; another datanode has the block.  Reads
    must succeed."""
    bed.client.do("write", file="/gone", on=["dn1", "dn2"], size=400_000)
    (block,) = bed.hdfs.blocks("/gone")
    served(bed.client.do("read", file="/gone"))
    data = bed.hdfs.block_file(block, "dn1")
    meta = data.with_name(f"{data.name}_{block.genstamp}.meta")
    data.unlink()
    meta.unlink()
    bed.hdfs.datanode("dn1").disk.sync()
    for way in ("1m", "pread", "4k"):
        answer = bed.client.do("read-by", by="vread", file="/gone", way=way)
        assert answer["bytes"] > 0
    _forget(bed, "/gone")


def _rot(bed, block, datanode):
    """Overwrites bytes of the block on the datanode's disk, without the datanode."""
    with open(bed.hdfs.block_file(block, datanode), "r+b", buffering=0) as data:
        data.seek(block.length // 2)
        data.write(os.urandom(64))
    bed.hdfs.datanode(datanode).disk.sync()


def _forget(bed, file):
    bed.client.do("delete", file=file)
    bed.await_health()


# ---- tokens ---------------------------------------------------------------------------


def test_expired_token(bed, unharmed, restored):
    """Tokens of an open stream expire.  Datanodes refuse expired tokens, and so does vreadd if it
    has the datanodes' keys.  The client must get new tokens and read on."""
    if not bed.mode.tokens:
        pytest.skip("no tokens in this column")
    if bed.mode.publisher:  # after a restart, vreadd has no keys at first
        eventually(lambda: all(known(d["tokens"]) for d in bed.vreadd.status()["datanodes"]), SOON)
    before = bed.errors().get("EPERM", 0)
    for by in ("stock", "vread"):
        bed.client.do("hold", name=by, by=by, file="/held")
        assert bed.client.do("expire-held", name=by)["valid"] == 0
        answer = bed.client.do("use-held", name=by, file="/held")
        assert answer["bytes"] > 0
        assert answer["valid"] > 0
    if bed.mode.publisher:
        assert bed.errors()["EPERM"] > before
