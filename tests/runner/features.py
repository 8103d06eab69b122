# SPDX-License-Identifier: GPL-2.0-or-later
"""A pytest plug-in: who read the files of each feature of HDFS.  A run with such tests writes
build/features.json: {feature: {client: who read}}.

record(record_property, "ViewFs", "3.4.3", "by vRead")
"""

import json
from pathlib import Path

NAME = "feature of HDFS"
SUMMARY = Path(__file__).parents[2] / "build" / "features.json"


def record(record_property, feature, client, *found):
    """found: who read; nothing if the read failed."""
    record_property(NAME, [feature, client, found[0] if found else "failed"])


def pytest_terminal_summary(terminalreporter):
    if table := features(terminalreporter.stats):
        SUMMARY.write_text(json.dumps(table, indent=2) + "\n")
        terminalreporter.section("features of HDFS")
        for feature, cells in table.items():
            told = "; ".join(f"{client} {found}" for client, found in cells.items())
            terminalreporter.write_line(f"{feature}: {told}")


def features(stats):
    """{feature: {client: who read}}; stats: lists of pytest's reports."""
    table = {}
    for reports in stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == NAME and getattr(report, "when", "") == "call":
                    feature, client, found = value
                    table.setdefault(feature, {})[client] = found
    return table
