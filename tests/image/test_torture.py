# SPDX-License-Identifier: GPL-2.0-or-later
"""An owner at full speed and readers on a file system so small that space is reused all the time,
and a journal so small that it wraps: not one wrong byte."""

import json
import subprocess

import pytest

from tests.support.disk import built
from tests.support.owner import Owner, needs_root

pytestmark = [needs_root, pytest.mark.spread]
READERS = 4
ROOM = 1 << 20


def torture(owner, seconds, seed):
    owner.fill_up(ROOM)  # little more than what there is at one time
    (image,) = owner.served().images
    done = subprocess.run(
        [built("torture"), image, owner.root, str(seconds), str(READERS), str(seed)],
        capture_output=True, text=True, timeout=seconds + 120,
    )  # fmt: skip
    print(done.stdout)
    complaints = [line for line in done.stderr.splitlines() if ": serving " not in line]
    assert (done.returncode, complaints) == (0, [])
    return json.loads(done.stdout)


# What it writes goes through the journal, which is home soon: it is small.
JOURNALLED = (["-b", "1024", "-J", "size=1"], "data=journal")


@pytest.mark.parametrize(
    ("variant", "mib"),
    [
        ("small-journal", 12),
        ("default", 24),
        ("no-checksums", 16),
        pytest.param(JOURNALLED, 12, id="journalled-data"),
    ],
)
def test_no_wrong_byte(tmp_path, variant, mib):
    def run(folder, seconds):
        with Owner(folder, variant, mib=mib) as owner:
            return torture(owner, seconds, seed=mib)

    no_wrong_byte(tmp_path, run, (6, 30, 90))


def no_wrong_byte(folder, run, times, right=100, deleted=20):
    """Until it did what it is for: a busy machine does little in a few seconds."""
    for seconds in times:
        (folder / str(seconds)).mkdir()
        counts = run(folder / str(seconds), seconds)
        judge(counts)
        if counts["right"] > right and counts["deleted"] > deleted:
            return
    pytest.fail(f"little was read, or little written over meanwhile: {counts}")


def judge(counts):
    assert counts["wrong"] == 0
    # Any other error would be a claim about an image that is in order.
    assert set(counts["open_errors"]) <= {"ENOENT", "EEXIST", "EAGAIN", "ENODATA", "EILSEQ"}
    # EBADMSG: between the owner's truncation of a block and its commit.
    assert set(counts["read_errors"]) <= {"EAGAIN", "EBADMSG"}
