# SPDX-License-Identifier: GPL-2.0-or-later
"""The fixtures of the matrix: `bed`, one cluster with vRead for each column; `restored`, for tests
that stop its vreadd."""

import pytest

from tests.support.hadoop_bed import COLUMNS, hadoop_bed

# A NameNode that starts anew while its datanodes run waits for all of them.  Else it copies the
# blocks of those that are late, and deletes replicas that tests have placed.
WAITING = {"dfs.namenode.safemode.min.datanodes": "3"}


@pytest.fixture(scope="package", params=COLUMNS)
def bed(request, tmp_path_factory):
    with hadoop_bed(request.param, tmp_path_factory.mktemp("bed"), conf=WAITING) as running:
        yield running


@pytest.fixture
def restored(bed):
    """Resumes or restarts vreadd after the test, and waits until it serves."""
    yield
    bed.vreadd.resume() if bed.vreadd.running else bed.vreadd.start()
    bed.wait_until_served()
