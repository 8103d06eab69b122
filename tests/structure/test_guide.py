# SPDX-License-Identifier: GPL-2.0-or-later
"""The guide, docs/install.md, is short: a newcomer's first read takes at most 6 commands in a dom0
and 3 in a guest.  tests/xen/test_first_use.py and test_first_use_two_hosts.py there run them."""

import re
import subprocess
import textwrap

import pytest

from tests.support.daemon import binary
from tests.support.first_use import MOST_IN_DOM0, MOST_IN_GUEST
from tests.support.guide import commands
from tools.vreadd import REPOSITORY


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


def pages():
    return [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]


def test_no_page_overwrites_the_file_of_the_package():
    """dpkg asks at each upgrade about a conffile that was replaced."""
    for page in pages():
        assert not re.search(r"[^>]> ?/etc/vread/vread\.conf", page.read_text()), page


def test_the_datanode_of_the_readme(tmp_path):
    """Its file, beside a vread.conf as the package brings it."""
    found = re.search(
        r"^    cat > (/\S+)/dn1\.conf <<'END'\n(.*?)^    END$",
        (REPOSITORY / "README.md").read_text(),
        re.M | re.S,
    )
    assert found[1] == "/var/lib/vread/datanodes"
    (tmp_path / "dn1.conf").write_text(textwrap.dedent(found[2]))
    (tmp_path / "vread").write_text(f"[vreadd]\ndatanode-files = {tmp_path}\n")
    command = [binary("release"), "--check-config", "-c", tmp_path / "vread"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "datanode dn1: not served yet: image /dev/vg0/dn1-data: No such file" in done.stderr
