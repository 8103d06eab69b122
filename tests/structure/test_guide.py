# SPDX-License-Identifier: GPL-2.0-or-later
"""The guide, docs/install.md, is short: a newcomer's first read takes at most 6 commands in a dom0
and 3 in a guest.  tests/xen/test_first_use.py and test_first_use_two_hosts.py there run them."""

import pytest

from tests.support.first_use import MOST_IN_DOM0, MOST_IN_GUEST
from tests.support.guide import commands


@pytest.mark.parametrize("place", ["in dom0", "on the far host", "on the near host"])
def test_commands_in_dom0(place):
    assert 2 <= len(commands(place)) <= MOST_IN_DOM0


def test_commands_in_a_guest():
    assert len(commands("in a guest")) == MOST_IN_GUEST


def test_a_line_has_one_command():
    """The count would be wrong if a line had several."""
    for place in ("in dom0", "on the far host", "on the near host", "in a guest"):
        for command in commands(place):
            first = command.splitlines()[0]
            assert not {";", "&", "|"} & set(first), first
