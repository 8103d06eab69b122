# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of tools.hdfs, the real HDFS of the tests and the demo: what it tells about blocks must
match the files on disk."""

import hashlib
import os
import struct
from pathlib import Path

import pytest

from tools.hdfs import Block, HdfsCluster, HdfsError, hadoop_class_path, jvm

pytestmark = pytest.mark.hadoop

CRC32C = 2
BLOCK_SIZE = 1 << 20


def write(hdfs, tmp_path, name, size):
    content = os.urandom(size)
    (tmp_path / "local").write_bytes(content)
    hdfs.put(tmp_path / "local", name)
    return content


def test_blocks_are_those_on_disk(hdfs, tmp_path):
    content = write(hdfs, tmp_path, "/on-disk", 3 * BLOCK_SIZE + 12345)
    blocks = hdfs.blocks("/on-disk")
    assert hdfs.block_size == BLOCK_SIZE
    assert [block.length for block in blocks] == [BLOCK_SIZE] * 3 + [12345]
    assert b"".join(hdfs.block_file(block).read_bytes() for block in blocks) == content
    version = (hdfs.data_dirs[0] / "current/VERSION").read_text()
    assert all(f"storageID={block.storage_ids[0]}\n" in version for block in blocks)


def test_metas_hold_crc32c_of_512_bytes(hdfs, tmp_path):
    write(hdfs, tmp_path, "/metas", 1000)
    (block,) = hdfs.blocks("/metas")
    data = hdfs.block_file(block)
    meta = data.with_name(f"{data.name}_{block.genstamp}.meta").read_bytes()
    assert struct.unpack(">HBI", meta[:7]) == (1, CRC32C, 512)
    assert len(meta) == 7 + 2 * 4


def test_reading_back(hdfs, tmp_path):
    content = write(hdfs, tmp_path, "/back", BLOCK_SIZE + 1)
    assert hdfs.sha256("/back") == hashlib.sha256(content).hexdigest()
    hdfs.get("/back", tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == content


def test_append_takes_a_new_generation_stamp(hdfs, tmp_path):
    content = write(hdfs, tmp_path, "/appended", 1000)
    (before,) = hdfs.blocks("/appended")
    hdfs.append(tmp_path / "local", "/appended")
    (after,) = hdfs.blocks("/appended")
    assert (after.block_id, after.length) == (before.block_id, 2000)
    assert after.genstamp > before.genstamp
    assert hdfs.block_file(after).read_bytes() == content * 2


def test_block_spec_there_and_back():
    block = Block("BP-1-127.0.0.1-2", 1073741825, 1001, 4096, ("DS-1",))
    assert block.spec() == "BP-1-127.0.0.1-2/blk_1073741825_1001@DS-1:4096"
    assert Block.parse(block.spec()) == block
    with pytest.raises(HdfsError, match="expected POOL/blk_ID"):
        Block.parse("BP-1/blk_1")


def test_unknown_file(hdfs, tmp_path):
    with pytest.raises(HdfsError, match=r"fsck /nowhere.*does not exist"):
        hdfs.blocks("/nowhere")
    with pytest.raises(HdfsError, match=r"hdfs dfs -get .*No such file"):
        hdfs.get("/nowhere", tmp_path / "got")
    with pytest.raises(HdfsError, match=r"-cat /nowhere failed.*No such file"):
        hdfs.sha256("/nowhere")


def test_a_daemon_that_cannot_start_is_quoted(tmp_path):
    cluster = HdfsCluster(tmp_path, conf={"dfs.namenode.name.dir": "file:///proc/vread"})
    with pytest.raises(HdfsError, match=r"(?s)formatting the NameNode failed.*/proc/vread"):
        cluster.start()


@pytest.mark.slow
def test_the_same_folder_has_the_old_files(tmp_path):
    with HdfsCluster(tmp_path / "c", block_size=BLOCK_SIZE, data_dirs=2) as first:
        content = write(first, tmp_path, "/kept", 2 * BLOCK_SIZE)
        pids = first.pids.values()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    with HdfsCluster(tmp_path / "c", block_size=BLOCK_SIZE, data_dirs=2) as second:
        assert second.sha256("/kept") == hashlib.sha256(content).hexdigest()
        files = [second.block_file(block) for block in second.blocks("/kept")]
        assert {file.relative_to(second.directory).parts[0] for file in files} == {"data1", "data2"}


@pytest.mark.parametrize("version", ["", "3.4", "../3.4.3", "latest"])
def test_version_is_a_version(version):
    with pytest.raises(HdfsError, match="Hadoop version"):
        hadoop_class_path(version)


def test_what_has_ended_is_not_ready(tmp_path):
    """Waiting for a DataNode that has ended must raise.  A NameNode accepts writes before it has a
    DataNode, so it would not report the missing DataNode."""
    daemon = jvm.Daemon("dn1", ["false"], tmp_path / "log")
    with pytest.raises(HdfsError, match="dn1: ended while waiting for a start; .* exit 1"):
        jvm.wait_until(lambda: not daemon.alive(), [daemon], "a start", 60)
