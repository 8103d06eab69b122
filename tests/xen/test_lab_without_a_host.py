# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the lab that boot no host."""

import pytest

from tools.lab import Disk, LabError, XenHost
from tools.lab.claim import Claim


def test_hosts_of_one_name_keep_apart():
    """Two hosts with one name must have different folders: groups of tests run in parallel.  A
    released folder is used again."""
    first, second = Claim("test-same-name"), Claim("test-same-name")
    assert first.folder != second.folder
    (first.folder / "logs").mkdir(parents=True)
    second.release()
    assert Claim("test-same-name").folder == second.folder
    assert (first.folder / "logs").exists()
    first.release()


@pytest.mark.thorough
def test_missing_disk_is_said(tmp_path):
    missing = tmp_path / "missing.raw"
    with pytest.raises(LabError, match="(?s)missing.raw.*No such file"):
        XenHost("test-missing", disks=[Disk(missing)]).start()
