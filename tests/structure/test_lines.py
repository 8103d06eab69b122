# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of code are at most 100 columns wide, comments too.  clang-format does not break comments,
and nothing formats Java.  ruff checks Python."""

import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
COLUMNS, TAB = 100, 8


def too_wide(text):
    """The numbers of the lines that are too wide."""
    lines = enumerate(text.splitlines(), 1)
    return [number for number, line in lines if len(line.expandtabs(TAB)) > COLUMNS]


def test_lines_are_not_too_wide():
    names = ("*.c", "*.h", "*.java")
    files = subprocess.run(
        ["git", "ls-files", *names], cwd=REPOSITORY, check=True, capture_output=True, text=True
    ).stdout.split()
    assert len(files) > 500
    found = {file: too_wide((REPOSITORY / file).read_text()) for file in files}
    assert {file: numbers for file, numbers in found.items() if numbers} == {}


def test_the_page_on_architecture_is_short():
    """Whoever wants to know where things are reads it whole."""
    assert len((REPOSITORY / "docs/architecture.md").read_text().splitlines()) <= 400


def test_a_tab_counts_as_eight_columns():
    assert too_wide("\t" + "x" * 92 + "\n\t" + "x" * 93) == [2]
