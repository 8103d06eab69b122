# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel of these tests checks, and what it finds of the module's memory at the end."""

import gzip

import pytest

from tools.lab import checking_kernel, deployment

pytestmark = [pytest.mark.xen, pytest.mark.slow]

SCANS = 2  # what the first scan finds may be in a register
LEAKS = "/sys/kernel/debug/kmemleak"


@pytest.fixture(scope="module")
def client(make_client):
    return make_client("checked")


def test_the_kernel_checks_what_it_was_compiled_for(client):
    """The running kernel must have each line of the configuration, and two processors.  With
    another kernel, all other tests here would pass, too."""
    running = gzip.decompress(client.run("cat /proc/config.gz").check().stdout).decode()
    wanted = checking_kernel.CONFIGURATION.read_text().splitlines()
    options = {line for line in wanted if line.startswith("CONFIG_")}
    assert options <= set(running.splitlines())
    assert client.text("nproc").strip() == "2"


def test_the_module_leaves_no_memory_behind(client, backend, demo):
    """The module is used and unloaded.  The kernel must find no memory of the module's that nobody
    points to."""
    client.run(f"mount -t debugfs debugfs {LEAKS.rpartition('/')[0]}").check()
    for _ in range(3):
        assert deployment.file_digest(client) == demo.sha256
        client.run("rmmod xen_vreadfront").check()
        backend.wait_states(client, "2", "6")
        backend.connect(client)
    for _ in range(SCANS):
        client.run(f"echo scan >{LEAKS}").check()
    assert "vread" not in client.text(f"cat {LEAKS}")
