# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel of these tests checks, and what it finds of the module's memory at the end."""

import gzip

import pytest

from tests.support.waiting import eventually
from tools.lab import checking_kernel, deployment, product

pytestmark = [pytest.mark.xen, pytest.mark.slow]

SCANS = 2  # a pointer that is only in a register hides nothing from the second scan
LEAKS = "/sys/kernel/debug/kmemleak"
OLD_ENOUGH = 6  # s; kmemleak reports nothing younger than 5 s (mm/kmemleak.c, MSECS_MIN_AGE)


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


def uptime(guest):
    return float(guest.text("cat /proc/uptime").split()[0])


def test_the_module_leaves_no_memory_behind(client, backend, demo):
    """The module is loaded, used and unloaded three times.  Afterwards the guest's kernel must find
    no memory to which nobody points.  The list must be empty: the kernel has no names for addresses
    of a module that is gone."""
    client.run(f"mount -t debugfs debugfs {LEAKS.rpartition('/')[0]}").check()
    client.run(f"echo clear >{LEAKS}").check()
    for _ in range(3):
        assert deployment.file_digest(client) == demo.sha256
        client.run(product.unload()).check()
        backend.wait_states(client, "2", "6")
        backend.connect(client)
    client.run(product.unload()).check()
    gone = uptime(client)
    eventually(lambda: uptime(client) > gone + OLD_ENOUGH, what="the age of a leak")
    for _ in range(SCANS):
        client.run(f"echo scan >{LEAKS}").check()
    assert client.text(f"cat {LEAKS}") == ""
