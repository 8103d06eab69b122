# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/install.md prints, for the tests that do what it says."""

import re

from tools.vreadd import REPOSITORY

GUIDE = (REPOSITORY / "docs/install.md").read_text()


def printed(place):
    """The block of the guide whose first line is a comment that names `place`."""
    begins = re.escape(place)
    (found,) = re.findall(rf"^```\w+\n(?:#|<!--) {begins}(?: -->)?\n(.*?)^```$", GUIDE, re.M | re.S)
    return found


def commands(place):
    """The commands of such a block, as one text each.  A here-document belongs to its command."""
    found, lines = [], iter(printed(place).splitlines())
    for line in lines:
        command, end = [line], re.search(r"<<(\w+)$", line)
        while end and command[-1] != end[1]:
            command.append(next(lines))
        found.append("\n".join(command))
    return found
