# SPDX-License-Identifier: GPL-2.0-or-later
"""A pytest plug-in: tests that are the cells of a table.  The summary of a run prints each table.

def test_killed(party, phase, record_property):
    cells(record_property, "kill matrix", party, phase)
"""

PREFIX = "cell of "


def cells(record_property, table, row, column):
    """Makes the test a cell of the table."""
    record_property(PREFIX + table, [row, column])


def pytest_terminal_summary(terminalreporter):
    for name, table in tables(terminalreporter.stats).items():
        terminalreporter.section(name)
        for line in lines(table):
            terminalreporter.write_line(line)


def tables(stats):
    """{name: {(row, column): outcome}}; stats: lists of pytest's reports."""
    found = {}
    for reports in stats.values():
        for report in reports:
            for name, place in getattr(report, "user_properties", ()):
                if str(name).startswith(PREFIX):
                    table = found.setdefault(name.removeprefix(PREFIX), {})
                    if table.get(tuple(place)) in (None, "passed"):
                        table[tuple(place)] = report.outcome
    return found


def lines(table):
    """A line for each row.  A cell that did not run is "-"."""
    rows = list(dict.fromkeys(row for row, _ in table))
    columns = list(dict.fromkeys(column for _, column in table))
    first = max(map(len, rows))
    widths = [max(len(column), len("passed")) for column in columns]
    yield "  ".join(["".ljust(first), *(c.ljust(w) for c, w in zip(columns, widths, strict=True))])
    for row in rows:
        told = (table.get((row, column), "-") for column in columns)
        yield "  ".join(
            [row.ljust(first), *(t.ljust(w) for t, w in zip(told, widths, strict=True))]
        )
