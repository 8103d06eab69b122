# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the lab, on hosts of their own: its functions for tests, for benches and by hand.
shared/test_lab_tells.py, which `make test` runs, has the parts whose failure would make other tests
pass wrongly."""

import hashlib
import os
import random
import signal
import subprocess
import sys

import pytest

from tests.support.waiting import eventually
from tools.lab import (
    ChannelClosed,
    CommandFailed,
    GuestStuck,
    HostStuck,
    KernelComplaint,
    LabError,
    Wire,
    channel,
)
from tools.lab.paths import REPOSITORY

pytestmark = [pytest.mark.xen, pytest.mark.slow]

MIB = 1 << 20
NOISE = random.Random(1).randbytes(3 * MIB + 17)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def wire(folder):
    return folder / "wire"


@pytest.fixture(scope="module")
def host(start_host, folder, wire):
    disk = folder / "disk.raw"
    disk.write_bytes(NOISE[: 3 * MIB])
    return start_host("lab", disks=[disk], wire=Wire(wire, "10.99.0.1/24", listen=True))


@pytest.fixture(scope="module")
def second_host(start_host, host, wire):
    wire_end = Wire(wire, "10.99.0.2/24")
    return start_host("second", memory_mib=1024, dom0_mib=640, wire=wire_end)


@pytest.fixture(scope="module")
def guest(host):
    return host.create_guest("one", disks=["phy:/dev/vda,xvda,r"], vifs=["10.77.0.11"])


@pytest.fixture(scope="module")
def other_guest(host):
    files = {"/opt/shell": "/usr/bin/bash", "/opt/bridges": "/usr/sbin/brctl"}
    return host.create_guest("other", vifs=["10.77.0.12"], files=files, extra="word=1")


@pytest.fixture(params=["dom0", "guest"])
def machine(request):
    """dom0, then a guest: tests that apply to both run on both."""
    return request.getfixturevalue({"dom0": "host", "guest": "guest"}[request.param])


def test_is_real_xen(host):
    """xl and the kernel must report Xen 4: the hypervisor is real."""
    assert "xen_major              : 4" in host.text("xl info")
    assert host.text("cat /sys/hypervisor/type") == "xen\n"


def test_guest_is_a_pv_domain(guest):
    """The guest must be a PV domain of the hypervisor."""
    assert guest.text("cat /sys/hypervisor/guest_type") == "PV\n"
    assert guest.domid > 0


def test_input_nobody_reads_does_not_hang(machine):
    """A command that does not read its input must end.  Input goes by virtio-serial to dom0, and by
    a vchan to a guest."""
    assert machine.run(["true"], stdin=NOISE).rc == 0


def test_commands_run_at_the_same_time(machine):
    """Two commands must run and end independently.  They share one virtio-serial port or vchan."""
    first = machine.popen("read line; echo got $line; sleep 4322")
    assert machine.text("echo second") == "second\n"
    first.write(b"word\n")
    assert first.wait_output("got (word)", timeout=60)
    assert first.running
    first.kill(signal.SIGTERM)
    assert first.wait(60).rc == 128 + signal.SIGTERM


def test_wait_output_says_when_it_never_comes(machine):
    """A command ends without the output; wait_output() must raise.  The agent in the machine
    reports the end of a command."""
    with pytest.raises(CommandFailed, match="ended without 'ready'"):
        machine.popen("echo nothing").wait_output("ready", timeout=60)


def test_background_process_outlives_its_command(machine):
    """A command leaves a background process; the agent in the machine must not end it."""
    machine.run("sleep 4323 & exit 0").check()
    assert "sleep 4323" in machine.text("ps")
    machine.run("pkill -f 'sleep 4323'")


def test_put_and_get(machine, tmp_path):
    """A file goes to the machine and back; bytes and mode must be the same.  The file goes by 9p to
    dom0, by a vchan to a guest."""
    source, back = tmp_path / "source", tmp_path / "back"
    source.write_bytes(NOISE)
    source.chmod(0o750)
    machine.put(source, "/tmp/new/copy")
    assert machine.text("stat -c %a /tmp/new/copy") == "750\n"
    machine.get("/tmp/new/copy", back)
    assert back.read_bytes() == NOISE
    machine.run("rm /tmp/new/copy").check()


def test_guest_reads_its_disk(guest):
    """A guest must read its disk's bytes, by blkback and blkfront."""
    digest = hashlib.sha256(NOISE[: 3 * MIB]).hexdigest()
    assert guest.text("sha256sum < /dev/xvda").split()[0] == digest


def test_snapshot_disk_takes_writes_and_forgets_them(host, folder):
    """dom0 writes to its disk and reads it back; the file on this machine must not change.  The
    disk belongs to the emulator."""
    host.run("printf changed | dd of=/dev/vda conv=fsync").check()
    assert host.text("head -c 7 /dev/vda") == "changed"
    assert (folder / "disk.raw").read_bytes()[:7] == NOISE[:7]
    host.run(["dd", "of=/dev/vda", "conv=fsync"], stdin=NOISE[:7]).check()


def test_guest_files_bring_their_libraries(other_guest):
    """A program of this machine must run in a guest: the loader of the guest's root must find the
    program's libraries."""
    assert other_guest.text(["/opt/shell", "-c", "echo $((6 * 7))"]) == "42\n"


def test_kernel_arguments(other_guest):
    """xl must pass the extra arguments to the guest's kernel."""
    assert "word=1" in other_guest.text("cat /proc/cmdline")


def reaches(machine, address, *options):
    """Waits until the machine reaches the address: a guest takes commands before its interface is
    connected."""
    ping = ["ping", "-c", "1", "-W", "5", *options, address]
    eventually(lambda: machine.run(ping).rc == 0, what=f"an answer of {address}")


def test_two_guests_and_dom0_talk(host, guest, other_guest):
    """Guests and dom0 must reach each other, by netback and the bridge."""
    for address in ("10.77.0.1", "10.77.0.11"):
        reaches(other_guest, address)
    reaches(host, "10.77.0.12")


def test_destroyed_guest_is_gone(host, guest_name):
    """A domain is destroyed under a command; this command and later ones must fail."""
    guest = host.create_guest(guest_name)
    waiting = guest.popen("sleep 1000")
    guest.destroy()
    assert not guest.alive
    assert guest_name not in host.cpu_seconds()
    with pytest.raises(ChannelClosed, match=guest_name):
        waiting.wait(60)
    with pytest.raises(ChannelClosed, match=guest_name):
        guest.run("true")


def test_guest_that_cannot_boot_is_reported(host, guest_name):
    """A domain's kernel panics at boot; create_guest() and check_dmesg() must raise."""
    with pytest.raises((GuestStuck, ChannelClosed), match="(?s)no-such-init|Kernel panic"):
        host.create_guest(guest_name, extra="rdinit=/no-such-init root=/dev/none")
    log = host.share / "console" / f"guest-{guest_name}.log"
    eventually(lambda: "Kernel panic" in log.read_text(errors="replace"), what="the panic")
    with pytest.raises(KernelComplaint, match="VFS"):
        host.check_dmesg()


def test_guest_whose_files_do_not_fit_is_refused(host, guest_name, tmp_path):
    """The files do not fit into the guest's memory; create_guest() must refuse.  The domain's
    kernel would boot with some of the files cut off."""
    (tmp_path / "large").write_bytes(bytes(80 << 20))
    with pytest.raises(LabError, match="its files do not fit into 192 MiB of memory"):
        host.create_guest(guest_name, memory_mib=192, files={"/large": tmp_path / "large"})
    assert host.run(["xl", "domid", guest_name]).rc != 0


def test_cpu_time_of_a_busy_guest(host, guest):
    """CPU time, as Xen accounts it, must grow for a busy guest and for dom0."""
    before = host.cpu_seconds()
    busy = guest.popen("while :; do :; done")
    eventually(lambda: host.cpu_seconds()["one"] - before["one"] > 0.5, what="half a second")
    busy.kill()
    busy.wait(60)
    assert host.cpu_seconds()["Domain-0"] > before["Domain-0"]


def test_xenstore_as_a_dictionary(host, guest):
    """xenstore_ls() must have the guest's nodes in the real xenstored."""
    nodes = host.xenstore_ls(f"/local/domain/{guest.domid}")
    assert nodes[f"/local/domain/{guest.domid}/name"] == "one"


def test_hosts_on_one_wire(host, second_host):
    """A large packet must pass the cable between two emulators."""
    reaches(second_host, "10.99.0.1", "-s", "8000")


def test_stuck_host_is_killed_and_its_log_shown(second_host, monkeypatch):
    """The emulator is stopped; a command must end with HostStuck, the host's log, and the host's
    death."""
    monkeypatch.setattr(channel, "AGENT_GRACE", 2.0)
    os.kill(second_host.pid, signal.SIGSTOP)
    with pytest.raises(HostStuck, match="(?s)no answer to 'true'.*Done setting up Dom0"):
        second_host.run("true", timeout=1)
    assert not second_host.alive
    with pytest.raises(ChannelClosed):
        second_host.run("true")


def test_shell_reads_a_script():
    """`tools.lab shell` boots a host and runs a script from standard input; output and exit status
    must be the script's."""
    script = b"echo $((6 * 7)); echo oops >&2; xl list | tail -n 1; exit 5"
    command = [sys.executable, "-m", "tools.lab", "shell", "--name", "test-shell"]
    done = subprocess.run(command, cwd=REPOSITORY, input=script, capture_output=True, timeout=500)
    assert done.returncode == 5
    assert done.stdout.startswith(b"42\nDomain-0")
    assert done.stderr.endswith(b"oops\n")
