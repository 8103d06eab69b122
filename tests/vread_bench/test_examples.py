# SPDX-License-Identifier: GPL-2.0-or-later
"""The examples of vread-bench are right, and cover the paper's figures.

The commands of the example targets run for real, on a copy of vread.conf and with stand-ins for the
programs that change a host.  The stand-ins refuse what the real ones refuse: to start what runs
already, and a reload with a key that needs a restart.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tools.vread_bench import result, spec, targets
from tools.vread_bench.figures import FIGURES
from tools.vread_bench.pages import matches
from tools.vread_bench.summary import KEYS, Cell

pytestmark = pytest.mark.spread

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = REPOSITORY / "tools/vread_bench/examples"
SPECS = sorted(path for path in EXAMPLES.glob("*.yaml") if path.name != "targets.yaml")
PAGE = (REPOSITORY / "docs/benchmarking.md").read_text()


def read(path):
    return spec.read(path, targets.read(EXAMPLES / "targets.yaml"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_an_example_is_right_and_described(path):
    assert read(path).name == path.stem
    assert f"`{path.name}`" in PAGE


OF_THE_PAPER = [f for f in FIGURES if f.panels and re.search(r"\d", f.name)]


@pytest.mark.parametrize("figure", OF_THE_PAPER, ids=lambda f: f.name)
def test_a_figure_of_the_paper_has_an_example(figure):
    """Each panel has cells with stock and with another way."""
    numbers = re.findall(r"\d+", figure.name)
    (path,) = (p for p in SPECS if set(numbers) <= set(re.findall(r"\d+", p.stem)))
    cells = [Cell("x", {key: getattr(cell, key) for key in KEYS}) for cell in read(path).cells]
    for panel in figure.panels:
        ways = {cell.key["way"] for cell in cells if matches(cell, panel.only)}
        assert "stock" in ways and len(ways) > 1, panel


CONFIG = """\
[vreadd]
read-ahead = 8M
cache = auto
[peers]
transports = tcp
[peer dom0b]
protection = privacy
[datanode dn1]
image-mode = auto
"""
STAND_IN = """\
cd "$HOST_FOLDER"
case "$(basename "$0") $1" in
"systemd-run --collect") test ! -e unit && touch unit ;;
"systemctl stop") test -e unit && rm unit ;;
"systemctl restart") cp vread.conf started.conf; cp vread.conf running.conf ;;
"xl-vread reload")
	cp vread.conf running.conf
	test "$(grep ^transports vread.conf)" = "$(grep ^transports started.conf)" || exit 4 ;;
"xl-vread list") echo 'client1                      9   0  client   connected     dn1' ;;
"virsh domstate") test -e "$2" && echo running || echo 'shut off' ;;
"virsh start") test ! -e "$2" && touch "$2" ;;
"virsh destroy") test -e "$2" && rm "$2" ;;
losetup*) ;;
*) exit 99 ;;
esac
"""
KNOWN = targets.read(EXAMPLES / "targets.yaml")
STATES = [
    (target, kind, name)
    for target in KNOWN.values()
    for kind in ("loads", "places", "images", "settings")
    for name in getattr(target, kind)
]


@pytest.fixture
def host(tmp_path):
    """Runs the commands of a state on hosts that are folders."""
    stand_in = tmp_path / "stand-in"
    stand_in.write_text(f"#!/bin/sh\n{STAND_IN}")
    stand_in.chmod(0o755)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("systemd-run", "systemctl", "xl-vread", "virsh", "losetup"):
        (programs / name).symlink_to(stand_in)

    def run(commands):
        for command in commands:
            folder = tmp_path / command.host.name
            if not folder.exists():
                folder.mkdir()
                for name in ("vread.conf", "started.conf", "running.conf"):
                    (folder / name).write_text(CONFIG)
            environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOST_FOLDER": str(folder)}
            line = command.line.replace("/etc/vread", str(folder))
            done = subprocess.run(
                ["sh", "-c", line], env=os.environ | environment, capture_output=True
            )
            assert done.returncode == 0, (line, done)

    return run


@pytest.mark.parametrize(("target", "kind", "name"), STATES, ids=lambda x: getattr(x, "name", x))
def test_a_state_can_be_entered_twice(host, target, kind, name):
    """A run that was killed has not left its state."""
    state = getattr(target, kind)[name]
    host(state.enter)
    host(state.enter)
    host(state.leave)


@pytest.mark.parametrize("name", [n for n in KNOWN["xen"].places if n.startswith("remote-")])
def test_a_place_is_what_its_name_says(host, tmp_path, name):
    """Whatever place was before: vreadd runs with the transport and the protection."""
    places = KNOWN["xen"].places
    for before in places:
        host(places[before].enter)
        host(places[before].leave)
        host(places[name].enter)
        started = (tmp_path / "dom0/started.conf").read_text()
        protection = re.search(r"^protection = (\w+)$", started, re.M)[1]
        transports = re.search(r"^transports = (.+)$", started, re.M)[1]
        wanted = {"rdma": "rdma tcp"}.get(*places[name].transports, "tcp")
        assert transports == wanted
        assert (protection == "authentication") == (places[name].transports == ("plain",))
        host(places[name].leave)


def test_the_page_names_the_keys_of_the_result_file():
    for key in result.HEAD:
        assert f"`{key}`" in PAGE
