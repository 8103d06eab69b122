# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts tests in groups and in order.  The tests of a group share a process when several processes
run tests (pytest -n).

Everything that takes minutes to start is started once.  All tests that share an HDFS by the fixture
`bed` are a group, one for each parameter of `bed`.  Tests on emulated Xen hosts are a few groups
(tests/xen/groups.py).  Any other file is a group, because its tests share fixtures.  Tests of a
file marked `spread` share nothing, so each test is a group.  Groups begin in the order of their
first tests: first the groups of emulated hosts, which take longest, then those with HDFS, so that
no process is left with one of them at the end, and groups of single native tests last.
"""

from pathlib import Path

import pytest

from tests.runner.order import shuffle_modules
from tests.xen.groups import group_hosts

for tests in ("reading", "publishing", "faults", "checking", "loop", "steady"):
    pytest.register_assert_rewrite(f"tests.guest.{tests}")
pytest_plugins = [
    "tests.runner.timing",
    "tests.runner.cells",
    "tests.runner.limits",
    "tests.runner.features",
]


def pytest_addoption(parser):
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="run the modules in an order made from SEED"
    )


XEN, HADOOP, NATIVE, SPREAD = range(4)


def _rank(item):
    """The place of the test's group in the order of groups."""
    if item.get_closest_marker("xen"):
        return XEN
    if item.get_closest_marker("hadoop"):
        return HADOOP
    return SPREAD if item.get_closest_marker("spread") else NATIVE


def _bed(item):
    """The HDFS that the test shares with others, or None."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return f"hadoop-{parameters['bed']}" if "bed" in parameters else None


@pytest.hookimpl(tryfirst=True)  # xdist looks at the markers in this hook, too
def pytest_collection_modifyitems(config, items):
    if (seed := config.getoption("shuffle")) is not None:
        shuffle_modules(items, seed)
    rank = {}
    for item in items:
        rank[item] = _rank(item)
        if rank[item] in (HADOOP, NATIVE) and not item.get_closest_marker("spread"):
            group = _bed(item) or Path(item.path).stem
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=rank.get)
    group_hosts(items)
