# SPDX-License-Identifier: GPL-2.0-or-later
"""An owner at full speed and readers on a file system so small that space is reused all the time,
and a journal so small that it wraps: not one wrong byte."""

import json
import subprocess

import pytest

from tests.support.disk import built
from tests.support.owner import Owner, needs_root

pytestmark = needs_root
READERS = 4
ROOM = 1 << 20


def torture(owner, seconds, seed):
    owner.fill_up(ROOM)  # little more than what there is at one time
    done = subprocess.run(
        [built("torture"), owner.path, owner.root, str(seconds), str(READERS), str(seed)],
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
    with Owner(tmp_path, variant, mib=mib) as owner:
        counts = torture(owner, seconds=6, seed=mib)
    assert counts["wrong"] == 0
    # It did what it is for: much was read, and written over meanwhile.
    assert counts["right"] > 100
    assert counts["deleted"] > 20
    # Any other error would be a claim about an image that is in order.
    assert set(counts["open_errors"]) <= {"ENOENT", "EEXIST", "EAGAIN", "ENODATA", "EILSEQ"}
    # EBADMSG: between the owner's truncation of a block and its commit.
    assert set(counts["read_errors"]) <= {"EAGAIN", "EBADMSG"}
