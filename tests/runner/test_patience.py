# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests tools/patience.py: a limit counts only the time in which threads had a processor."""

import os

import pytest

from tools import patience

PROCESSORS = len(os.sched_getaffinity(0))


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """machine(seconds, wanting): so much time passes, while so many threads need a processor."""
    now, load = [1000.0], tmp_path / "loadavg"
    monkeypatch.setattr(patience, "LOAD", load)
    monkeypatch.setattr(patience.time, "monotonic", lambda: now[0])

    def passes(seconds, wanting):
        now[0] += seconds
        load.write_text(f"9.00 9.00 9.00 {wanting}/1207 6859\n")

    return passes


@pytest.mark.parametrize("wanting", [0, 1, PROCESSORS])
def test_seconds_are_seconds_while_all_have_a_processor(machine, wanting):
    limit = patience.Patience(60)
    machine(59, wanting)
    assert not limit.is_over()
    machine(2, wanting)
    assert limit.is_over()


def test_a_busy_machine_has_longer(machine):
    limit = patience.Patience(60)
    machine(59 * 3, 3 * PROCESSORS)
    assert not limit.is_over()
    machine(2 * 3, 3 * PROCESSORS)
    assert limit.is_over()


def test_what_was_busy_and_is_not_any_more(machine):
    limit = patience.Patience(60)
    machine(100, 10 * PROCESSORS)  # ten seconds' worth
    assert not limit.is_over()
    machine(49, 1)
    assert not limit.is_over()
    machine(2, 1)
    assert limit.is_over()
