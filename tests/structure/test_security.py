# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/security.md names a test for each rule and attack, docs/compatibility.md for each pair of
parts, docs/platforms.md for each platform: those tests exist.  And the rule that has no test
elsewhere."""

import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs/security.md").read_text()
PAIRS = (REPOSITORY / "docs/compatibility.md").read_text()
PLATFORMS = (REPOSITORY / "docs/platforms.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/.]+\.\w+)(?:::(\w+))?`", PAGE + PAIRS + PLATFORMS)))
TABLES = re.findall(
    r"^\|(?! rule| attack| what |---| boundary)(.*)\|$", PAGE.split("## Rules of Xen")[1], re.M
)
# Their ABI may change with each release of Xen.
UNSTABLE = ("libxenctrl", "libxenguest", "libxenlight", "libxlutil")


@pytest.mark.parametrize(("file", "test"), NAMED, ids="::".join)
def test_a_named_test_exists(file, test):
    text = (REPOSITORY / file).read_text()
    assert not test or re.search(rf"^(?:def|static \w+(?: \w+)*) \*?{test}\(", text, re.M)


def test_each_rule_and_attack_has_a_test():
    assert len(TABLES) >= 15 + 14
    assert [row for row in TABLES if "`tests/" not in row] == []


def test_each_pair_has_a_test_or_none_is_claimed():
    table = PAIRS.split("## Pairs")[1].split("\n## ")[0]
    rows = [row for row in re.findall(r"^\|(.*)\|$", table, re.M)[2:]]
    assert len(rows) >= 15
    shown = [row.split("|")[-1] for row in rows]
    said = re.compile(r"`tests/|not tested|as libvread|testing\.md")
    assert [cell for cell in shown if not said.search(cell)] == []


def test_each_platform_has_a_test_or_was_not_tried():
    rows = re.findall(r"^\|(?!---)(.*)\|$", PLATFORMS, re.M)
    cells = [row.split("|")[1] for row in rows if not row.endswith("| tried ")]
    assert len(cells) >= 15
    said = re.compile(r"`tests/|every test|\*\*not tried\*\*|the same|No test")
    assert [cell for cell in cells if not said.search(cell)] == []


@pytest.mark.parametrize("program", ["vreadd", "vread-parser", "vread"])
def test_libraries_of_xen(program):
    path = REPOSITORY / "build/release" / program
    command = ["readelf", "--dynamic", path]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    assert "libc.so.6" in needed
    assert [name for name in needed if name.startswith(UNSTABLE)] == []
