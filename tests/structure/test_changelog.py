# SPDX-License-Identifier: GPL-2.0-or-later
"""CHANGELOG.md has the form of Keep a Changelog, and its newest release is that of the tree."""

import re
import subprocess
from datetime import date
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TEXT = (REPOSITORY / "CHANGELOG.md").read_text()
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
HEADING = re.compile(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)")


def sections(text):
    """[(heading, text)] of the parts of a changelog."""
    parts = re.split(r"^## (.*)$", text, flags=re.M)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def releases(text):
    """[(version, date)], the newest first; ValueError if a heading has another form."""
    first, *others = [heading for heading, _ in sections(text)]
    if first != "[Unreleased]":
        raise ValueError(f"## {first}: expected ## [Unreleased] first")
    found = []
    for heading in others:
        match = HEADING.fullmatch(heading)
        if not match:
            raise ValueError(f"## {heading}: expected ## [VERSION] - DATE")
        found.append((match[1], date.fromisoformat(match[2])))
    return found


def debian(field):
    command = ["dpkg-parsechangelog", "-S", field]
    done = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_newest_release_is_the_tree():
    version, day = releases(TEXT)[0]
    header = (REPOSITORY / "xen-backend/base/version.h").read_text()
    assert version == re.search(r'VREAD_VERSION "(.*)"', header)[1]
    assert version == debian("Version")
    assert day == parsedate_to_datetime(debian("Date")).date()


def test_releases_are_in_order():
    found = releases(TEXT)
    numbers = [tuple(map(int, version.split("."))) for version, _ in found]
    assert numbers == sorted(set(numbers), reverse=True)
    days = [day for _, day in found]
    assert days == sorted(days, reverse=True)


def test_changes_are_of_known_kinds():
    for heading, text in sections(TEXT):
        kinds = re.findall(r"^### (.*)$", text, re.M)
        assert kinds == [kind for kind in KINDS if kind in kinds], heading
        for part in re.split(r"^### .*$", text, flags=re.M)[1:]:
            assert part.startswith("\n\n- "), heading


def test_links_lead_to_files():
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        assert target.startswith("https://") or (REPOSITORY / target).is_file(), target


@pytest.mark.parametrize(
    "text",
    [
        "# Changelog\n## [0.1.0] - 2026-11-21\n",
        "## [Unreleased]\n## 0.1.0 - 2026-11-21\n",
        "## [Unreleased]\n## [0.1.0]\n",
        "## [Unreleased]\n## [0.1.0] - 2026-11-31\n",
    ],
)
def test_other_headings_are_errors(text):
    with pytest.raises(ValueError):
        releases(text)
