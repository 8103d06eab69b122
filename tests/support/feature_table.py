# SPDX-License-Identifier: GPL-2.0-or-later
"""The table "What is read by vRead" of docs/hadoop.md, and how a read is told in its words."""

import functools
import re
from pathlib import Path

import pytest

from tests.runner.features import record
from tests.support.waiting import eventually
from tools.hdfs.native_code import locks_memory

DOCUMENT = Path(__file__).parents[2] / "docs" / "hadoop.md"
HEADING = "### What is read by vRead"
BY_VREAD = "by vRead"
REASON = "fallback.reasons."


@functools.cache
def rows():
    """[(feature, who reads, test)] of the table."""
    _, _, section = DOCUMENT.read_text().partition(HEADING)
    section, _, _ = section.partition("\n### ")
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return cells[1:]


def documented():
    """{feature: who reads its files}, in the words of who_read()."""
    return {feature: _plain(result) for feature, result, _ in rows()}


def _plain(result):
    return re.sub(r" \(.*\)", "", result.replace("`", ""))


def who_read(answer):
    """Says of a scenario's answer "by vRead", "by stock: ENODEV", "by both: ENODEV" or "failed"."""
    stats = answer["stats"]
    assert answer["bytes"] > 0, answer
    if "vread.failures" in stats:
        return f"failed: {sorted(name for name in stats if name.startswith('vread.reasons.'))}"
    reasons = ", ".join(
        sorted(name.removeprefix(REASON) for name in stats if name.startswith(REASON))
    )
    if "vread.bytes" not in stats:
        return f"by stock: {reasons}"
    if reasons:
        return f"by both: {reasons}"
    assert stats["vread.bytes"] >= answer["bytes"], answer
    return BY_VREAD


def check_cell(record_property, feature, name, reader, **arguments):
    """Reads a file with a client, and checks and records the cell of the feature.  While the
    NameNode and vreadd learn of a change, the stock client may read a block, so the cell is tried
    until it is as documented.  The bytes must always be right: the scenario compares them."""
    expected = documented()[feature]
    found = []

    def agrees():
        found[:] = [who_read(reader.do("read-at", **arguments))]
        return found[0] == expected

    try:
        eventually(agrees, what=lambda: f"{feature}, {name}: expected {expected}; found {found}")
    finally:
        record(record_property, feature, name, *found)


def needs_locked_memory(record_property, feature, version):
    """Skips the test of a feature for which datanodes lock memory, if those of the version do not.
    The cell says why it was not tried."""
    if not locks_memory(version):
        why = f"there is no native code for Hadoop {version}, so its datanodes lock no memory"
        record(record_property, feature, version, f"not tried: {why}")
        pytest.skip(why)
