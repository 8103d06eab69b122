# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests what tests/runner adds to pytest: repeatable orders, times, and `make test-steady`."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.runner.cells import lines
from tests.runner.order import shuffle_modules
from tests.runner.timing import Times, slowest

REPOSITORY = Path(__file__).parents[2]
STEADY = REPOSITORY / "tests" / "runner" / "steady.py"
CONFTEST = """
pytest_plugins = ["tests.runner.timing", "tests.runner.cells"]
def pytest_addoption(parser):
    parser.addoption("--shuffle")
"""


def items(modules, tests):
    return [SimpleNamespace(path=m, name=t) for m in range(modules) for t in range(tests)]


def test_a_seed_makes_the_same_order_again():
    first, again, other = items(9, 3), items(9, 3), items(9, 3)
    shuffle_modules(first, 7)
    shuffle_modules(again, 7)
    shuffle_modules(other, 8)
    orders = [[(i.path, i.name) for i in made] for made in (first, again, other)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def test_tests_of_a_module_keep_their_order():
    shuffled = items(5, 4)
    shuffle_modules(shuffled, 1)
    assert [i.name for i in shuffled] == [0, 1, 2, 3] * 5


@pytest.fixture
def run(tmp_path):
    """run(text of a test file, *arguments of pytest, steady=its options): status and output."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "conftest.py").write_text(CONFTEST)

    def make(text, *arguments, steady=("--runs=2", "--seed=3")):
        (folder / "test_made.py").write_text(text)
        logs = ["--load=1", f"--folder={tmp_path / 'logs'}"]
        command = [
            sys.executable,
            STEADY,
            *steady,
            *logs,
            "--",
            "-c",
            "/dev/null",
            f"--rootdir={folder}",
        ]
        command += ["-o", f"pythonpath={REPOSITORY}", "-p", "no:cacheprovider", folder, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return make


@pytest.mark.thorough
def test_runs_that_agree(run):
    status, output = run("def test_it(): pass\n")
    assert status == 0, output
    assert "run 1, seed 3: 1 passed" in output
    assert "2 runs, 1 tests with the same verdict, 0 differed" in output


@pytest.mark.thorough
def test_a_test_that_differs_is_listed_with_its_log(run, tmp_path):
    status, output = run(
        "from pathlib import Path\n"
        "def test_steady(): pass\n"
        "def test_fickle():\n"
        f"    seen = Path({str(tmp_path / 'seen')!r})\n"
        "    assert not seen.exists(), 'the second time'\n"
        "    seen.touch()\n"
        "    print(seen)\n"
    )
    assert status == 1, output
    assert "DIFFERED" in output and "test_fickle: passed, failure" in output
    assert "1 tests with the same verdict, 1 differed" in output
    (log,) = (tmp_path / "logs" / "differed").iterdir()
    assert "the second time" in log.read_text()


@pytest.mark.thorough
def test_an_interrupted_series_is_resumed(run, tmp_path):
    """The first run fails and the second one passes: the resumed series must know of both."""
    text = (
        "from pathlib import Path\n"
        "def test_it():\n"
        f"    seen = Path({str(tmp_path / 'seen')!r})\n"
        "    assert seen.exists() or seen.touch()\n"
    )
    status, output = run(text, steady=("--runs=1", "--seed=3"))
    assert status == 1, output
    status, output = run(text, steady=("--runs=2", "--resume"))
    assert status == 1, output
    assert "run 1," not in output and "run 2, seed 4: 1 passed" in output
    assert "test_it: failure, passed" in output


@pytest.mark.thorough
def test_only_the_same_series_is_resumed(run):
    text = "def test_it(): pass\n"
    status, output = run(text, steady=("--runs=1", "--resume"))
    assert status == 1 and "no series to resume" in output
    run(text, steady=("--runs=1",))
    status, output = run(text, "-q", steady=("--runs=2", "--resume"))
    assert status == 1 and "its runs have another pytest: begin a new series" in output


@pytest.mark.thorough
@pytest.mark.parametrize("text", ["def test_it(): assert 0\n", "import nowhere\n"])
def test_what_fails_each_time_is_no_success(run, text):
    status, output = run(text)
    assert status == 1, output
    assert "FAILED each time" in output


@pytest.mark.thorough
def test_a_skip_that_comes_and_goes_differs(run, tmp_path):
    status, output = run(
        "import pytest\nfrom pathlib import Path\n"
        f"SEEN = Path({str(tmp_path / 'seen')!r})\n"
        "def test_it():\n"
        "    if SEEN.exists(): pytest.skip('not again')\n"
        "    SEEN.touch()\n"
    )
    assert status == 1, output
    assert "test_it: passed, skipped" in output


def test_wrong_command_lines(tmp_path):
    for wrong in (["--runs=0"], ["--load=-1"], ["--what"]):
        done = subprocess.run([sys.executable, STEADY, *wrong], capture_output=True, cwd=tmp_path)
        assert done.returncode == 2, wrong


@pytest.mark.thorough
def test_times_are_listed_by_test_and_by_part(run, tmp_path):
    run("def test_one(): pass\ndef test_two(): pass\n", "--times=2")
    log = (tmp_path / "logs" / "run-1.log").read_text()
    table = log.partition("slowest 2 tests")[2]
    assert "test_one" in table and "test_two" in table
    assert "native         2 tests" in table


@pytest.mark.thorough
def test_times_are_listed_beside_a_module_that_cannot_be_imported(run, tmp_path):
    (tmp_path / "tests" / "test_broken.py").write_text("import no_such_module\n")
    run("def test_one(): pass\n", "--continue-on-collection-errors", "--times=2")
    log = (tmp_path / "logs" / "run-1.log").read_text()
    assert "test_one" in log.partition("slowest 2 tests")[2]
    assert "1 passed, 1 error" in log


def test_the_slowest_test_is_listed_first():
    seconds = {"quick": 1.0, "slow": 61.0, "between": 2.0}
    tests = {name: Times("native", documented=False) for name in seconds}
    for name, times in tests.items():
        times.phases["call"] = seconds[name]
    table = list(slowest(tests, 2))[1:]
    assert [line.split()[4] for line in table] == ["slow", "between"]
    assert ["no docstring" in line for line in table] == [True, False]


CELLS = """
import pytest
from tests.runner.cells import cells

@pytest.mark.parametrize("row", ["up", "down"])
@pytest.mark.parametrize("column", ["left", "right"])
def test_it(row, column, record_property):
    cells(record_property, "directions", row, column)
    if (row, column) == ("up", "right"):
        pytest.skip("there is none")
    assert (row, column) != ("down", "left")

def test_another():
    pass
"""


@pytest.mark.thorough
@pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one process", "two"])
def test_tests_that_are_cells_make_a_table(run, tmp_path, processes):
    run(CELLS, *processes, steady=("--runs=1",))
    log = (tmp_path / "logs" / "run-1.log").read_text()
    table = log.partition("= directions =")[2].splitlines()[1:4]
    rows = [line.split() for line in table]
    order = rows[0].index("left")
    results = {row[0]: (row[1 + order], row[2 - order]) for row in rows[1:]}
    assert results == {"up": ("passed", "skipped"), "down": ("failed", "passed")}


def test_a_cell_that_did_not_run_is_seen():
    assert list(lines({("a", "x"): "passed", ("b", "y"): "failed"})) == [
        "   x       y     ",
        "a  passed  -     ",
        "b  -       failed",
    ]
