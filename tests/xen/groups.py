# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts the tests on emulated Xen hosts in groups; called by tests/conftest.py.

The tests of a group run in one process, one after the other (pytest -n).
"""

import itertools
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Modules with HDFS on several hosts.
SEVERAL_HOSTS = ("test_bench_remote.py", "test_hadoop_remote.py", "test_three_hosts.py")


def _group(path: Path, tests: list[pytest.Item]) -> str:
    """Returns the group of a module, or of a folder whose modules share their hosts."""
    if path.name == "shared":
        return "xen-shared"
    if path.name in SEVERAL_HOSTS:
        return "xen-hdfs-several"
    with_hdfs = any(item.get_closest_marker("hadoop") for item in tests)
    return "xen-hdfs" if with_hdfs else "xen-own"


def group_hosts(items: list[pytest.Item]) -> None:
    """Makes groups of tests, which may run in parallel: tests on the shared host, modules with HDFS
    on one host, modules with HDFS on several hosts (only in make test-all), and all others.  Within
    a group, all modules of one host stand together, so that the host boots once, whatever the order
    of the modules."""
    places = [i for i, item in enumerate(items) if item.get_closest_marker("xen")]
    hosts: dict[Path, list[pytest.Item]] = {}
    for place in places:
        item = items[place]
        folder = item.path.parent
        hosts.setdefault(item.path if folder == HERE else folder, []).append(item)
    for path, tests in hosts.items():
        for item in tests:
            item.add_marker(pytest.mark.xdist_group(_group(path, tests)))
    for place, item in zip(places, itertools.chain.from_iterable(hosts.values()), strict=True):
        items[place] = item
