# SPDX-License-Identifier: GPL-2.0-or-later
"""Which tests share a process when several run beside each other (pytest -n).

What costs minutes to start is started once: all tests of emulated Xen hosts are one group, all
that start HDFS daemons another.  Else a file is a group, since its tests share fixtures.  Those
of a file marked `spread` share nothing and take seconds each, so each is a group of its own:
small groups come last, and then no process is left alone with all of them.
"""

from pathlib import Path

import pytest

COSTLY = ("xen", "hadoop")


@pytest.hookimpl(tryfirst=True)  # xdist looks at the markers in this hook, too
def pytest_collection_modifyitems(items):
    for item in items:
        costly = [name for name in COSTLY if item.get_closest_marker(name)]
        if costly or not item.get_closest_marker("spread"):
            group = costly[0] if costly else Path(item.path).stem
            item.add_marker(pytest.mark.xdist_group(group))
