# SPDX-License-Identifier: GPL-2.0-or-later
"""The fixtures of the matrix: `bed`, one cluster with vRead for each column; `restored`, for tests
that stop its vreadd."""

import pytest

from tests.support.hadoop_bed import COLUMNS, hadoop_bed


@pytest.fixture(scope="package", params=COLUMNS)
def bed(request, tmp_path_factory):
    with hadoop_bed(request.param, tmp_path_factory.mktemp("bed")) as running:
        yield running


@pytest.fixture
def restored(bed):
    """Resumes or restarts vreadd after the test, and waits until it serves."""
    yield
    bed.vreadd.resume() if bed.vreadd.running else bed.vreadd.start()
    bed.wait_until_served()
