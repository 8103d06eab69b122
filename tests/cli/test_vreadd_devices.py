# SPDX-License-Identifier: GPL-2.0-or-later
"""vreadd and xl-vread at one xenstore: a device is offered, detached, and cleaned up."""

import json
import subprocess

import pytest

from tests.cli.conftest import clean_environment
from tests.libvread.conftest import BUILD
from tests.support.waiting import eventually

BACK = "/local/domain/0/backend/vread/7/0"
ATTACH = ["attach", "--temporary"]


@pytest.fixture
def vreadd(xenstored, tmp_path):
    """vreadd(): starts a vreadd at this xenstore; returns its control socket."""
    config = tmp_path / "vread.conf"
    config.write_text(
        f"[vreadd]\ncontrol-socket = {tmp_path}/control.sock\n[xen]\nmax-queues = 4\n"
    )
    running = []

    def start():
        environment = clean_environment() | {"XENSTORED_PATH": xenstored.path}
        running.append(
            subprocess.Popen([BUILD / "asan/vreadd", "--config", config], env=environment)
        )
        return tmp_path / "control.sock"

    yield start
    for process in running:
        process.terminate()
        assert process.wait(60) == 0


@pytest.fixture
def run(xl_vread, xenstored):
    return lambda *words: xl_vread(*words, env={"XENSTORED_PATH": xenstored.path})


def test_a_device_with_limits(vreadd, run, xenstored):
    control = vreadd()
    xenstored.conflicts = 2  # the next two commits fail, of xl-vread or of vreadd
    attached = run(*ATTACH, "7", "datanodes=dn1,pool-size=4M")
    assert attached.returncode == 0, attached.stderr
    eventually(lambda: xenstored.value(f"{BACK}/state") == "2")
    assert xenstored.value(f"{BACK}/max-queues") == "4"
    assert xenstored.value(f"{BACK}/max-pool-pages") == "1024"
    checked = run("xenstore", "check")
    assert (checked.returncode, checked.stdout) == (0, b"1 device, 0 problems\n")
    status = json.loads(run("status", "--json", "--socket", control).stdout)
    (device,) = status["devices"]
    assert (device["state"], device["max_queues"], device["max_pool_pages"]) == (
        "InitWait",
        4,
        1024,
    )
    assert run("detach", "7", "--wait", "50").returncode == 0
    assert not [path for path in xenstored.nodes if "vread" in path]


def telling(text, what):
    return what in text and text


@pytest.mark.thorough
def test_a_limit_that_is_none_is_told(vreadd, run, xenstored):
    assert run(*ATTACH, "7", "datanodes=dn1").returncode == 0
    xenstored.put(f"{BACK}/limit-queues", "many")
    vreadd()
    reason = f'{BACK}/state: is Closed, because of: 22 backend limit-queues: "many": '
    told = eventually(lambda: telling(run("xenstore", "check").stdout.decode(), reason))
    assert f'{BACK}/limit-queues: is "many", expected a number from 1 to 8\n' in told


@pytest.mark.thorough
def test_what_domains_left_while_it_did_not_run(vreadd, run, xenstored):
    assert run(*ATTACH, "7", "datanodes=dn1").returncode == 0
    xenstored.put(f"{BACK[:-1]}1/online", "1")  # a device that was never completed
    xenstored.remove("/local/domain/7")
    assert run("xenstore", "check").stdout.endswith(b"2 devices, 2 problems\n")
    vreadd()
    eventually(lambda: not [path for path in xenstored.nodes if "backend/vread/" in path])
    assert run("xenstore", "check").stdout == b"0 devices, 0 problems\n"
