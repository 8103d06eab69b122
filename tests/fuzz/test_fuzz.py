# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs each fuzz target on its seeds, on all inputs that ever failed, and on inputs that the target
makes up: the same number, from the same seed, in each run."""

import subprocess

import pytest

from tests.fuzz.corpus import BUILT, REGRESSIONS, TARGETS, from_hex, write_seeds
from tests.fuzz.run import command, environment, numbers
from tests.support.owner import needs_root

pytestmark = needs_root  # for mounts, and loop devices

RUNS = 4000
# An input of these targets is a list of changes to an image, which the target then reads.
FEWER_RUNS = dict.fromkeys(("disk", "ext4", "image", "journal", "xfs"), 1000)
# Without these options, the next input depends on addresses and on the time of the last one.
SAME_EACH_TIME = ["-seed=1", "-use_cmp=0", "-entropic=0"]
RUN_SECONDS = 300


def run(target, *arguments, crashes):
    program = BUILT / "bin" / target
    assert program.exists(), f"{program} is not built: make fuzz-build"
    done = subprocess.run(
        ["setarch", "-R", *command(target, *arguments, crashes=crashes)],
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
    runs = FEWER_RUNS.get(target, RUNS)
    arguments = [f"-runs={runs}", *SAME_EACH_TIME, corpus, write_seeds(target)]
    said = run(target, *arguments, crashes=tmp_path)
    assert numbers(said)["executions"] == runs
    assert numbers(said)["coverage"] > 0
