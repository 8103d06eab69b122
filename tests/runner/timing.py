# SPDX-License-Identifier: GPL-2.0-or-later
"""A pytest plug-in: with --times N the summary lists the N slowest tests, and how long each part
of the run took.

A part is what a marker names (xen, hadoop, ...); tests without such a marker are "native".  Times
are summed over all processes, so with several processes their sum exceeds the time of the run.
A session's fixture counts for the test that used the fixture first: see the column "set-up".
"""

from collections import defaultdict
from dataclasses import dataclass, field

import pytest

PARTS = ("xen", "hadoop", "appliance", "fuzz")
LONG = 60.0  # s: such a test gives its reason in its docstring
DOCUMENTED = "has a docstring"


@dataclass
class Times:
    """Seconds of one test by phase, the part of the run it belongs to, and whether the test has a
    docstring."""

    part: str
    documented: bool
    phases: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def total(self):
        return sum(self.phases.values())


def pytest_addoption(parser):
    parser.addoption("--times", type=int, default=0, metavar="N", help="list the N slowest tests")


def pytest_itemcollected(item):
    item.user_properties.append((DOCUMENTED, bool(getattr(item.obj, "__doc__", None))))


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("times"):
        tests = _times(terminalreporter)
        terminalreporter.section(f"slowest {config.getoption('times')} tests")
        for line in slowest(tests, config.getoption("times")):
            terminalreporter.write_line(line)
        terminalreporter.section("time by part")
        for line in _by_part(tests):
            terminalreporter.write_line(line)


def _times(terminalreporter):
    """{node id: Times} of all tests that ran."""
    tests = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if not isinstance(report, pytest.TestReport):
                continue  # a warning, or a failed collection
            if report.nodeid not in tests:
                part = next((name for name in PARTS if name in report.keywords), "native")
                documented = dict(report.user_properties).get(DOCUMENTED, False)
                tests[report.nodeid] = Times(part, documented)
            tests[report.nodeid].phases[report.when] += report.duration
    return tests


def slowest(tests, count):
    """The lines of a table.  tests: {node id: Times}."""
    yield "   total   set-up     test      end"
    for name in sorted(tests, key=lambda name: -tests[name].total)[:count]:
        times = tests[name]
        numbers = (times.total, *(times.phases[p] for p in ("setup", "call", "teardown")))
        note = ""
        if times.phases["call"] > LONG and not times.documented:
            note = f"  (over {LONG:.0f} s, and no docstring says why)"
        yield " ".join(f"{n:8.1f}" for n in numbers) + f"  {name}{note}"


def _by_part(tests):
    for part in ("native", *PARTS):
        times = [t.total for t in tests.values() if t.part == part]
        if times:
            yield f"{part:10} {len(times):5} tests {sum(times):8.1f} s"
