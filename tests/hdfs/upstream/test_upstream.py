# SPDX-License-Identifier: GPL-2.0-or-later
"""Hadoop's own tests through vRead: each method must have the verdict that it has with stock
Hadoop, and vRead must have served its share of the bytes.

Each class runs twice, one run after the other (tests/support/upstream.py).  classes.py lists the
methods that cannot agree, with the reasons.  A method that is listed and agrees is an error, too.
build/upstream.json has the verdicts, bytes and reasons of all classes that were run last.

A class takes from 20 s to five minutes, because it starts many clusters; so make test has one, of
one version.
"""

import collections
import fcntl
import json

import pytest

from tests.hdfs.upstream.classes import CLASSES
from tests.support.java_classes import REPOSITORY
from tests.support.tiers import slow
from tests.support.upstream import run_class

pytestmark = [pytest.mark.hadoop, pytest.mark.spread]

RECORD = REPOSITORY / "build" / "upstream.json"
VERSIONS = ("3.4.3", *slow("3.5.0"))  # of JUnit 4 and JUnit 5
PARAMETERS = [
    pytest.param(own, id=str(own), marks=() if own.quick else pytest.mark.slow) for own in CLASSES
]


@pytest.mark.parametrize("own", PARAMETERS)
@pytest.mark.parametrize("version", VERSIONS)
def test_same_verdicts(version, own, tmp_path):
    """It takes a minute or more: the class starts its clusters twice."""
    arguments = {"version": version, "left_out": own.left_out}
    stock = run_class(own.name, tmp_path / "stock", by_vread=False, **arguments)
    vread = run_class(own.name, tmp_path / "vread", by_vread=True, **arguments)
    differing = _differing(stock, vread)
    _record(f"{version} {own.name}", own, stock, vread, differing)
    assert "passed" in stock.verdicts.values(), stock.reasons
    assert set(differing) == set(own.differs), _tell(differing, vread)
    assert bool(vread.bytes) != bool(own.no_bytes), vread.statistics


def _differing(stock, vread):
    """{method: (verdict of stock Hadoop, verdict through vRead)}"""
    both = {
        method: (stock.verdicts.get(method), vread.verdicts.get(method))
        for method in stock.verdicts | vread.verdicts
    }
    return {method: (a, b) for method, (a, b) in both.items() if a != b}


def _tell(differing, vread):
    lines = [f"log: {vread.log}"]
    for method, (before, after) in differing.items():
        lines.append(f"{method}: {before}, through vRead {after}: {vread.reasons.get(method)}")
    return "\n".join(lines)


def _record(name, own, stock, vread, differing):
    """Replaces the class's entry in the record.  Several processes run tests."""
    entry = {
        "stock": collections.Counter(stock.verdicts.values()),
        "vread": collections.Counter(vread.verdicts.values()),
        "differs": {
            method: own.differs.get(method, vread.reasons.get(method)) for method in differing
        },
        "left_out": own.left_out,
        "bytes": vread.bytes,
        "statistics": vread.statistics,
    }
    RECORD.parent.mkdir(exist_ok=True)
    with open(RECORD, "a+") as record:
        fcntl.flock(record, fcntl.LOCK_EX)
        record.seek(0)
        entries = json.loads(record.read() or "{}")
        record.truncate(0)
        json.dump(entries | {name: entry}, record, indent=1)
