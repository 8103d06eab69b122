# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread metrics: the output, as Prometheus' own parser reads it, must match vreadd's status."""

import json
import os

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.test_cli_status import FULL, daemon  # noqa: F401
from tests.libvread import vreadlib
from tests.libvread.conftest import lib  # noqa: F401
from tests.support.waiting import eventually


def samples(text):
    """{(name, labels): value}.  The parser must accept every line, and each family must be unique
    and documented."""
    families = list(text_string_to_metric_families(text))
    names = [family.name for family in families]
    assert len(names) == len(set(names))
    assert all(family.documentation and family.type in ("counter", "gauge") for family in families)
    return {
        (sample.name, *(f"{k}={v}" for k, v in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_of_a_real_daemon(xl_vread, vreadd, served, lib):  # noqa: F811
    block = served[1]["large"]
    eventually(lambda: not vreadd.status()["devices"])  # connections of other tests have ended
    with (
        vreadlib.Connection(lib, vreadd.endpoint, pool_bytes=2 << 20) as connection,
        connection.open(block.pool, block.id, block.genstamp) as f,
    ):
        f.pread(1 << 20, 0)
        done = xl_vread("metrics", "--socket", vreadd.control_socket)
        status = vreadd.status()
    assert (done.returncode, done.stderr) == (0, b"")
    found = samples(done.stdout.decode())
    (device,) = status["devices"]
    label = f"device={device['name']}"
    assert found["vread_up",] == 1
    assert found["vread_info", f"version={status['version']}"] == 1
    assert found["vread_device_bytes_total", label] == device["counters"]["bytes"] >= 1 << 20
    assert found["vread_device_connected", label] == 1
    assert found["vread_device_open_handles", label] == 1
    assert found["vread_bytes_total",] == status["totals"]["bytes"]
    assert found["vread_datanode_served", "datanode=dn1"] == 1


def test_everything(xl_vread, daemon):  # noqa: F811
    odd = {"name": 'a"b\\c\nd', "state": "Closed", "counters": {"errors": {"EIO": 3}}}
    document = {**FULL, "devices": [*FULL["devices"], odd]}
    done = xl_vread("metrics", "--socket", daemon(json.dumps(document).encode() + b"\n"))
    found = samples(done.stdout.decode())
    assert found["vread_device_errors_total", 'device=a"b\\c\nd', "error=EIO"] == 3
    assert found["vread_device_errors_total", "device=xen:7/0", "error=EIO"] == 2
    assert found["vread_device_bytes_total", "device=xen:7/0"] == 7 << 50
    assert found["vread_device_connected", "device=xen:8/0"] == 0
    assert found["vread_errors_total", "error=ENOENT"] == 5
    assert found["vread_datanode_served", "datanode=dn2"] == 0
    assert found["vread_datanode_tokens_refused_total", "datanode=dn1", "reason=expired"] == 2
    assert found["vread_cache_hits_total",] == 7
    assert found["vread_cache_size_bytes",] == 64 << 20
    assert found["vread_cache_filled_bytes_total",] == 9 << 20
    assert found["vread_cache_filled_again_bytes_total",] == 2 << 20
    assert found["vread_peer_up", "peer=host-b"] == 0
    assert found["vread_peer_asked_bytes_total", "peer=host-b"] == 1023 << 50
    assert found["vread_peer_failures_total", "peer=host-b"] == 4
    assert found["vread_peers_refused_total",] == 6
    assert found["vread_peers_strangers_waiting",] == 2
    assert found["vread_peers_strangers_total", "end=hung_up"] == 1 << 40
    assert not [name for name, *labels in found if "opens" in name and "device=xen:8/0" in labels]


@pytest.mark.parametrize("answer", [{}, {"totals": 5, "devices": {}, "peers": {"peers": [3]}}])
def test_unexpected_members_are_left_out(xl_vread, daemon, answer):  # noqa: F811
    done = xl_vread("metrics", "--socket", daemon(json.dumps(answer).encode() + b"\n"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert samples(done.stdout.decode())["vread_up",] == 1


def test_a_file_is_replaced_whole(xl_vread, vreadd, tmp_path):
    file = tmp_path / "vread.prom"
    file.write_text("old")
    with open(file) as before:
        done = xl_vread("metrics", "--socket", vreadd.control_socket, "--output", file)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert before.read() == "old"
    assert samples(file.read_text())["vread_up",] == 1
    assert file.stat().st_mode & 0o777 == 0o644
    assert os.listdir(tmp_path) == ["vread.prom"]


def test_no_daemon_is_told_to_prometheus_too(xl_vread, endpoint, tmp_path):
    file = tmp_path / "vread.prom"
    done = xl_vread("metrics", "--socket", endpoint, "--output", file)
    assert done.returncode == 3
    assert b"no such socket; is vreadd running" in done.stderr
    assert samples(file.read_text()) == {("vread_up",): 0}


def test_a_file_that_cannot_be_written(xl_vread, vreadd, tmp_path):
    file = tmp_path / "none" / "vread.prom"
    done = xl_vread("metrics", "--socket", vreadd.control_socket, "--output", file)
    assert done.returncode == 1
    assert f"{file}: cannot be written: No such file or directory" in done.stderr.decode()
