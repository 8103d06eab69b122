# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the lab that boot no host."""

import pytest

from tools.lab import Disk, LabError, XenHost
from tools.lab.claim import Claim
from tools.lab.kernel_log import KernelComplaint, KernelLogs


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


@pytest.mark.parametrize(
    "line",
    [
        "BUG kmalloc-64 (Tainted: G           O      ): Poison overwritten",
        "BUG: sleeping function called from invalid context at mm/slab.h:274",
        "WARNING: possible circular locking dependency detected",
        "WARNING: bad unlock balance detected!",
        "WARNING: lock held when returning to user space!",
        "INFO: trying to register non-static key.",
        "ODEBUG: free active (active state 0) object type: timer_list hint: expired",
        "pagealloc: memory corruption",
        "UBSAN: array-index-out-of-bounds in ring.c:1:1",
    ],
)
def test_what_a_checking_kernel_reports(line):
    """A report in a kernel's log must fail a test, once."""
    logs = KernelLogs()
    logs.check({}, {"guest": "[    1.000000] all is well"})
    with pytest.raises(KernelComplaint):
        logs.check({}, {"guest": f"[    2.000000] {line}"})
    logs.check({}, {"guest": f"[    2.000000] {line}"})
