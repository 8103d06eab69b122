# SPDX-License-Identifier: GPL-2.0-or-later
"""Results that the lab reports of a host.  If one of them were wrong, other tests on emulated hosts
would pass although the product is broken.  All results pass the agent in dom0 or in a guest and the
wires to it, which no native test has."""

import random
import signal

import pytest

from tests.support.waiting import eventually
from tools.lab import ChannelClosed, CommandFailed, CommandTimeout, KernelComplaint

pytestmark = [pytest.mark.xen, pytest.mark.slow]

NOISE = random.Random(1).randbytes((3 << 20) + 17)


@pytest.fixture(scope="module")
def guest(xen_host, until_module_ends):
    return until_module_ends(xen_host.create_guest("tells"))


@pytest.fixture(params=["dom0", "guest"])
def machine(request):
    """dom0, then a guest: tests that apply to both run on both."""
    return request.getfixturevalue({"dom0": "xen_host", "guest": "guest"}[request.param])


def test_exit_status(machine):
    """Exit statuses of commands, of a killed command and of a missing program must arrive.
    text() must raise unless the status is 0."""
    for status in (0, 1, 77, 255):
        assert machine.run(f"exit {status}").rc == status
    assert machine.run("kill -KILL $$").rc == 128 + signal.SIGKILL
    missing = machine.run(["no-such-program"])
    assert missing.rc == 127
    assert b"no-such-program: No such file" in missing.stderr
    with pytest.raises(CommandFailed, match="(?s)exit status 3.*because") as failed:
        machine.text("echo because >&2; exit 3")
    assert failed.value.result.rc == 3


def test_streams(machine):
    """stdout and stderr must arrive separately, and all bytes must pass the serial port or vchan
    unchanged, both ways."""
    result = machine.run("printf out; printf err >&2")
    assert (result.stdout, result.stderr) == (b"out", b"err")
    assert machine.run(["cat"], stdin=NOISE).stdout == NOISE


def test_timeout_kills_the_whole_session(machine):
    """A command exceeds its timeout: the agent must kill the command and all its background
    processes."""
    with pytest.raises(CommandTimeout, match="killed after 5"):
        machine.run("sleep 4321 & (sleep 4321); wait", timeout=5)
    eventually(lambda: "sleep 4321" not in machine.text("ps"), what="the end of all of them")


def test_complaint_is_raised_once(machine, xen_host):
    """A kernel reports a bug: the first check_dmesg() must raise, the second must not.  So the bug
    fails only the test in which it happened."""
    machine.run("echo '<4>WARNING: CPU: 0 PID: 1 at nowhere' > /dev/kmsg").check()
    eventually(lambda: "at nowhere" in str(machine.console()), what="the complaint on the console")
    with pytest.raises(KernelComplaint, match="at nowhere"):
        xen_host.check_dmesg()
    xen_host.check_dmesg()


def test_guest_that_panics_is_reported(xen_host, guest_name):
    """A guest panics: its command must fail, and check_dmesg() must raise."""
    guest = xen_host.create_guest(guest_name)
    with pytest.raises(ChannelClosed):
        guest.run("echo c > /proc/sysrq-trigger")
    guest.wait_gone()
    # dom0 reads the console of a guest also after the guest's death.
    log = xen_host.share / "console" / f"guest-{guest_name}.log"
    eventually(lambda: "Kernel panic" in log.read_text(errors="replace"), what="the panic")
    with pytest.raises(KernelComplaint, match="sysrq"):
        xen_host.check_dmesg()
