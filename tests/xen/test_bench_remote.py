# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the remote bench (tools/bench/remote.py): how it parses the output of programs and
counters, and a small run of the whole bench."""

from types import SimpleNamespace

import pytest

from tools.bench import remote
from tools.bench.remote_cpu import RemoteCpu
from tools.bench.results import document, table
from tools.bench.suite import BenchError
from tools.bench.wire import WireBench
from tools.lab import deployment

KEYS = {"name", "unit", "n", "median", "min", "max", "cpu_s_per_gib"}
PARTS = {"all", "guests", "softirq", "vreadd_user", "vreadd_system"}
MIB = 1 << 20
WRITTEN = b"""
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 1048576    8                18.62              16.00  \t\t   0.000016
"""


class FakeCommand:
    stderr = b"no device"
    running = False

    def wait_output(self, _text, _seconds):
        pass

    def kill(self):
        pass

    def wait(self, _seconds):
        return self

    def check(self):
        return self


class FakeHost:
    def __init__(self, said=b"", rc=0):
        self.said, self.rc = said, rc
        self.commands = []
        self.files = []

    def put(self, source, path):
        self.files.append((f"{source.parent.name}/{source.name}", path))

    def popen(self, command, timeout=None):
        if "serve" in command:
            self.commands.append(command)
        return FakeCommand()

    def run(self, command, timeout=None):
        self.commands.append(command)
        done = SimpleNamespace(rc=self.rc, stdout=self.said, stderr=self.said)
        return SimpleNamespace(check=lambda: done, **vars(done))


def test_bandwidth_of_rdma_writes():
    sender = FakeHost(WRITTEN)
    wire = WireBench(sender, FakeHost(), "10.99.0.1", "10.99.0.2")
    assert wire.rdma(8 * MIB) == {"bytes": 8 * MIB, "seconds": 0.5}
    assert sender.commands[-1].endswith("-s 1048576 -n 8 10.99.0.2")
    sender.said = WRITTEN.replace(b"16.00", b"0.00")
    with pytest.raises(BenchError, match="a rate of 0 in 10 runs"):
        wire.rdma(8 * MIB)
    sender.said = b"Couldn't listen"
    with pytest.raises(BenchError, match="no bandwidth"):
        wire.rdma(8 * MIB)
    with pytest.raises(BenchError, match="does not listen: no device"):
        WireBench(sender, FakeHost(rc=1), "10.99.0.1", "10.99.0.2").rdma(8 * MIB)


def test_a_stream_over_tls():
    """Both ends use the cipher of vreadd, and the instructions that vreadd uses."""
    sender = FakeHost()
    receiver = FakeHost(b'{"bytes": 5, "seconds": 0.5, "cpu_seconds": 0.1}')
    wire = WireBench(sender, receiver, "10.99.0.1", "10.99.0.2")
    assert {path for _, path in sender.files} == {path for _, path in receiver.files}
    measured = wire.tls(5, "TLS_AES_128_GCM_SHA256", ("/c.pem", "/c.key"))
    assert (measured["bytes"], measured["seconds"]) == (5, 0.5)
    program = f"env OPENSSL_ia32cap={deployment.OPENSSL_CPU} /usr/local/bin/tlsstream"
    (serve,), (fetch,) = sender.commands, receiver.commands
    assert serve == f"exec {program} serve 9867 5 /c.pem /c.key TLS_AES_128_GCM_SHA256"
    assert fetch == f"{program} fetch 10.99.0.1 9867 TLS_AES_128_GCM_SHA256"
    assert ("release/tlsstream", "/usr/local/bin/tlsstream") in sender.files


def test_speed_of_the_ciphers():
    log = "TLS: 16 KiB by AES-128-GCM 4000 ns, by AES-256-GCM 5000 ns, by ChaCha20-Poly1305 1600 ns"
    assert remote._cipher_mb_s(f"begin\n{log}\nend") == 10240.0
    with pytest.raises(BenchError, match="does not have the speed"):
        remote._cipher_mb_s("begin\nend")


class FakeBackend:
    pid = 77

    def __init__(self, readings):
        """readings, one a call: (dom0's seconds, a guest's seconds, ticks of softirq, user ticks
        and system ticks of vreadd)"""
        self._readings = iter(readings)
        self.host = self

    def cpu_seconds(self):
        dom0, guest, *self._ticks = next(self._readings)
        return {"Domain-0": dom0, "client": guest}

    def text(self, _command):
        softirq, user, system = self._ticks
        stat = f"77 (a ) b) S 1 1 1 0 -1 0 0 0 0 0 {user} {system} 0 0 20"
        return f"cpu 1 2 3 4 5 6 {softirq} 8\n{stat}\n"


def test_parts_of_cpu_time():
    near = FakeBackend([(10.0, 1.0, 100, 200, 300), (14.0, 1.5, 150, 210, 320)])
    far = FakeBackend([(20.0, 0.0, 0, 0, 0), (21.0, 0.0, 10, 5, 0)])
    result, spent = RemoteCpu(near, far).of(lambda: "done")
    assert result == "done"
    assert set(spent) == PARTS
    rounded = {part: round(seconds, 3) for part, seconds in spent.items()}
    assert rounded == {
        "all": 5.5,
        "guests": 0.5,
        "softirq": 0.6,
        "vreadd_user": 0.15,
        "vreadd_system": 0.2,
    }


def test_targets_of_the_issue():
    rows = {name: remote.Row(name) for name in remote.ROWS}
    for row in rows.values():
        row.add(1 << 30, 10.0, 100.0)
    wanted = {target.name: (target.at_least, target.at_most) for target in remote.TARGETS}
    assert wanted == {
        "remote.vread.tcp.seq/wire.tls": (0.8, None),
        "remote.vread.rdma.seq/wire.rdma.write": (0.8, None),
        "cpu:remote.vread.tcp.seq/remote.hdfs.tcp.seq": (None, 0.6),
        "cpu:remote.hdfs.vread.tcp.seq/remote.hdfs.tcp.seq": (None, 0.6),
        "cpu:remote.vread.rdma.own/remote.hdfs.tcp.seq": (None, 0.3),
    }
    result = document("remote", rows.values(), remote.TARGETS, {"note": remote.NOTE})
    assert "ratios" in remote.NOTE
    assert table(result).endswith(remote.NOTE)


def test_more_than_is_kept_in_memory():
    with pytest.raises(BenchError, match="expected at most 56"):
        remote.run(64, 16, 3)


@pytest.mark.xen
@pytest.mark.hadoop
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_remote_bench():
    """Runs one round of the bench with small sizes; every row must have plausible numbers.  Only
    real hosts have the counters and the wire.  The test takes minutes: HDFS over two hosts."""
    result = remote.run(8, 4, 1)
    assert result["suite"] == "remote"
    rows = {row["name"]: row for row in result["results"]}
    assert set(rows) == set(remote.ROWS)
    for row in rows.values():
        assert set(row) == KEYS
        assert (row["unit"], row["n"]) == ("MB/s", 1)
        assert 0 < row["min"] <= row["median"] <= row["max"]
        assert row["cpu_s_per_gib"] > 0
    own, whole = rows[remote.OWN], rows["remote.vread.rdma.seq"]
    assert own["cpu_s_per_gib"] < whole["cpu_s_per_gib"]
    parts = result["conditions"]["cpu_parts_s_per_gib"]
    assert set(parts) == set(remote.ROWS) - {remote.OWN}
    assert all(set(part) == PARTS for part in parts.values())
    text = table(result)
    assert all(name in text for name in result["targets"])
    assert remote.NOTE in text
