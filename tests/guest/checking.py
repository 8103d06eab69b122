# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of a guest whose kernel checks itself: what the kernel checks, and which memory the module
leaves behind.  The test_checking.py of tests/xen/checked and of tests/kvm/checked imports them.

A module that does so has these fixtures: client (a guest that reads dn1 by vRead, connected at the
start), backend, demo, configuration (of checking_kernel.py).

The kernel reports a defect in its log, and the conftest.py of both folders fails the test for it.
Lockdep switches itself off at its first report, or when it has no memory left; lockdep_is_on()
tells.
"""

import gzip

from tests.support.waiting import eventually
from tools.lab import deployment

SCANS = 2  # a pointer that is only in a register hides nothing from the second scan
LEAKS = "/sys/kernel/debug/kmemleak"
OLD_ENOUGH = 6  # s; kmemleak reports nothing younger than 5 s (mm/kmemleak.c, MSECS_MIN_AGE)
LOCKDEP = "cat /proc/lockdep_stats"


def lockdep_is_on(guest):
    return "debug_locks: 1" in " ".join(guest.text(LOCKDEP).split())


def forget_leaks(guest):
    """What the kernel has lost so far is not reported by leaks()."""
    guest.run(f"mountpoint -q {LEAKS.rpartition('/')[0]} || mount -t debugfs d /sys/kernel/debug")
    guest.run(f"echo clear >{LEAKS}").check()


def leaks(guest):
    """The memory to which nobody points, as the kernel prints it.  The kernel has no names for
    addresses of a module that is gone."""
    gone = _uptime(guest)
    eventually(lambda: _uptime(guest) > gone + OLD_ENOUGH, what="the age of a leak")
    for _ in range(SCANS):
        guest.run(f"echo scan >{LEAKS}", timeout=600).check()
    return guest.text(f"cat {LEAKS}")


def _uptime(guest):
    return float(guest.text("cat /proc/uptime").split()[0])


def test_the_kernel_checks_what_it_was_compiled_for(client, configuration):
    """The running kernel must have each line of the configuration, and two processors.  With
    another kernel, all other tests here would pass, too."""
    running = gzip.decompress(client.run("cat /proc/config.gz").check().stdout).decode()
    assert set(configuration.lines()) <= set(running.splitlines())
    assert client.text("nproc").strip() == "2"
    assert lockdep_is_on(client)


def test_the_module_leaves_no_memory_behind(client, backend, demo):
    """The module is loaded, used and unloaded three times.  Afterwards the guest's kernel must find
    no memory to which nobody points."""
    forget_leaks(client)
    for _ in range(3):
        assert deployment.file_digest(client) == demo.sha256
        deployment.unload_frontend(client)
        backend.wait_offered(client)
        backend.connect(client)
    deployment.unload_frontend(client)
    assert leaks(client) == ""
