# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupted runs of vread-bench: the resumed run has the result of an uninterrupted one."""

import json
import signal

import pytest

from tests.support.waiting import eventually

pytestmark = [pytest.mark.spread, pytest.mark.thorough]

CELLS = 8
ROUNDS = 3 * CELLS


def outcome(bench):
    """The result without times of day, and the files of the report."""
    result = bench.result()
    for record in result["raw"]:
        del record["began"]
    folder = bench.folder / "report"
    done = bench.call("report", "--out", folder, bench.out)
    assert done.returncode == 0, done.stderr
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert len(files) > 2
    return result, {path.relative_to(folder): path.read_bytes() for path in files}


@pytest.fixture
def whole(make_bench):
    """The outcome of a run that nobody interrupts."""
    bench = make_bench("whole")
    done = bench.run()
    assert done.returncode == 0, done.stderr
    return outcome(bench)


def wait_until_blocked(bench, process):
    """Waits until the round that must block is being measured."""
    blocked = bench.folder / "blocked"
    eventually(lambda: blocked.exists() or process.poll() is not None, what="the round")
    assert process.poll() is None, process.communicate()


def kill_in_round(bench, number):
    """Starts a run, and kills it while the first cell of round `number` is being measured."""
    block = bench.folder / f"block-{number}"
    block.touch()
    (bench.folder / "blocked").unlink(missing_ok=True)
    process = bench.start()
    wait_until_blocked(bench, process)
    process.kill()
    process.communicate()
    block.unlink()


def test_killed_and_resumed_is_as_if_never_killed(bench, whole):
    kill_in_round(bench, 1)
    head, *before = bench.records()
    assert head["seed"] == 7 and len(before) == CELLS
    with open(bench.journal, "ab") as journal:
        journal.write(b'{"index": 8, "bytes": 12')  # as if the kill had torn a line
    kill_in_round(bench, 2)
    assert len(bench.records()) == 1 + 2 * CELLS
    done = bench.run()
    assert done.returncode == 0, done.stderr
    assert f"[{2 * CELLS + 1}/{ROUNDS}] round 3: " in done.stderr
    assert [r["began"] for r in bench.result()["raw"][:CELLS]] == [r["began"] for r in before]
    assert outcome(bench) == whole
    assert not bench.journal.exists()
    # Only the rounds that were running have run twice.
    assert len(bench.calls()) == ROUNDS + 2
    assert len(set(bench.calls())) == ROUNDS


def test_sigint_lets_the_round_end(bench, whole):
    block = bench.folder / "block-1"
    block.touch()
    process = bench.start()
    wait_until_blocked(bench, process)
    process.send_signal(signal.SIGINT)
    block.unlink()
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130
    assert f"stopped before round 10 of {ROUNDS}" in said
    assert len(bench.records()) == 1 + 9
    assert bench.run().returncode == 0
    assert outcome(bench) == whole
    assert len(bench.calls()) == ROUNDS


def test_states_are_entered_and_left(bench):
    assert bench.run().returncode == 0
    states = (bench.folder / "states").read_text().split()
    # Once a round at least; neighbouring rounds may share a state.
    assert 2 <= len(states) // 2 <= 3
    assert states == ["enter", "leave"] * (len(states) // 2)


def test_another_spec_does_not_go_on_with_a_journal(bench):
    kill_in_round(bench, 1)
    bench.spec.write_text(bench.spec.read_text().replace("seed: 7", "seed: 8"))
    kept = bench.journal.read_bytes()
    done = bench.run()
    assert done.returncode == 1
    assert "is of another spec or other targets" in done.stderr
    assert bench.journal.read_bytes() == kept


def test_another_machine_does_not_go_on_with_a_journal(bench):
    kill_in_round(bench, 1)
    head, *rounds = bench.records()
    head["targets"]["here"]["client"]["kernel"] = "Linux 2.6.32 x86_64"
    bench.journal.write_text("".join(json.dumps(r) + "\n" for r in [head, *rounds]))
    done = bench.run()
    assert done.returncode == 1
    assert "here.client: was {'cpu" in done.stderr and "Linux 2.6.32" in done.stderr


@pytest.mark.parametrize("damage", ["{]\n", "[]\n", '{"index": 5}\n'])
def test_a_damaged_journal_is_an_error(bench, damage):
    kill_in_round(bench, 0)
    with open(bench.journal, "a") as journal:
        journal.write(damage)
    done = bench.run()
    assert done.returncode == 1
    assert f"{bench.journal}: line 2 is " in done.stderr


def test_a_result_is_not_overwritten(bench):
    bench.out.write_text("precious")
    done = bench.run()
    assert done.returncode == 1
    assert "exists. Give another --out" in done.stderr
    assert bench.out.read_text() == "precious"


def test_wrong_bytes_are_never_a_number(bench):
    """All cells of round 1 report wrong bytes; the other rounds still count."""
    (bench.folder / "wrong-1").touch()
    done = bench.run()
    assert done.returncode == 2
    assert done.stderr.count("WRONG BYTES: here/") == CELLS
    for record in bench.result()["raw"]:
        assert ("wrong" in record) == (record["round"] == 1)
        assert ("bytes" in record) == ("seconds" in record) == (record["round"] != 1)


def test_wrong_bytes_of_the_warm_up_count(bench):
    (bench.folder / "wrong-warm").touch()
    assert bench.run().returncode == 2
    for record in bench.result()["raw"]:
        assert record["wrong"] == "bytes 0..4095"
        assert "bytes" not in record


def test_a_client_that_ends_is_an_error_and_no_round(bench):
    bench.targets.write_text(
        bench.targets.read_text().replace("command: ", "command: echo oops >&2; false # ", 1)
    )
    done = bench.run()
    assert done.returncode == 1
    assert "client: " in done.stderr and "oops" in done.stderr
    assert len(bench.records()) == 1


def test_two_runs_do_not_share_a_journal(bench):
    block = bench.folder / "block-0"
    block.touch()
    process = bench.start()
    wait_until_blocked(bench, process)
    done = bench.run()
    process.kill()
    process.communicate()
    assert done.returncode == 1
    assert "another vread-bench is writing it" in done.stderr


def test_parts_that_nobody_counts_are_null(bench):
    assert bench.run().returncode == 0
    for record in bench.result()["raw"]:
        cpu = record["cpu_seconds"]
        assert cpu["host"] is None and cpu["network"] is None
        assert 0.1 <= cpu["datanode"] <= 0.9
        assert 0.05 <= cpu["client"] <= 0.85
        assert record["counters"] == {"copied-bytes": None, "instructions": None}


def test_counters_do_not_count_the_reading_of_cpu_time(bench):
    """The counter is how often CPU time was read."""
    reads = bench.folder / "reads"
    reads.touch()
    counter = f"{{host: me, command: wc -l <{reads}}}"
    text = bench.targets.read_text()
    text = text.replace('command: "echo $(cat', f'command: "echo >>{reads}; echo $(cat', 1)
    bench.targets.write_text(f"{text}    counters:\n      instructions: [{counter}]\n")
    assert bench.run().returncode == 0
    rounds = bench.result()["raw"]
    assert {record["counters"]["instructions"] for record in rounds} == {0}
    assert len(reads.read_text().splitlines()) == 2 * len(rounds)
