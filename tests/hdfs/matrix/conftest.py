# SPDX-License-Identifier: GPL-2.0-or-later
"""The fixture of the matrix: `bed`, one cluster with vRead for each column."""

import pytest

from tests.support.hadoop_bed import MODES, hadoop_bed


@pytest.fixture(scope="package", params=MODES, ids=str)
def bed(request, tmp_path_factory):
    with hadoop_bed(request.param, tmp_path_factory.mktemp("bed")) as running:
        yield running
