# SPDX-License-Identifier: GPL-2.0-or-later
"""The table "What is read by vRead" of docs/hadoop.md, and the cells that a run finds."""

import re
from types import SimpleNamespace

from tests.runner.features import features, record
from tests.support import feature_table
from tests.support.feature_table import documented, rows, who_read

TESTS = feature_table.DOCUMENT.parents[1] / "tests" / "hdfs"


def test_every_row_has_a_test():
    assert len(rows()) >= 18
    for feature, _, test in rows():
        file, _, name = test.strip("`").partition("::")
        text = (TESTS / file).read_text()
        assert f"def {name}(" in text, feature
        if file.startswith("features/"):
            assert feature in text or feature.rsplit(" ", 1)[0] in text, feature


def test_no_cell_is_empty():
    for feature, found in documented().items():
        assert re.fullmatch(r"by vRead|by (stock|both): [A-Z]+(, [A-Z]+)*", found), feature


def test_who_read():
    assert who_read({"bytes": 5, "stats": {"vread.bytes": 5}}) == "by vRead"
    stock = {"fallback.blocks": 2, "fallback.reasons.ENOENT": 1, "fallback.reasons.ENODEV": 1}
    assert who_read({"bytes": 5, "stats": stock}) == "by stock: ENODEV, ENOENT"
    assert who_read({"bytes": 5, "stats": stock | {"vread.bytes": 2}}).startswith("by both")
    failed = {"vread.bytes": 5, "vread.failures": 1, "vread.reasons.EIO": 1}
    assert who_read({"bytes": 5, "stats": failed}) == "failed: ['vread.reasons.EIO']"


def test_cells_of_a_run():
    properties = []
    record(lambda *pair: properties.append(pair), "ViewFs", "3.4.3", "by vRead")
    record(lambda *pair: properties.append(pair), "ViewFs", "3.5.0")
    report = SimpleNamespace(when="call", user_properties=properties)
    assert features({"passed": [report]}) == {"ViewFs": {"3.4.3": "by vRead", "3.5.0": "failed"}}
