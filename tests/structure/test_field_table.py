# SPDX-License-Identifier: GPL-2.0-or-later
"""Each row of tests/field/README.md names one report and a test that exists or a reason.  Each test
of tests/field is in a row."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
FIELD = TESTS / "field"
FOUND = ("holds", "failed:", "not ours:", "limit:")


def table():
    """Yields the cells of each row with the heading above it."""
    heading = None
    for line in (FIELD / "README.md").read_text().splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("|") and not line.startswith(("| Report", "|---")):
            yield heading, [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def named_tests(tried):
    return re.findall(r"`([\w/]+\.(?:py|c|java))(?:::(\w+))?`", tried)


def test_each_row_is_complete():
    for heading, cells in table():
        assert len(cells) == 5 and all(cells[:4]), (heading, cells)
        report, _, tried, found, commit = cells
        assert found.startswith(FOUND), (report, found)
        assert named_tests(tried) or not found.startswith(("holds", "failed:")), (report, tried)
        assert bool(commit) == found.startswith("failed:"), (report, commit)


def test_no_report_counts_twice():
    reports = [cells[0] for _, cells in table()]
    assert len(reports) == len(set(reports))


def test_the_tests_of_rows_exist():
    for _, cells in table():
        for path, name in named_tests(cells[2]):
            file = TESTS / path
            assert file.is_file(), (cells[0], path)
            assert not name or re.search(rf"\b{name}\b", file.read_text()), (cells[0], path, name)


def test_each_field_test_is_in_a_row():
    named = {(path, name) for _, cells in table() for path, name in named_tests(cells[2])}
    for file in FIELD.glob("test_*.py"):
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.M):
            assert (f"field/{file.name}", name) in named, (file.name, name)
