# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are written, appended to, truncated, deleted and replaced while they are read.  The
bytes must always be those of the file.  As soon as a change is in the image, vRead must serve it.
The scenarios are in java/io/vread/check/Changing.java."""

import pytest

from tests.support.hadoop_bed import served

pytestmark = pytest.mark.hadoop


def test_under_construction(bed):
    """Reads of a file that is being written may go either way.  After its close, all bytes must
    come through vRead."""
    served(bed.client.do("under-construction"))


@pytest.mark.parametrize(
    "scenario",
    ["append-then-read", "truncate-then-read", "same-name-again", "rename", "concat"],
)
def test_changes_between_opens(bed, scenario):
    served(bed.client.do(scenario))


def test_append_under_an_open_stream(bed):
    """A file is appended to under an open stream, which must read to the end that it knew."""
    stock = bed.client.do("append-between", by="stock")
    vread = bed.client.do("append-between", by="vread")
    assert stock["bytes"] == vread["bytes"]
    assert vread["stats"]["vread.bytes"] > 0


@pytest.mark.parametrize("scenario", ["truncate-between", "rewrite-between"])
def test_truncation_under_an_open_stream(bed, scenario):
    """A file is truncated under an open stream.  The stream may get old or new content or an
    error; by TCP the datanode may find its last checksum changed.  The next stream must get all of
    the new content."""
    bed.client.do(scenario, by="stock")
    answer = bed.client.do(scenario, by="vread")
    assert answer["stats"]["vread.bytes"] >= answer["bytes"]


def test_delete_under_an_open_stream(bed):
    """A file is deleted under an open stream, which must then get the file's bytes or an error, as
    by TCP."""
    with bed.unharmed():
        bed.client.do("delete-under-stream", by="stock")
        answer = bed.client.do("delete-under-stream", by="vread")
    assert answer["stats"]["vread.bytes"] > 0
    assert answer["new"] == 0


def test_another_file_under_an_open_stream(bed):
    """A file with other blocks takes the name.  Positional reads must get bytes of the old file or
    an error, never bytes of the new file at the offsets of the old."""
    bed.client.do("replace-under-stream", by="stock")
    answer = bed.client.do("replace-under-stream", by="vread")
    assert answer["stats"]["vread.bytes"] >= answer["old"] > 0
