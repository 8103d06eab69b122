# SPDX-License-Identifier: GPL-2.0-or-later
"""Each fuzz target for a few seconds, and all that was ever found with it."""

import subprocess

import pytest

from tests.fuzz.corpus import BUILT, REGRESSIONS, TARGETS, from_hex, write_seeds
from tests.fuzz.run import command, environment, numbers
from tests.support.owner import needs_root

pytestmark = needs_root  # for mounts, and loop devices

SHORT_SECONDS = 2
RUN_SECONDS = 300  # with starting and reading seeds, on a busy machine


def run(target, *arguments, crashes):
    program = BUILT / "bin" / target
    assert program.exists(), f"{program} is not built: make fuzz-build"
    done = subprocess.run(
        command(target, *arguments, crashes=crashes),
        capture_output=True, text=True, env=environment(), timeout=RUN_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-8000:]
    return done.stderr


def test_every_regression_has_a_target():
    assert TARGETS
    assert {path.parent.name for path in REGRESSIONS.glob("*/*.hex")} <= set(TARGETS)


@pytest.mark.parametrize("target", TARGETS)
def test_seeds_and_regressions(target, tmp_path):
    inputs = sorted(write_seeds(target).iterdir())
    for path in sorted((REGRESSIONS / target).glob("*.hex")):
        inputs.append(tmp_path / path.stem)
        inputs[-1].write_bytes(from_hex(path))
    said = run(target, *inputs, crashes=tmp_path)
    assert said.count("Executed ") == len(inputs)


@pytest.mark.fuzz
@pytest.mark.parametrize("target", TARGETS)
def test_short_run(target, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    said = run(
        target, f"-max_total_time={SHORT_SECONDS}", corpus, write_seeds(target), crashes=tmp_path
    )
    assert numbers(said)["executions"] > 0
    assert numbers(said)["coverage"] > 0
