# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are written, appended to, truncated, deleted and replaced while they are read: the
bytes are always those of the file, and once a change is in the image vRead serves it."""

import pytest

from tests.support.hadoop_bed import served

pytestmark = pytest.mark.hadoop


def test_under_construction(bed):
    """Reads while it is written may go either way, but after its close through vRead."""
    served(bed.client.do("under-construction"))


@pytest.mark.parametrize(
    "scenario",
    ["append-then-read", "truncate-then-read", "same-name-again", "rename", "concat"],
)
def test_changes_between_opens(bed, scenario):
    served(bed.client.do(scenario))


def test_append_under_an_open_stream(bed):
    """It reads on to the end it knew."""
    stock = bed.client.do("append-between", by="stock")
    vread = bed.client.do("append-between", by="vread")
    assert stock["bytes"] == vread["bytes"]
    assert vread["stats"]["vread.bytes"] > 0


@pytest.mark.parametrize("scenario", ["truncate-between", "rewrite-between"])
def test_truncation_under_an_open_stream(bed, scenario):
    """What it gets is of the old content or of the new one, or an error: TCP's datanode finds the
    last checksum changed under its hands.  The next stream reads the new content whole."""
    bed.client.do(scenario, by="stock")
    answer = bed.client.do(scenario, by="vread")
    assert answer["stats"]["vread.bytes"] >= answer["bytes"]


def test_delete_under_an_open_stream(bed):
    """What comes after the deletion is what was in the file, or an error, as by TCP."""
    before = bed.health()
    bed.client.do("delete-under-stream", by="stock")
    answer = bed.client.do("delete-under-stream", by="vread")
    assert answer["stats"]["vread.bytes"] > 0
    assert answer["new"] == 0
    assert bed.health() == before


def test_another_file_under_an_open_stream(bed):
    """A file with other blocks takes the name.  A positional read gets bytes of the old one or an
    error, never those of the new one; it would even have them from the old one's places."""
    bed.client.do("replace-under-stream", by="stock")
    answer = bed.client.do("replace-under-stream", by="vread")
    assert answer["stats"]["vread.bytes"] >= answer["old"] > 0
