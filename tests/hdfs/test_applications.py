# SPDX-License-Identifier: GPL-2.0-or-later
"""Real applications read HDFS through vRead, with the results that they have without it.

Each application of the bench (tools/bench/apps) runs once, with little data.  Speed is not judged.
The first run fetches the application's jars from Maven Central.
"""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from tools.bench import apps
from tools.bench.apps.application import Operation
from tools.bench.apps.bed import Bed, Counts
from tools.bench.apps.measure import Measured, measure
from tools.bench.apps.program import Program
from tools.bench.suite import BenchError
from tools.hdfs import HdfsError

MIB, BLOCK_MIB = 16, 2
# All is read by vRead, however busy the machine is.
PATIENT = {"io.vread.compete": "false", "io.vread.timeout.ms": "60000"}
# These read what they have just written, which the host may not see yet.
READ_BACK = ("teravalidate", "read")
WRITES = ("write",)  # these read little
# These only read, and nothing but their data: the plug-in's statistics have each byte.
READ_ONLY = ("columnar", "flink")


@pytest.mark.hadoop
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", apps.APPLICATIONS, ids=lambda kind: kind.NAME)
def test_equal_results(kind):
    """It takes a minute: HDFS starts, and the application once for each way."""
    with Bed(MIB, BLOCK_MIB, PATIENT) as bed, kind(bed, MIB) as application:
        rows = measure(application, rounds=1, say=print)
        assert application.versions()
        statistics = [each.statistics() for each in application.programs("vread")]
    assert [row["operation"] for row in rows] == [each.name for each in kind.OPERATIONS]
    for row in rows:
        assert row["equal"], row
        if row["operation"] in WRITES:
            continue
        stock, vread = row["stock_bytes"], row["vread_bytes"]
        assert stock["by_stock"] > 0 and stock["by_vread"] == 0, row
        assert vread["by_vread"] > 0 and vread["served_by_vreadd"] > 0, row
        if row["operation"] not in READ_BACK:
            assert row["reasons"] == {}, row
            # Hadoop's own files beside the data, as of a job that starts, are small.
            assert vread["by_stock"] <= vread["by_vread"] / 100, row
    for told in statistics if kind.NAME in READ_ONLY else ():
        assert told["vread"]["bytes"] == told["hdfs"]["bytes"] > 0, told
        assert told["fallback"] == {"blocks": 0, "reasons": {}}, told


class Counting:
    """An application whose runs are told beforehand: digest, bytes by vRead, bytes by stock."""

    NAME = "counting"
    OPERATIONS = (Operation("read", "reads", at_least=1.5, target="somewhere"),)
    WARM_UPS = 0

    def __init__(self, digests=("a", "a"), seconds=(2.0, 1.0), fallbacks=0):
        self._digests = dict(zip(("stock", "vread"), digests, strict=True))
        self._seconds = dict(zip(("stock", "vread"), seconds, strict=True))
        self._ready = None  # the way that may run now
        self._got = self._fallen = 0
        self._fallbacks = fallbacks
        self._sent = 0
        self.bed = SimpleNamespace(counts=lambda: Counts(self._got, self._sent, 0.0))

    def programs(self, way):
        return [self]

    def ready(self, way):
        self._ready = way

    def cpu_seconds(self):
        return 0.0

    def statistics(self):
        return {
            "vread": {"bytes": self._got, "reasons": {}},
            "fallback": {"reasons": {"ENOENT": self._fallen} if self._fallen else {}},
            "compete": {"measured": 0, "failed": 0},
        }

    def run(self, way, operation):
        assert self._ready == way
        self._ready = None
        if way == "vread":
            self._got += 100
            self._fallen += self._fallbacks
            self._sent += 25 * self._fallbacks
        else:
            self._sent += 100
        return self._seconds[way]

    def digest(self, way, operation):
        return self._digests[way]


def row_of(application, rounds=2):
    (row,) = measure(application, rounds, say=lambda text: None)
    return row


def test_a_row():
    row = row_of(Counting())
    assert (row["ratio"], row["equal"], row["reasons"]) == (2.0, True, {})
    assert row["target"] == {"at_least": 1.5, "from": "somewhere", "met": True}
    assert row["stock"]["n"] == row["vread"]["n"] == 2
    assert row["stock_bytes"]["by_stock"] == 100
    assert row["stock_bytes"]["share_by_vread"] == 0
    assert row["vread_bytes"]["share_by_vread"] == 1


def test_what_vread_left_is_told():
    row = row_of(Counting(fallbacks=1))
    assert row["vread_bytes"]["share_by_vread"] == 0.8
    assert row["reasons"] == {"ENOENT": 2}
    assert "left to the stock client: ENOENT: 2" in apps.table({"results": [row], "missing": {}})


def test_other_results_are_told():
    row = row_of(Counting(digests=("a", "b"), seconds=(1.0, 1.0)))
    assert not row["equal"] and not row["target"]["met"]
    text = apps.table({"results": [row], "missing": {}})
    assert "NOT EQUAL" in text and "MISSED" in text


def test_runs_that_do_not_count_are_compared():
    counting = Counting(digests=("a", "b"))
    measured = Measured(counting, counting.OPERATIONS[0])
    measured.run("stock", counted=False)
    counting._digests["stock"] = "b"
    for way in ("stock", "vread"):
        measured.run(way)
    assert not measured.summary()["equal"]


def test_an_application_that_is_missing_is_told(monkeypatch):
    """The others run nevertheless."""

    class Missing(Counting):
        NAME = "missing"

        def __init__(self, bed, mib):
            raise HdfsError("Maven is not to be reached")

    monkeypatch.setattr(apps, "APPLICATIONS", (Missing, PreparedCounting))
    monkeypatch.setattr(apps, "Bed", NoBed)
    result = apps.run(1, 1, 1)
    assert result["missing"] == {"missing": "Maven is not to be reached"}
    assert [row["application"] for row in result["results"]] == ["counting"]
    assert "missing: missing: Maven is not to be reached" in apps.table(result)


class NoBed:
    def __init__(self, mib, block_mib):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class PreparedCounting(Counting):
    def __init__(self, bed, mib):
        super().__init__()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def versions(self):
        return {}


def test_an_unknown_application_is_told():
    command = [sys.executable, "-m", "tools.bench", "apps", "--only", "nothing"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "invalid choice: 'nothing'" in done.stderr


def test_a_program_that_ends_is_told(tmp_path):
    command = [sys.executable, "-c", "import sys; sys.exit('no more')"]
    with Program("short", command, tmp_path) as program, pytest.raises(BenchError) as caught:
        program.ask("anything")
    assert "short: anything: it ended" in str(caught.value)
    assert "no more" in str(caught.value)
