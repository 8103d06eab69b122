# SPDX-License-Identifier: GPL-2.0-or-later
"""As test_torture.py, on XFS: inode clusters and directory blocks come and go, the log wraps, and
what is at home is of another time than what the log holds.  Not one wrong byte."""

import pytest

from tests.image.test_torture import no_wrong_byte, torture
from tests.support.owner import needs_root
from tests.support.xfs_owner import XfsOwner

pytestmark = needs_root


def check(tmp_path, variant, seed, *times):
    def run(folder, seconds):
        with XfsOwner(folder, variant) as owner:
            return torture(owner, seconds, seed)

    no_wrong_byte(tmp_path, run, times)


def test_no_wrong_byte(tmp_path):
    check(tmp_path, "1k", 1, 4, 30, 90)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["default", "1k", "large-directory-blocks"])
def test_no_wrong_byte_for_long(tmp_path, variant):
    check(tmp_path, variant, 2, 120)
