# SPDX-License-Identifier: GPL-2.0-or-later
"""A short soak, and what its ledger tells of a torture's counts."""

import json
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.soak import standstill
from tests.soak.disturbances import DISTURBANCES
from tests.soak.run import is_good, ledger, soak

COUNTS = {
    "reads": 100,
    "bytes": 1000,
    "vread_bytes": 800,
    "remote_bytes": 100,
    "created": 3,
    "deleted": 2,
    "stats": {"vread.bytes": 900, "fallback.reasons.ENODEV": 4, "fallback.blocks": 4},
    "complaints": {"refused_otherwise": ["/a: full"]},
}


def told(leaked=0, held=None, turns=7, **complaints):
    disturber = SimpleNamespace(
        done=Counter(vreadd_hangs=2),
        longest_recovery=1.25,
        standstills=[],
        peak_mib={"here": 40.4},
    )
    answer = COUNTS | {"complaints": COUNTS["complaints"] | complaints}
    hostile = {"user": {"says_nothing": 3}, "qemu": {"storms": turns} if turns else {}}
    return ledger(answer, disturber, {"here": leaked}, held or {}, hostile)


def test_the_ledger_of_a_good_soak():
    good = told()
    assert is_good(good)
    expected = {
        "reads": 100,
        "bytes by vRead": 800,
        "bytes by vRead of the other host": 100,
        "wrong bytes": 0,
        "failed reads": 0,
        "changes by owners": 5,
        "fallbacks": {"ENODEV": 4},
        "disturbances": {"vreadd_hangs": 2},
        "hostile parties": {"user": {"says_nothing": 3}, "qemu": {"storms": 7}},
        "leaked descriptors": {"here": 0},
        "peak memory, MiB": {"here": 40},
    }
    assert expected.items() <= good.items()


@pytest.mark.parametrize(
    "found",
    [
        {"wrong": ["/a at 7"]},
        {"unexpected_failures": ["/a: java.io.IOException"]},
        {"leaked": 1},
        {"held": {"pages": 65}},
        {"turns": 0},
    ],
    ids=lambda found: next(iter(found)),
)
def test_the_ledger_of_a_bad_soak(found):
    assert not is_good(told(**found))


@pytest.mark.hadoop
@pytest.mark.slow
def test_a_short_soak(tmp_path, monkeypatch):
    """It takes minutes: an HDFS of its own starts, and each disturbance happens once.  Each
    recovery counts as a standstill: what is kept of one must be there when it is needed."""
    monkeypatch.setattr(standstill, "AFTER", 0.0)
    begun = []
    found = soak(tmp_path / "bed", len(DISTURBANCES) * 8, 1, tell=begun.append)
    print(json.dumps(found, indent=1))
    assert is_good(found)
    assert set(begun) == set(DISTURBANCES)
    assert found["hostile parties"].keys() == {"user", "qemu", "host"}
    assert found["bytes by vRead"] > 0 and found["bytes by vRead of the other host"] > 0
    assert len(found["standstills"]) >= len(DISTURBANCES)
    for name in found["standstills"]:
        kept = json.loads((tmp_path / name).read_text())
        assert {"LiveNodes", "DeadNodes"} <= kept["namenode"].keys()
        assert kept["here"]["log"] and kept["there"]["log"]
        assert any("Full thread dump" in line for line in kept["client"])
