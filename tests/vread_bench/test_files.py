# SPDX-License-Identifier: GPL-2.0-or-later
"""Mistakes in the spec and in the targets file of vread-bench are told with file, line and key."""

import pytest

from tools.vread_bench import spec, targets
from tools.vread_bench.errors import PlaceError
from tools.vread_bench.plan import plan
from tools.vread_bench.spec import WORKLOADS

pytestmark = pytest.mark.spread

SPEC_MISTAKES = [
    ("rounds: 3", "rounds: 0", "3: rounds: '0': expected a number from 1 to 1000"),
    ("rounds: 3", "rounds: 3\nrounds: 5", "4: rounds: is there twice"),
    ("rounds: 3", "rouns: 4", "1: rounds: is missing"),
    ("seed: 7", "seed: 7\nsede: 8", "3: sede: no such key"),
    ("size: 4MiB", "size: 5MiB", "4: size: expected a multiple of 4MiB"),
    ("size: 4MiB", "size: 4MB", "4: size: '4MB': expected a size from 4MiB"),
    ("name: small", "name: a/b", "1: name: 'a/b': expected letters"),
    ("name: small", "name: [", "3: not YAML"),
    ("targets: here", "targets: there", "6: cells[0].targets: 'there': expected one of here"),
    ("[stock, vread]", "[stock, short-circuit]", "7: cells[0].ways: target here has no short-"),
    ("[stock, vread]", "[stock, stock]", "7: cells[0].ways: stock is there twice"),
    ("[stock, vread]", "[stock,\n  vrread]", "8: cells[0].ways: 'vrread': expected one of stock"),
    ("[1MiB]", "[1MiB, 3MiB]", "9: cells[0].requests: 3MiB: expected 4KiB times a power"),
    ("[1MiB]", "[1MiB, 8MiB]", "9: cells[0].requests: '8MiB': expected a size from 4KiB"),
    ("re-read]", "pread-4k]", "8: cells[0].workloads: pread-4k reads 4KiB"),
    ("[2vms, 4vms]", "[2vms, 8vms]", "10: cells[0].loads: target here has no 8vms; it has: 2vms"),
    ("places: local", "places: moon", "11: cells[0].places: target here has no moon"),
    (
        "images: raw",
        "images: raw\n    readers: 65",
        "13: cells[0].readers: '65': expected a number",
    ),
    (
        "images: raw",
        "images: raw\n    settings: direct",
        "13: cells[0].settings: target here has no direct; it has: default",
    ),
    ("images: raw", "image: raw", "6: cells[0].images: is missing"),
    ("  - targets", "    targets", "6: cells: expected a list"),
]
TARGET_MISTAKES = [
    ("kind: bare", "kind: vmware", "3: targets.here.kind: 'vmware': expected one of bare, xen"),
    ("by: local", "by: rsh", "5: targets.here.hosts.me.by: 'rsh': expected local, ssh "),
    ("by: local", "by: command, command: \"a 'b\"", "5: targets.here.hosts.me.command: No closing"),
    ("by: local", "by: command", "5: targets.here.hosts.me.command: is missing"),
    ("by: local", "by: ssh, port: 22", "5: targets.here.hosts.me.host: is missing"),
    ("by: local", "by: ssh, host: h, port: x", "5: targets.here.hosts.me.port: 'x': expected a"),
    ("host: me\n      folder", "host: he\n      folder", "7: targets.here.client.host: 'he': "),
    ("      vread:", "      vraed:", "12: targets.here.ways.vraed: expected one of stock, vread"),
    ("datanode: [", "disk: [", "23: targets.here.cpu.disk: expected one of client, datanode"),
    ("files: /bench", "files: bench", "19: targets.here.places.local.files: 'bench': expected an"),
    ("files: /bench", "files: /b, host: me", "19: targets.here.places.local.host: no such key"),
    (
        "    cpu:",
        "    settings: {slow: {property: x}}\n    cpu:",
        "22: targets.here.settings.slow.property: no such key; known here: enter,",
    ),
    ("images:\n      raw:", "images:\n      raw: {properties: }", "21: targets.here.images.raw."),
    ("    cpu:", "    cups:", "22: targets.here.cups: no such key"),
    ("command: \"echo", "cmd: \"echo", "23: targets.here.cpu.datanode[0]: expected one of pid"),
]  # fmt: skip


def with_mistake(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(("old", "new", "said"), SPEC_MISTAKES)
def test_a_mistake_in_the_spec(bench, old, new, said):
    with_mistake(bench.spec, old, new)
    with pytest.raises(PlaceError) as error:
        spec.read(bench.spec, targets.read(bench.targets))
    assert str(error.value).startswith(f"{bench.spec}:{said}")


@pytest.mark.parametrize(("old", "new", "said"), TARGET_MISTAKES)
def test_a_mistake_in_the_targets_file(bench, old, new, said):
    with_mistake(bench.targets, old, new)
    with pytest.raises(PlaceError) as error:
        targets.read(bench.targets)
    assert str(error.value).startswith(f"{bench.targets}:{said}")


def test_a_cell_that_two_items_ask_for(bench):
    text = bench.spec.read_text()
    bench.spec.write_text(text + text[text.index("  - targets") :])
    with pytest.raises(PlaceError, match=r":5: cells: here/2vms/local/raw/.* is there twice$"):
        spec.read(bench.spec, targets.read(bench.targets))


def test_all_mistakes_are_told_at_once(bench):
    """Of both files, each once, and nothing that only follows from another mistake."""
    with_mistake(bench.spec, "rounds: 3", "rounds: 0\nrouns: 4")
    with_mistake(bench.spec, "size: 4MiB", "size: 5MiB")
    with_mistake(bench.spec, "[stock, vread]", "[stok, vread, vraed]")
    with_mistake(bench.spec, "[1MiB]", "[3MiB]")
    with_mistake(bench.targets, "kind: bare", "kind: vmware")
    with_mistake(bench.targets, "by: local", "by: rsh")
    with_mistake(bench.targets, "files: /bench", "files: bench, transports: [tls, avian]")
    done = bench.call("plan", "--targets", bench.targets, bench.spec)
    assert (done.returncode, done.stdout) == (1, "")
    lines = [line.removeprefix("vread-bench: ") for line in done.stderr.splitlines()]
    places = [line.split(": ")[:2] for line in lines]
    of_targets, of_spec = f"{bench.targets}:", f"{bench.spec}:"
    assert places == [
        [f"{of_targets}3", "targets.here.kind"],
        [f"{of_targets}5", "targets.here.hosts.me.by"],
        [f"{of_targets}19", "targets.here.places.local.files"],
        [f"{of_targets}19", "targets.here.places.local.transports"],
        [f"{of_spec}3", "rounds"],
        [f"{of_spec}4", "rouns"],
        [f"{of_spec}5", "size"],
        [f"{of_spec}8", "cells[0].ways"],
        [f"{of_spec}8", "cells[0].ways"],
        [f"{of_spec}10", "cells[0].requests"],
    ]


def test_a_target_that_lacks_several_values(bench):
    with_mistake(bench.spec, "[2vms, 4vms]", "[8vms, 2vms, 16vms]")
    with_mistake(bench.spec, "places: local", "places: moon")
    with pytest.raises(PlaceError) as error:
        spec.read(bench.spec, targets.read(bench.targets))
    assert [line.split(": ")[2] for line in str(error.value).splitlines()] == [
        "target here has no 8vms; it has",
        "target here has no 16vms; it has",
        "target here has no moon; it has",
    ]


def test_the_command_line_tells_it(bench):
    with_mistake(bench.spec, "rounds: 3", "rounds: many")
    done = bench.run()
    assert done.returncode == 1
    assert done.stderr == (
        f"vread-bench: {bench.spec}:3: rounds: 'many': expected a number from 1 to 1000\n"
    )
    assert not bench.journal.exists()


def test_a_missing_file(bench):
    bench.targets.unlink()
    done = bench.call("plan", "--targets", bench.targets, bench.spec)
    assert done.returncode == 1
    assert done.stderr.startswith(f"vread-bench: {bench.targets}: cannot be read: ")


def test_cells_are_the_product_of_the_lists(bench):
    wanted = spec.read(bench.spec, targets.read(bench.targets))
    assert len({cell.id for cell in wanted.cells}) == len(wanted.cells) == 2 * 2 * 2
    assert "here/4vms/local/raw/default/re-read/1MiB/1r/vread" in {cell.id for cell in wanted.cells}
    assert {cell.workload for cell in wanted.cells} < set(WORKLOADS)


def test_every_round_has_every_cell_and_keeps_states_together(bench):
    wanted = spec.read(bench.spec, targets.read(bench.targets))
    steps = plan(wanted)
    assert [step.index for step in steps] == list(range(3 * 8))
    orders = set()
    for number in range(3):
        cells = [step.cell for step in steps if step.round == number]
        assert steps[number * 8].round == number
        assert sorted(c.id for c in cells) == sorted(c.id for c in wanted.cells)
        changes = sum(a.state != b.state for a, b in zip(cells, cells[1:], strict=False))
        assert changes == 1
        orders.add(tuple(c.id for c in cells))
    assert len(orders) == 3
    assert plan(wanted) == steps


def test_another_seed_is_another_order(bench):
    known = targets.read(bench.targets)
    before = [step.cell.id for step in plan(spec.read(bench.spec, known))]
    with_mistake(bench.spec, "seed: 7", "seed: 8")
    after = [step.cell.id for step in plan(spec.read(bench.spec, known))]
    assert before != after and sorted(before) == sorted(after)


def test_plan_lists_the_rounds(bench):
    done = bench.call("plan", "--targets", bench.targets, bench.spec)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 24
    assert done.stdout.startswith("1 round 1 here/")
