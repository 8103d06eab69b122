# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks that a real DataNode wrote are read by vreadd from the disk image, through the local
port."""

import os
import subprocess

import pytest

from tools.hdfs.demo_data import REPOSITORY
from tools.images import TABLES, make_datanode_image, write_layout
from tools.vreadd import Vreadd

pytestmark = pytest.mark.hadoop

VREAD = REPOSITORY / "build" / "asan" / "vread"


@pytest.fixture(scope="module")
def written(hdfs, tmp_path_factory):
    """(bytes, blocks) of a file in HDFS."""
    local = tmp_path_factory.mktemp("written") / "file"
    local.write_bytes(os.urandom(3 * hdfs.block_size + 54321))
    hdfs.put(local, "/native-read")
    hdfs.append(local, "/native-read")  # gives one of the blocks a later generation stamp
    return local.read_bytes() * 2, hdfs.blocks("/native-read")


@pytest.fixture(scope="module", params=TABLES)
def daemon(request, hdfs, written, tmp_path_factory):
    directory = tmp_path_factory.mktemp(f"image-{request.param}")
    image = make_datanode_image(hdfs.data_dirs, directory / "dn.raw", table=request.param)
    write_layout(image, directory / "layout.json")
    with Vreadd({"dn1": (image.path, directory / "layout.json")}, variant="asan") as running:
        yield running


def cat(daemon, *words):
    # The timeout is long for a busy machine.
    command = [VREAD, "--endpoint", daemon.endpoint, "cat", "--timeout", "60000", *words]
    return subprocess.run(command, capture_output=True, timeout=120)


def test_every_block_reads_as_hdfs_has_it(daemon, written, tmp_path):
    content, blocks = written
    (tmp_path / "blocks.txt").write_text("".join(f"{block.spec()}\n" for block in blocks))
    done = cat(daemon, "--blocks-from", tmp_path / "blocks.txt")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == content


def test_older_generation_stamp_is_refused(daemon, written):
    _, blocks = written
    appended = max(blocks, key=lambda block: block.genstamp)
    stale = f"{appended.pool}/blk_{appended.block_id}_1@{appended.storage_ids[0]}"
    done = cat(daemon, stale)
    assert done.returncode != 0
    assert done.stdout == b""
    assert "another generation stamp" in done.stderr.decode()
