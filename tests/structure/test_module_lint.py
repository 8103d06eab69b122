# SPDX-License-Identifier: GPL-2.0-or-later
"""What tools/lint reports about the sources of the kernel module, and what it does not run twice.

`make lint` runs the checks on the module itself.
"""

import re
import subprocess
import sys

import pytest
import tomllib

from tools.lint import exceptions, results
from tools.lint.exceptions import Accepted, judge
from tools.lint.findings import Finding
from tools.vreadd import REPOSITORY

GOOD = """\
// SPDX-License-Identifier: GPL-2.0
#include <linux/slab.h>

void front_free(struct front *front)
{
	char *name = front->name;

	kfree(name);
	kfree(front);
}
"""
# The line of GOOD that a fault replaces, the fault, and the rule that reports it.
FAULTS = {
    "no blank line": ("name;\n\n", "name;\n", "LINE_SPACING"),
    "a misspelt word": ("\tkfree(name);", "\tkfree(name); /* the adress */", "TYPO_SPELLING"),
    "freed twice": ("\tkfree(front);", "\tkfree(front);\n\tkfree(front);", "free/kfree"),
    "a needless check": ("\tkfree(name);", "\tif (name)\n\t\tkfree(name);", "free/ifnullfree"),
}


def planted(fault):
    line, replacement, _ = FAULTS[fault]
    assert GOOD.count(line) == 1
    return GOOD.replace(line, replacement)


@pytest.mark.thorough
def test_faults_are_found(tmp_path):
    """Each by the check that is for it, and none in code without a fault.  Every rule is run."""
    texts = {"good.c": GOOD}
    texts |= {f"{fault.replace(' ', '-')}.c": planted(fault) for fault in FAULTS}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "tools.lint", *(tmp_path / name for name in texts)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 1
    found = re.findall(r"([\w-]+\.c):\d+: ([\w/]+): ", done.stderr)
    assert len(found) == len(done.stderr.splitlines())
    rules = {name: {rule for file, rule in found if file == name} for name in texts}
    assert rules.pop("good.c") == set()
    # checkpatch has a rule about needless checks, too.
    rules["a-needless-check.c"].discard("NEEDLESS_IF")
    assert list(rules.values()) == [{rule} for _, _, rule in FAULTS.values()]


class Counting:
    """A check that finds the word `bad`, and counts the files that it looks at."""

    def __init__(self, key=b""):
        self.shared, self.seen = key, []

    def key(self, root, names):
        return self.shared

    def run(self, root, names, all_names):
        self.seen += names
        return [Finding(n, 1, "BAD", "bad") for n in names if "bad" in (root / n).read_text()]


@pytest.fixture
def check(tmp_path):
    """Checks the files of a folder; returns the files with findings, and those that were read."""
    for name, text in {"a.c": "bad", "b.c": "good", "c.c": "good"}.items():
        (tmp_path / name).write_text(text)

    def check(key=b""):
        counting = Counting(key)
        names = sorted(path.name for path in tmp_path.glob("*.c"))
        found = results.findings([counting], tmp_path, names, tmp_path / "memory.json")
        return [finding.file for finding in found], counting.seen

    return check


def test_only_files_that_changed_are_checked(check, tmp_path):
    assert check() == (["a.c"], ["a.c", "b.c", "c.c"])
    assert check() == (["a.c"], [])
    (tmp_path / "b.c").write_text("bad, too")
    assert check() == (["a.c", "b.c"], ["b.c"])
    (tmp_path / "a.c").write_text("better")
    assert check() == (["b.c"], ["a.c"])
    assert check(b"a new version") == (["b.c"], ["a.c", "b.c", "c.c"])


FINDING = Finding("linux-frontend/ring.c", 7, "VOLATILE", "Use of volatile is usually wrong")


@pytest.mark.parametrize(
    "accepted",
    [
        Accepted("VOLATILE", "why"),
        Accepted("VOLATILE", "why", files=["*/pool.c", "*/ring.c"]),
        Accepted("VOLATILE", "why", text="usually"),
    ],
)
def test_an_exception_covers_a_finding(accepted):
    assert judge([FINDING], [accepted], complete=True) == []


@pytest.mark.parametrize(
    "accepted",
    [
        Accepted("CAMELCASE", "why"),
        Accepted("VOLATILE", "why", files=["*/pool.c"]),
        Accepted("VOLATILE", "why", text="never"),
    ],
)
def test_an_exception_of_something_else(accepted):
    text = "linux-frontend/ring.c:7: VOLATILE: Use of volatile is usually wrong"
    assert judge([FINDING], [accepted], complete=False) == [text]
    found, unused = judge([FINDING], [accepted], complete=True)
    assert found == text
    assert unused.endswith("excepts nothing: delete it")


def test_exceptions_have_reasons():
    read = tomllib.loads(exceptions.FILE.read_text())
    reasons = [entry["reason"] for entry in read["exception"]] + list(read["left-out"].values())
    assert min(map(len, reasons)) > 20
