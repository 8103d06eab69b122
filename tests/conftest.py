# SPDX-License-Identifier: GPL-2.0-or-later
"""Which tests share a process when several run beside each other (pytest -n), and in which order.

What costs minutes to start is started once: all tests that share an HDFS by the fixture `bed` are a
group, one for each of its parameters; those of emulated Xen hosts are three
(tests/xen/conftest.py).  Else a file is a group, since its tests share fixtures.  Those of a file
marked `spread` share nothing and take seconds each, so each is a group of its own.  Groups begin in
the order of their first tests: costly ones first, so that no process is left alone with one of them
at the end, and those of single tests last.
"""

from pathlib import Path

import pytest

from tests.runner.order import shuffle_modules

pytest_plugins = ["tests.runner.timing"]

COSTLY = ("xen", "hadoop")


def pytest_addoption(parser):
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="run the modules in an order made from SEED"
    )


def _bed(item):
    """The HDFS that the test shares with others, if it does."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return f"hadoop-{parameters['bed']}" if "bed" in parameters else None


@pytest.hookimpl(tryfirst=True)  # xdist looks at the markers in this hook, too
def pytest_collection_modifyitems(config, items):
    if (seed := config.getoption("shuffle")) is not None:
        shuffle_modules(items, seed)
    rank = {}
    for item in items:
        costly = [name for name in COSTLY if item.get_closest_marker(name)]
        if "xen" in costly:
            pass  # its group is made later
        elif costly or not item.get_closest_marker("spread"):
            group = _bed(item) or Path(item.path).stem
            item.add_marker(pytest.mark.xdist_group(group))
        rank[item] = 0 if costly else 2 if item.get_closest_marker("spread") else 1
    items.sort(key=rank.get)
