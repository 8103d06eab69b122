# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of hosts that are restored instead of booted (tools/lab/states.py).

Only an emulated host shows that a restored machine goes on from the saved one: its guests, their
programs, its disks, its clock.  `make test` sees that in tests/xen/test_hadoop.py, which restores
its host.  The tests of which folder a host is restored from need no host.
"""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.waiting import eventually
from tools.lab import Disk, states
from tools.lab.images import kernel_image
from tools.lab.qemu import Machine
from tools.lab.states import MEMORY, State

MIB = 1 << 20
WORD, WRITTEN = b"brought", b"written before it was saved"
ECHO = "while read line; do echo heard $line; done"


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """A folder for the states of these tests only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(states, "STATES", tmp_path_factory.mktemp("states"))
        yield states.STATES


# ---- restored hosts ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prepared():
    """The names of the hosts that were prepared, in order."""
    return []


@pytest.fixture(scope="module")
def state(prepared):
    def prepare(host):
        prepared.append(host.name)
        guest = host.create_guest("one", vifs=["10.77.0.11"])
        echo = guest.popen(ECHO)
        echo.write(b"before\n")
        echo.wait_output("heard before", 60)
        host.run("cat >/dev/vda", stdin=WRITTEN).check()
        return {"echo": echo.number}

    return State("test", prepare)


@pytest.fixture(scope="module")
def start(start_host, state, tmp_path_factory):
    """start(name): starts a host of that state, with its own file in dom0 and in guests."""
    folder = tmp_path_factory.mktemp("files")
    disk, word = folder / "disk.raw", folder / "word"
    disk.write_bytes(bytes(MIB))
    word.write_bytes(WORD)

    def start(name):
        return start_host(
            name,
            memory_mib=1024,
            dom0_mib=512,
            disks=[disk],
            files={"/opt/word": word},
            guest_files={"/opt/word": word},
            state=state,
        )

    return start


@pytest.fixture(scope="module")
def restored(start):
    return start("restored")


def disk_of(host):
    return host.run(["head", "-c", str(len(WRITTEN)), "/dev/vda"]).check().stdout


@pytest.mark.xen
@pytest.mark.slow
def test_goes_on_as_it_was_saved(restored, prepared):
    """The restored host must have its guest with the running program, and the saved disk."""
    assert prepared == ["test-restored-original"]
    guest, heard = restored.guests["one"], []
    echo = guest.adopt(restored.told["echo"], ECHO, heard.append)
    echo.write(b"after\n")
    eventually(lambda: b"".join(heard) == b"heard after\n", what="the echo")
    assert disk_of(restored) == WRITTEN


@pytest.mark.xen
@pytest.mark.slow
def test_has_its_own_name_files_and_logs(restored):
    assert restored.text("hostname") == "test-restored\n"
    for machine in (restored, restored.guests["one"]):
        assert machine.text("cat /opt/word") == WORD.decode()
    assert "lab: " in restored.guests["one"].console()
    (restored.share / "word").write_text("shared")
    assert restored.text("cat /lab/word") == "shared"


@pytest.mark.xen
@pytest.mark.slow
def test_makes_and_ends_guests(restored):
    with restored.create_guest("two", vifs=["10.77.0.12"]) as guest:
        guest.run("ping -c 1 10.77.0.11").check()
        assert guest.text("cat /opt/word") == WORD.decode()
        assert guest.console()
    restored.guests["one"].destroy()
    assert not restored.guests["one"].alive


@pytest.mark.xen
@pytest.mark.slow
def test_another_host_of_the_state(start, restored, prepared):
    """A second host of the state must not see the first host's changes, and its clock must show the
    time of its own start."""
    restored.run("cat >/dev/vda; sync; touch /opt/mine", stdin=b"x" * len(WRITTEN)).check()
    started = int(time.time())
    other = start("another")
    assert prepared == ["test-restored-original"]
    for machine in (other, other.guests["one"]):
        assert int(machine.text("date +%s")) >= started
        assert machine.text("cat /opt/word") == WORD.decode()
    assert disk_of(other) == WRITTEN
    assert other.run(["test", "-e", "/opt/mine"]).rc == 1
    other.stop()


@pytest.mark.xen
@pytest.mark.slow
def test_a_damaged_state_is_made_anew(start, folder, prepared):
    (kept,) = folder.glob("test/[0-9a-f]*")
    devices = kept / states.DEVICES
    devices.write_bytes(devices.read_bytes()[: devices.stat().st_size // 2])
    host = start("damaged")
    assert prepared[-1] == "test-damaged-original"
    assert disk_of(host) == WRITTEN
    assert list(folder.glob("test/[0-9a-f]*")) == [kept]
    host.stop()


# ---- folders ---------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path):
    disk = tmp_path / "disk.raw"
    disk.write_bytes(bytes(MIB))
    root = kernel_image()  # any file of the cache
    return Machine("h", 1024, 512, root, tmp_path, tmp_path / "log", (Disk(disk),))


def no_host(host):
    raise AssertionError("no host is wanted here")


@pytest.mark.parametrize(
    "change",
    [
        {"memory_mib": 2048},
        {"dom0_mib": 640},
        {"cpus": 2},
        {"xen_options": ("sched=credit",)},
        {"root": Path("/elsewhere/dom0-1.cpio")},
        {"disks": ()},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_machine_is_another_state(machine, change):
    state = State("key", no_host)
    assert state.folder(machine) == state.folder(machine)
    assert state.folder(replace(machine, **change)) != state.folder(machine)


def test_other_inputs_are_another_state(machine):
    one, two = (State("key", no_host, lambda word=word: [word]) for word in (b"1", b"2"))
    assert one.folder(machine) != two.folder(machine)


def test_a_disk_of_the_cache_may_be_used_again(machine):
    """A cached disk with another time is the same input: its time is the time of its last use.  Any
    other disk with another time must lead to another state."""
    state = State("key", no_host)
    cached = replace(machine, disks=(Disk(kernel_image()),))
    for other, same in ((cached, True), (machine, False)):
        before = state.folder(other)
        os.utime(other.disks[0].path, (1, 1))
        assert (state.folder(other) == before) == same


def test_name_and_share_are_not_inputs(machine):
    """A state must not depend on name, share and console: they belong to the restored host."""
    state = State("key", no_host)
    other = replace(machine, name="other", share=Path("/other"), console=Path("/other/log"))
    assert state.folder(other) == state.folder(machine)


def fill(path):
    (path / MEMORY).write_bytes(b"memory")


@pytest.fixture
def state_of(folder, request):
    """(state, folder) that only this test uses."""
    state = State(request.node.name, no_host)
    with state.locked():
        yield state, folder / state.stem


def test_a_new_state_replaces_the_old_one(state_of):
    state, home = state_of
    for key in ("1", "2"):
        state.make(home / key, fill)
    assert list(home.glob("*/*")) == [home / "2" / MEMORY]


def test_what_was_interrupted_leaves_nothing(state_of):
    state, home = state_of

    def interrupted(path):
        fill(path)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        state.make(home / "1", interrupted)
    assert [path.name for path in home.iterdir()] == [states.LOCK]


def test_what_was_killed_is_removed_by_the_next(state_of):
    state, home = state_of
    left = home / f"{states.MAKING}abc"
    left.mkdir()
    fill(left)
    state.make(home / "1", fill)
    assert list(home.glob("*/*")) == [home / "1" / MEMORY]
