# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the peer bench (tools/bench/peer.py): a small run must write the documented file, and
tlsstream must move all bytes by the cipher that it was told.  Speed is not judged."""

import json
import subprocess
import sys

import pytest

from tools.bench.peer import NAMES, cpu_name
from tools.bench.results import GIB, Row, document, table
from tools.hdfs.ports import free_ports
from tools.peers import Authority
from tools.vreadd import REPOSITORY

KEYS = {"name", "unit", "n", "median", "min", "max", "cpu_s_per_gib"}
TLSSTREAM = REPOSITORY / "build" / "release" / "tlsstream"
CIPHER, OTHER = "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"
SIZE = 3_000_001  # not a whole number of records


@pytest.mark.hadoop
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_peer_bench(tmp_path):
    """The whole bench runs, with little data, and its file has a row for each way and its CPU
    time."""
    out = tmp_path / "peer.json"
    command = [sys.executable, "-m", "tools.bench", "peer", "--out", out]
    command += ["--mib", "16", "--block-mib", "8", "--rounds", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    assert result["suite"] == "peer"
    rows = {row["name"]: row for row in result["results"]}
    assert list(rows) == [*NAMES, *map(cpu_name, NAMES)]
    for name in NAMES:
        row, cpu = rows[name], rows[cpu_name(name)]
        assert set(row) == set(cpu) == KEYS
        assert (row["unit"], row["n"], cpu["unit"], cpu["n"]) == ("MB/s", 2, "s/GiB", 2)
        assert 0 < row["min"] <= row["median"] <= row["max"]
        assert 0 < cpu["min"] <= cpu["median"] <= cpu["max"]
        assert cpu["min"] <= row["cpu_s_per_gib"] <= cpu["max"]
    assert result["conditions"]["bytes"] == 16 << 20
    assert result["conditions"]["cipher"].startswith("TLS_")
    assert set(result["ratios"]) >= set(result["targets"])


def test_cpu_rows_have_decimals():
    row, cpu = Row("raw.tls"), Row("raw.tls.cpu", "s/GiB")
    row.add(GIB, 1.0, 0.8915)
    cpu.add_figure(0.8915)
    result = document("peer", [row, cpu], [], {})
    assert result["results"][1]["median"] == 0.891 or result["results"][1]["median"] == 0.892
    assert "0.89" in table(result).splitlines()[2]


@pytest.fixture
def stream(tmp_path):
    """stream(): what fetch measures of SIZE bytes, its cipher being CIPHER unless told."""
    certificate, key = Authority(tmp_path).certificate("far")
    port = str(free_ports(1)[0])
    serve = [TLSSTREAM, "serve", port, str(SIZE), certificate, key, CIPHER]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout.readline() == "listening\n"
        yield lambda cipher=CIPHER: subprocess.run(
            [TLSSTREAM, "fetch", "127.0.0.1", port, cipher], capture_output=True, text=True
        )
    finally:
        server.kill()
        server.communicate()


def test_tlsstream_moves_all_bytes(stream):
    for _ in range(2):
        done = stream()
        assert done.returncode == 0, done.stderr
        measured = json.loads(done.stderr)
        assert measured["bytes"] == SIZE
        assert measured["seconds"] > 0


def test_tlsstream_uses_no_other_cipher(stream):
    done = stream(OTHER)
    assert done.returncode == 1
    assert "handshake failure" in done.stderr
    assert json.loads(stream().stderr)["bytes"] == SIZE  # the server goes on
