# SPDX-License-Identifier: GPL-2.0-or-later
"""Which clients vread-bench starts, and how it reaches hosts by a command."""

import pytest

pytestmark = pytest.mark.spread

ROUNDS = 3 * 8


def without_times(result):
    return [record | {"began": 0} for record in result["raw"]]


@pytest.fixture
def usual(make_bench):
    """A run with a client for each round."""
    bench = make_bench("usual")
    done = bench.run()
    assert done.returncode == 0, done.stderr
    assert bench.starts() == ROUNDS
    return bench


def test_a_client_is_kept_for_all_rounds(bench, usual):
    bench.write_targets(keep=True)
    done = bench.run()
    assert done.returncode == 0, done.stderr
    assert bench.starts() == 1
    assert without_times(bench.result()) == without_times(usual.result())


def test_wrong_bytes_do_not_end_a_kept_client(bench):
    bench.write_targets(keep=True)
    (bench.folder / "wrong-1").touch()
    assert bench.run().returncode == 2
    assert bench.starts() == 1
    wrong = [record["round"] for record in bench.result()["raw"] if "wrong" in record]
    assert wrong == [1] * (ROUNDS // 3)


def test_a_host_by_a_command(bench, usual):
    """The words before a shell's line: here a program that counts its calls."""
    shell = bench.folder / "my shell"
    shell.write_text(f'#!/bin/sh\necho >>"{bench.folder}/shells"\nexec sh -c "$2"\n')
    shell.chmod(0o755)
    bench.write_targets(host=f"{{by: command, command: '\"{shell}\" --'}}")
    done = bench.run()
    assert done.returncode == 0, done.stderr
    # A round is a client and two readings of its counter, at least.
    assert len((bench.folder / "shells").read_text().splitlines()) >= 3 * ROUNDS
    assert without_times(bench.result()) == without_times(usual.result())


@pytest.mark.parametrize("emulated", [False, True])
def test_the_time_of_checks_in_a_domain(bench, emulated):
    """The stub says that its checks took 50 ms.  They are no part of the client's time, unless the
    clock of the client's machine cannot tell: that of an emulated one."""
    text = bench.targets.read_text()
    text = text.replace(
        "    kind: bare", f"    kind: xen\n    emulated: {'yes' if emulated else 'no'}"
    )
    text = text.replace("    cpu:\n      datanode:", "    cpu:\n      client:")
    bench.targets.write_text(text)
    counted = bench.folder / "cpu"
    done = bench.run()
    assert done.returncode == 0, done.stderr
    found = sum(record["cpu_seconds"]["client"] for record in bench.result()["raw"])
    checks = 0 if emulated else 0.05 * ROUNDS
    assert found == pytest.approx(int(counted.read_text()) / 1000 - checks, abs=1e-3)


SETTINGS = """\
    settings:
      slow:
        properties: {{dfs.client.read.shortcircuit: "maybe", slow.down: "yes"}}
        enter: [{{host: me, command: echo slow >>{folder}/states}}]
        leave: [{{host: me, command: echo usual >>{folder}/states}}]
"""


def test_a_setting_changes_target_and_client(bench):
    """Its commands run around its rounds, and its properties stand above those of the way.  The
    default has neither."""
    text = bench.targets.read_text()
    bench.targets.write_text(text + SETTINGS.format(folder=bench.folder))
    spec = bench.spec.read_text().replace("[2vms, 4vms]", "2vms")
    bench.spec.write_text(spec + "    settings: [default, slow]\n")
    done = bench.run()
    assert done.returncode == 0, done.stderr
    states = (bench.folder / "states").read_text().split()
    assert states == ["slow", "usual"] * (len(states) // 2) and states
    told = {}
    for line in (bench.folder / "properties").read_text().splitlines():
        (cell, _), name, value = line.split(": ")[0].split(), *line.split(": ")[1].split(" ", 1)
        told.setdefault(cell.removeprefix("here/2vms/local/raw/"), {})[name] = value
    assert told["slow/sequential/1MiB/1r/stock"] == {
        "dfs.client.context": "stock-slow",
        "dfs.client.read.shortcircuit": "maybe",
        "slow.down": "yes",
    }
    assert told["default/sequential/1MiB/1r/stock"] == {
        "dfs.client.context": "stock-default",
        "dfs.client.read.shortcircuit": "false",
    }
    assert len(told) == 8
    assert {cell["setting"] for cell in bench.result()["cells"]} == {"default", "slow"}
