# SPDX-License-Identifier: GPL-2.0-or-later
"""The publisher in real DataNodes: vreadd must hear of each change of a file, published blocks must
be on disk, and HDFS must work as without the publisher."""

import shutil
import subprocess

import pytest

from tests.support.publisher import BLOCK_SIZE, EVENTS, PublisherBed, expected, until
from tests.support.tiers import slow

pytestmark = pytest.mark.hadoop

VERSIONS = (*slow("3.3.6"), "3.4.3", "3.5.0")


@pytest.fixture(scope="module", params=VERSIONS)
def bed(request, tmp_path_factory):
    with PublisherBed(tmp_path_factory.mktemp("publisher"), request.param) as running:
        yield running


@pytest.fixture
def before(bed):
    return bed.counts()


def test_each_block_written_is_published(bed, before):
    heard = bed.heard()
    local = bed.write("/written", 3 * BLOCK_SIZE + 7)
    assert len(bed.cluster.blocks("/written")) == 4
    until(lambda: bed.since(before)["finalized"] == 4, lambda: f"4 more blocks: {bed.bean()}")
    assert bed.since(before) == expected(finalized=4)
    now = bed.heard()
    assert {event: now[event] - heard[event] for event in EVENTS} == expected(finalized=4)
    assert bed.content("/written") == local.read_bytes()


def test_published_means_on_disk(bed, before):
    """The image is copied right after the event, as if power failed.  With the journal replayed,
    the copy must have the whole blocks."""
    local = bed.write("/durable", 3 * BLOCK_SIZE)
    until(lambda: bed.since(before)["finalized"] == 3, "3 blocks published")
    copy = bed.folder / "after-power-failure.raw"
    shutil.copyfile(bed.datanode.disk.path, copy)
    blocks = bed.cluster.blocks("/durable")
    files = [bed.cluster.block_file(block) for block in blocks]
    metas = [f.with_name(f"{f.name}_{b.genstamp}.meta") for f, b in zip(files, blocks, strict=True)]
    replayed = subprocess.run(["e2fsck", "-p", copy], capture_output=True, text=True)
    assert replayed.returncode in (0, 1), replayed.stdout
    assert b"".join(on_disk(bed, copy, file) for file in files) == local.read_bytes()
    for meta in metas:
        assert on_disk(bed, copy, meta) == meta.read_bytes()
    copy.unlink()


def on_disk(bed, image, file):
    """The bytes, in the image, of a file given by its path in the datanode's mount."""
    inside = file.relative_to(bed.datanode.disk.view)
    return subprocess.run(
        ["debugfs", "-R", f"cat /{inside}", image], check=True, capture_output=True
    ).stdout


def test_append(bed, before):
    local = bed.write("/appended", BLOCK_SIZE // 2)
    until(lambda: bed.since(before)["finalized"] == 1, "first stamp published")
    bed.append(local, "/appended")
    until(lambda: bed.since(before)["finalized"] == 2, "second stamp published")
    assert bed.since(before) == expected(finalized=2, append=1)
    assert bed.content("/appended") == 2 * local.read_bytes()


def test_truncate(bed, before):
    local = bed.write("/truncated", 2 * BLOCK_SIZE)
    until(lambda: bed.since(before)["finalized"] == 2, "2 blocks published")
    bed.fs("-truncate", "-w", BLOCK_SIZE + 1000, "/truncated")
    until(lambda: bed.since(before)["finalized"] == 3, "the shorter block published")
    assert bed.since(before) == expected(finalized=3, truncate=1)
    assert bed.content("/truncated") == local.read_bytes()[: BLOCK_SIZE + 1000]


def test_truncating_a_copy(bed, before):
    """A block in a snapshot is truncated: HDFS makes a shorter copy and keeps the old block.  Both
    must be published."""
    bed.fs("-mkdir", "/kept")
    local = bed.write("/kept/file", BLOCK_SIZE)
    bed.admin("-allowSnapshot", "/kept")
    bed.fs("-createSnapshot", "/kept", "s")
    until(lambda: bed.since(before)["finalized"] == 1, "the block published")
    bed.fs("-truncate", "-w", 1000, "/kept/file")
    until(lambda: bed.since(before)["finalized"] >= 3, "the copy and the old one published")
    assert bed.since(before) == expected(finalized=3)
    assert bed.content("/kept/.snapshot/s/file") == local.read_bytes()


def test_delete(bed, before):
    bed.write("/deleted", 2 * BLOCK_SIZE)
    until(lambda: bed.since(before)["finalized"] == 2, "2 blocks published")
    bed.fs("-rm", "-skipTrash", "/deleted")
    until(lambda: bed.since(before)["delete"] == 2, lambda: f"2 deletions: {bed.bean()}")
    assert bed.since(before) == expected(finalized=2, delete=2)


def test_after_all_that_hdfs_is_healthy_and_nothing_failed(bed):
    for path in ("/written", "/durable", "/appended", "/truncated", "/kept/file"):
        assert bed.cluster.blocks(path)  # raises unless fsck finds the file healthy
    assert bed.bean()["failed"] == bed.bean()["reasons"].get("ENODEV", 0), bed.bean()
    assert "Exception" not in "".join(line for line in bed.log().splitlines() if "vread" in line)


def test_a_restarted_datanode_has_its_blocks_and_publishes(bed):
    content = bed.content("/written")
    bed.datanode.stop()
    bed.cluster.start_datanode("dn1")
    assert bed.content("/written") == content
    bed.write("/after-restart", 1000)
    until(lambda: bed.bean()["finalized"] == 1, lambda: f"publication: {bed.bean()}")
    assert "DirectoryScanner" not in "".join(bed.warnings())
