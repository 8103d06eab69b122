# SPDX-License-Identifier: GPL-2.0-or-later
"""Torture test: an owner writes at full speed to a mounted file system while readers read its image
(torture.c).  The file system is so small that space is reused all the time, and its journal so
small that it wraps.  No byte may be wrong."""

import json
import subprocess

import pytest

from tests.support.disk import built
from tests.support.owner import Owner, needs_root
from tests.support.tiers import slow

pytestmark = [needs_root, pytest.mark.spread, pytest.mark.thorough]
READERS = 4
HANGS = 1200  # s
ROOM = 1 << 20


def torture(owner, seed, right=50_000, deleted=150):
    """Runs the torture until `right` reads were right and `deleted` blocks were deleted."""
    owner.fill_up(ROOM)  # leaves little more room than the blocks at one time need
    (image,) = owner.served().images
    extent = [str(number) for number in (right, deleted, READERS, seed)]
    done = subprocess.run(
        [built("torture"), image, owner.root, *extent],
        capture_output=True, text=True, timeout=HANGS,
    )  # fmt: skip
    print(done.stdout)
    complaints = [line for line in done.stderr.splitlines() if ": serving " not in line]
    assert (done.returncode, complaints) == (0, [])
    judge(json.loads(done.stdout))


# Data goes through the journal.  The journal is small, so that data leaves it soon.
JOURNALLED = (["-b", "1024", "-J", "size=1"], "data=journal")


@pytest.mark.parametrize(
    ("variant", "mib"),
    [
        *slow(("small-journal", 12)),
        ("default", 24),
        *slow(("no-checksums", 16)),
        pytest.param(JOURNALLED, 12, id="journalled-data"),
    ],
)
def test_no_wrong_byte(tmp_path, variant, mib):
    with Owner(tmp_path, variant, mib=mib) as owner:
        torture(owner, seed=mib)


def judge(counts):
    assert counts["wrong"] == 0
    # Any other error would claim that the image, which is good, is damaged.
    assert set(counts["open_errors"]) <= {"ENOENT", "EEXIST", "EAGAIN", "ENODATA", "EILSEQ"}
    # EBADMSG: between the owner's truncation of a block and its commit.
    assert set(counts["read_errors"]) <= {"EAGAIN", "EBADMSG"}
