# SPDX-License-Identifier: GPL-2.0-or-later
"""Torture test with real HDFS (tests/hdfs/java, torture).  Owners write, append, truncate, rename,
replace and delete at full speed, on an image so small that its space is used again all the time.
Eight readers read through vRead meanwhile.  No byte may differ from the ledger, and no read may
fail that would succeed by TCP.
"""

import json

import pytest

from tests.support.hadoop_bed import torture_bed
from tests.support.hadoop_client import compiled
from tests.support.tiers import slow
from tests.support.torture import check_sound, program_sources
from tools.hdfs import jvm
from tools.lab import java_program

pytestmark = pytest.mark.hadoop

DISK_MIB = 256
SHORT = {"changes": 5, "turnover": 1}
LONG = {"changes": 20, "turnover": 4, "seconds": 600}
ANSWER_TIMEOUT = 1500
FILES = {"blocks": [1024, 2048, 4096], "largest": 8192, "files": 20, "readers": 8}


def torture(bed, extent):
    before = bed.errors()
    answer = bed.client.do("torture", timeout=ANSWER_TIMEOUT, **extent, **FILES)
    after = bed.errors()
    answer["vreadd_errors"] = {
        name: count - before.get(name, 0)
        for name, count in after.items()
        if count > before.get(name, 0)
    }
    print(json.dumps(answer, indent=1))
    check_sound(answer, extent["changes"])


def test_the_ledger_knows_when_a_path_is_steady():
    """A failed read of a steady path is a complaint, so the ledger must not call others steady."""
    jvm.run([jvm.program(), "-cp", str(compiled()), "io.vread.check.torture.LedgerTest"], "ledger")


def test_the_program_for_emulated_hosts_has_all_its_sources():
    """The torture on emulated hosts, which only make test-all runs, is a jar of some sources."""
    assert java_program.compiled("torture", program_sources()).is_file()


@pytest.mark.parametrize(("publisher", "file_system"), [*slow((False, "ext4")), (True, "xfs")])
def test_no_wrong_byte(tmp_path, publisher, file_system):
    """No wrong byte in a short torture.  It may take more than a minute: a cluster of its own
    starts, and fills its disk once."""
    with torture_bed(tmp_path, DISK_MIB, publisher, file_system, "asan") as bed:
        torture(bed, SHORT)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("publisher", "file_system"), [(True, "ext4"), (False, "xfs")])
def test_no_wrong_byte_for_long(tmp_path, publisher, file_system):
    """No wrong byte in a torture of ten minutes.  The short one has the other two pairs."""
    with torture_bed(tmp_path, DISK_MIB, publisher, file_system, "release") as bed:
        torture(bed, LONG)
