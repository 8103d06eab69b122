# SPDX-License-Identifier: GPL-2.0-or-later
"""The torture of test_torture.py on XFS: inode clusters and directory blocks are allocated and
freed, the log wraps, and the metadata outside the log is from another time than the log.  No byte
may be wrong."""

import pytest

from tests.image.test_torture import torture
from tests.support.owner import needs_root
from tests.support.xfs_owner import XfsOwner

pytestmark = [needs_root, pytest.mark.thorough]


def test_no_wrong_byte(tmp_path):
    with XfsOwner(tmp_path, "1k") as owner:
        torture(owner, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["default", "1k", "large-directory-blocks"])
def test_no_wrong_byte_for_long(tmp_path, variant):
    """No wrong byte in a long torture.  It takes two minutes so that the log wraps often."""
    with XfsOwner(tmp_path, variant) as owner:
        torture(owner, seed=2, right=1_000_000, deleted=2_000)
