# SPDX-License-Identifier: GPL-2.0-or-later
"""As test_torture.py, on XFS: inode clusters and directory blocks come and go, the log wraps, and
what is at home is of another time than what the log holds.  Not one wrong byte."""

import pytest

from tests.image.test_torture import torture
from tests.support.owner import needs_root
from tests.support.xfs_owner import XfsOwner

pytestmark = needs_root


def run(tmp_path, variant, seconds, seed):
    with XfsOwner(tmp_path, variant) as owner:
        counts = torture(owner, seconds=seconds, seed=seed)
    assert counts["wrong"] == 0
    # It did what it is for: much was read, and written over meanwhile.
    assert counts["right"] > 100
    assert counts["deleted"] > 100
    # Any other error would be a claim about an image that is in order.
    assert set(counts["open_errors"]) <= {"ENOENT", "EEXIST", "EAGAIN", "ENODATA", "EILSEQ"}
    # EBADMSG: between the owner's truncation of a block and its commit.
    assert set(counts["read_errors"]) <= {"EAGAIN", "EBADMSG"}


def test_no_wrong_byte(tmp_path):
    run(tmp_path, "1k", seconds=4, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["default", "1k", "large-directory-blocks", "large-counts"])
def test_no_wrong_byte_for_long(tmp_path, variant):
    run(tmp_path, variant, seconds=120, seed=2)
