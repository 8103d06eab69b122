# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's module as a PCI driver: what a host offers and answers, its death, and a device that
is plugged, unplugged, or not of vRead.  IvshmemHost is the host.

The rings, the requests and /dev/vread are those of Xen's guests, and are tested there
(tests/xen/shared/test_frontend.py).
"""

import re

import pytest

from tests.support.ivshmem_host import (
    CLOSING,
    DATANODE,
    INIT_WAIT,
    INITIALISED,
    INITIALISING,
    MIB,
    PUBLISH,
    IvshmemHost,
)
from tests.support.waiting import eventually
from tools.lab import product
from tools.lab.kvm import DEVICE, shared_memory

pytestmark = [pytest.mark.kvm, pytest.mark.thorough]

OPEN, READ, CLOSE = 1, 2, 3
LENGTH = 65536
SPEC = "BP-1/blk_1_1"
BLOCK = (1 << 20).to_bytes(8, "little") + (1).to_bytes(8, "little")
BOUND = "/sys/bus/pci/drivers/vread-ivshmem/0000:*"


@pytest.fixture(scope="module")
def machine(tmp_path_factory, new_guest):
    """A host and its guest."""
    path = tmp_path_factory.mktemp("h") / "socket"
    with (
        IvshmemHost(path) as host,
        new_guest("front", devices=shared_memory(path)) as guest,
    ):
        yield host, guest
        guest.check_dmesg()


@pytest.fixture
def host(machine):
    """The module is loaded, and nothing was offered yet."""
    host, guest = machine
    host.epoch += 1
    host.say(0)
    guest.run("dmesg -c >/dev/null")
    guest.run(product.load()).check()
    yield host
    host.die()
    guest.run(product.unload(), timeout=60).check()


@pytest.fixture
def guest(machine):
    return machine[1]


def connect(host, **terms):
    host.offer(**terms)
    host.wait_front(INITIALISED)
    host.connect()


def open_block(host):
    request = host.next_request()
    assert request.operation == OPEN
    host.answer(request, 0, handle=7, u=BLOCK)


def read(host, content, **wrong):
    """Answers one READ."""
    request = host.next_request()
    assert (request.operation, request.handle) == (READ, 7)
    host.pool(request.pool_page, request.pool_pages)[:] = content
    host.answer(request, LENGTH, **wrong)


# ---- connecting ------------------------------------------------------------------------


def test_the_module_loads_without_a_backend(host, guest):
    assert host.front() == INITIALISING
    assert guest.text(f"vread_holder read {SPEC} 100").splitlines() == ["open ENOTCONN"]


def test_a_read(host, guest, guest_kind):
    connect(host)
    content = bytes(range(256)) * (LENGTH // 256)
    reader = guest.popen(f"exec vread_holder read {SPEC} 30000")
    open_block(host)
    read(host, content)
    assert reader.wait().stdout.decode().splitlines()[-1] == f"read {LENGTH}"
    queues = f"{guest_kind.vcpus} queues of 64 requests"
    assert f"connected to the host as client: {queues}, pool of 1024 pages" in guest.dmesg()


def test_roles(host, guest):
    connect(host, flags=PUBLISH | DATANODE)
    guest.run("test -c /dev/vread-publish").check()


@pytest.mark.parametrize(
    "terms",
    [
        {"version": 2},
        {"max_queues": 0},
        {"max_queues": 9},
        {"max_ring_page_order": 5},
        {"pool_pages": 15},
        {"pool_pages": 32769},
        {"pool_pages": 2049},  # the memory has 2048 pages
        {"pool_first": 1025},
        {"pool_first": 4},  # within the rings
        {"pool_first": 0xFFFFFFFF},
    ],
    ids=str,
)
def test_impossible_offers_are_refused(host, guest, terms):
    host.offer(**terms)
    host.wait_front(CLOSING)
    ((name, value),) = terms.items()
    assert re.search(f"vread: the host offers {name} {value}, which is not poss", guest.dmesg())
    connect(host)


def test_a_later_offer_may_not_move_the_pool(host, guest):
    connect(host)
    host.die()
    host.offer(pool_first=17)
    host.wait_front(CLOSING)
    host.offer(pool_pages=512)
    host.wait_front(CLOSING)
    assert "512 pages are offered: the pool already has 1024 pages" in guest.dmesg()
    connect(host)


# ---- while connected -------------------------------------------------------------------


def test_death_of_the_backend(host, guest):
    """A READ in flight fails at once.  The next backend is connected, and the handle is opened
    again."""
    connect(host)
    reader = guest.popen(f"exec vread_holder read {SPEC} 30000")
    open_block(host)
    assert host.next_request().operation == READ
    host.die()
    assert reader.wait().stdout.decode().splitlines()[-1] == "read ENOTCONN"
    assert "the backend went away; waiting for it to come back" in guest.dmesg()
    connect(host)
    reader = guest.popen(f"exec vread_holder read {SPEC} 30000")
    open_block(host)
    read(host, b"x" * LENGTH)
    assert reader.wait().stdout.decode().splitlines()[-1] == f"read {LENGTH}"


def test_a_new_offer_in_any_state(host, guest):
    """The guest may see the next offer first: a word tells nothing of the words before it."""
    host.offer()
    host.wait_front(INITIALISED)
    host.offer()
    host.wait_front(INITIALISED)
    host.connect()
    host.offer()
    host.wait_front(INITIALISED)
    host.connect()


@pytest.mark.parametrize("wrong", [{"id": 63}, {"operation": 9}], ids=str)
def test_wrong_answers_end_the_connection(host, guest, wrong):
    connect(host)
    reader = guest.popen(f"exec vread_holder read {SPEC} 30000")
    open_block(host)
    read(host, b"x" * LENGTH, **wrong)
    assert reader.wait().stdout.decode().splitlines()[-1] == "read ENOTCONN"
    host.wait_front(CLOSING)
    assert re.search(r"vread: backend broke the protocol on queue [01]:", guest.dmesg())
    connect(host)


def test_reboot(host, guest):
    """A driver that starts says so in the words of the epoch that it finds."""
    connect(host)
    guest.run(f"echo 1 >/proc/sys/kernel/sysrq; {product.unload()}", timeout=60)
    guest.run(product.load()).check()
    host.wait_front(INITIALISING)


@pytest.mark.parametrize("kind", ["mem", "disk"])
def test_sleep(host, guest, kind):
    """The kernel's own test suspends all devices and resumes them.  The guest closes its connection
    before it sleeps, and asks for a new one when it wakes up."""
    connect(host)
    sleeper = guest.popen(f"echo devices >/sys/power/pm_test && echo {kind} >/sys/power/state")
    host.wait_front(CLOSING)
    host.die()
    assert sleeper.wait().rc == 0
    host.wait_front(INITIALISING)
    connect(host)


def test_sleep_beside_the_next_offer(host, guest):
    """The host offers anew as soon as the guest has closed.  The guest hears of it when it wakes
    up: a step beside the end of the connection would bind vectors that are just being freed."""
    connect(host)
    guest.run("dmesg -c >/dev/null")
    sleeper = guest.popen("echo devices >/sys/power/pm_test && echo mem >/sys/power/state")
    host.wait_front(CLOSING)
    host.die()
    connect(host)
    assert sleeper.wait().rc == 0
    said = guest.dmesg()
    assert said.index("suspend debug: Waiting") < said.index("connected to the host"), said
    assert "did not close" not in said
    reader = guest.popen(f"exec vread_holder read {SPEC} 30000")
    open_block(host)
    read(host, b"x" * LENGTH)
    assert reader.wait().stdout.decode().splitlines()[-1] == f"read {LENGTH}"


def test_no_hibernation_with_an_open_device(host, guest):
    """The device's memory is not in the image of a hibernated guest."""
    connect(host)
    holder = guest.popen(f"exec vread_holder hold {SPEC}")
    open_block(host)
    read(host, b"x" * LENGTH)
    holder.wait_output("holding", 60)
    assert guest.run("echo devices >/sys/power/pm_test && echo disk >/sys/power/state").rc
    assert "no hibernation while a process has the device open" in guest.dmesg()
    holder.kill()
    eventually(lambda: not holder.running)


def test_what_an_open_file_holds(host, guest):
    connect(host)
    reader = guest.popen(f"VREAD_HOLDER_USER=1001 exec vread_holder in-flight {SPEC}")
    open_block(host)
    request = host.next_request()
    assert request.operation == READ
    told = "cat /proc/$(pidof vread_holder)/fdinfo/3 | grep vread"
    lines = [
        "vread-connected:\t1",
        "vread-generation:\t1",
        "vread-user:\t1001",
        f"vread-slice-bytes:\t{LENGTH}",
        "vread-handles:\t1",
        "vread-reads-in-flight:\t1",
        "vread-reads-done:\t0",
    ]
    assert guest.text(told).splitlines() == lines
    host.answer(request, LENGTH)
    lines[-2:] = ["vread-reads-in-flight:\t0", "vread-reads-done:\t1"]
    eventually(lambda: guest.text(told).splitlines() == lines)
    reader.kill()
    reader.wait()


def test_handles_of_one_file(host, guest):
    """Threads that open at the same time do not get more handles at the backend than one by one."""
    connect(host)
    opener = guest.popen(f"exec vread_holder many {SPEC} 4093")
    for _ in range(4093):
        open_block(host)
    requests = [host.next_request() for _ in range(3)]
    opener.wait_output("open EMFILE\n" * 5, 60)
    for request in requests:
        host.answer(request, 0, handle=7, u=BLOCK)
    said = opener.wait().stdout.decode().splitlines()
    assert sorted(said) == [*["open EMFILE"] * 5, *["open ok"] * 3]


def test_a_share_for_each_user(host, guest):
    """One user has more OPENs under way than there are control pages, and the backend is silent.
    The OPEN of another user reaches it, and what one has given back the other may take."""
    connect(host)
    crowd = guest.popen(f"VREAD_HOLDER_USER=1001 exec vread_holder crowd {SPEC} 16")
    crowd.wait_output("crowd", 60)
    taken = [host.next_request() for _ in range(3)]  # of 16 pages, 4 each
    reader = guest.popen(f"VREAD_HOLDER_USER=1002 exec vread_holder read {SPEC} 30000")
    request = host.next_request()
    assert (request.operation, request.pool_pages) == (OPEN, 1)
    host.answer(request, 0, handle=7, u=BLOCK)
    read(host, b"x" * LENGTH)
    close = host.next_request()
    assert close.operation == CLOSE
    host.answer(close, 0)
    assert reader.wait().stdout.decode().splitlines()[-1] == f"read {LENGTH}"
    for _ in range(13):
        host.answer(taken.pop(0), 0, handle=8, u=BLOCK)
        taken.append(host.next_request())
    for request in taken:
        host.answer(request, 0, handle=8, u=BLOCK)
    assert crowd.wait().stdout.decode().count("open ok") == 16


def test_idle_processes_sleep_on(host, guest):
    """Of 64 processes four read.  The others are not woken by that, not once, and use no
    processor."""
    connect(host)
    crowd = guest.popen("for _ in $(seq 60); do vread_holder idle & done; wait")
    crowd.wait_output("idle\n" * 60, 60)
    folders = [f"/proc/{pid}" for pid in guest.text("pidof vread_holder").split()]
    assert len(folders) == 60

    def used():
        """Switches, and the clock ticks in user space and in the kernel, of each."""
        switches = guest.text(f"grep -h ctxt_switches {' '.join(f'{f}/status' for f in folders)}")
        stats = guest.text(f"cat {' '.join(f'{f}/stat' for f in folders)}").splitlines()
        return switches, [stat.rpartition(")")[2].split()[11:13] for stat in stats]

    states = f"grep -h ^State: {' '.join(f'{f}/status' for f in folders)}"
    eventually(lambda: guest.text(states).count("S (sleeping)") == 60)
    before = used()
    loop = f"for _ in 1 2 3 4 5; do vread_holder read {SPEC} 30000; done"
    readers = guest.popen(f"for _ in 1 2 3 4; do ({loop}) & done; wait")
    done = {OPEN: 0, READ: 0, CLOSE: 0}
    while done[CLOSE] < 20:
        request = host.next_request()
        done[request.operation] += 1
        if request.operation == READ:
            host.pool(request.pool_page, request.pool_pages)[:] = b"x" * LENGTH
            host.answer(request, LENGTH)
        else:
            host.answer(
                request, 0, **({"handle": 7, "u": BLOCK} if request.operation == OPEN else {})
            )
    assert readers.wait().stdout.decode().count(f"read {LENGTH}") == 20
    assert done == {OPEN: 20, READ: 20, CLOSE: 20}
    assert used() == before
    host.die()
    crowd.wait_output("woken\n" * 60, 60)


# ---- tracing ---------------------------------------------------------------------------

TRACING = "/sys/kernel/tracing"


def test_what_can_be_traced(host, guest):
    """Requests and their completions, links that go up and down, and steps."""
    guest.run(f"mount -t tracefs tracefs {TRACING}; echo 1 >{TRACING}/events/vread/enable").check()
    connect(host)
    reader = guest.popen(f"exec vread_holder read {SPEC} 30000")
    open_block(host)
    read(host, b"x" * LENGTH)
    reader.wait()
    host.die()
    eventually(lambda: "went away" in guest.dmesg())
    told = guest.text(f"cat {TRACING}/trace; umount {TRACING}")
    (number,) = re.findall(rf"vread_submit: vread queue=0 id=(\d+) operation={READ}\n", told)
    said = f"vread_complete: vread queue=0 id={number} operation={READ} status={LENGTH}\n"
    assert told.count(said) == 1
    assert "vread_link: vread up generation=1\n" in told
    assert "vread_link: vread down generation=1\n" in told
    assert f"vread_step: vread phase=0 backend={INIT_WAIT} own={INITIALISING}\n" in told


# ---- plugging --------------------------------------------------------------------------


def test_unplugged_under_a_reader(new_guest, tmp_path):
    """The device's memory goes away.  Bytes that a process was told of stay where they are."""
    path = tmp_path / "socket"
    with IvshmemHost(path) as host, new_guest("plug") as guest:
        guest.run(product.load()).check()
        guest.plug(path)
        host.offer()
        host.wait_front(INITIALISED)
        host.connect()
        holder = guest.popen(f"exec vread_holder hold {SPEC} /run/deleted")
        open_block(host)
        read(host, bytes(range(256)) * (LENGTH // 256))
        holder.wait_output("holding", 60)
        guest.monitor.ask("device_del", id=DEVICE)
        host.wait_front(CLOSING)
        host.die()
        guest.monitor.wait_event("DEVICE_DELETED")
        guest.run("touch /run/deleted").check()
        said = holder.wait().stdout.decode().splitlines()
        gone = ["hangup", "info ENODEV", "open ENODEV", "open failed"]
        assert said[-5:] == [*gone, "mapping intact"]
        assert guest.run("ls /dev/vread").rc
        guest.check_dmesg()


@pytest.mark.parametrize("part", ["arguments", "data"])
def test_unplugged_under_a_slow_caller(new_guest, tmp_path, part):
    """A process decides itself how long a copy from its memory takes.  The device must go
    meanwhile, and the call must then fail."""
    path = tmp_path / "socket"
    with IvshmemHost(path) as host, new_guest("slow") as guest:
        guest.run(product.load()).check()
        guest.plug(path)
        connect(host)
        caller = guest.popen(f"exec vread_holder slow {SPEC} {part}")
        caller.wait_output("asked", 60)
        guest.monitor.ask("device_del", id=DEVICE)
        host.wait_front(CLOSING)
        host.die()
        guest.monitor.wait_event("DEVICE_DELETED")
        guest.run("touch /run/given").check()
        said = caller.wait().stdout.decode().splitlines()
        assert sorted(said) == ["asked", "given ok", "open ENODEV"]
        guest.check_dmesg()


def test_no_room_for_the_memory(new_guest, tmp_path):
    """A port reserves addresses for what may be plugged, 64 MiB in this guest."""
    path = tmp_path / "socket"
    with (
        IvshmemHost(path, size=128 * MIB) as host,
        new_guest("plug") as guest,
    ):
        guest.run(product.load()).check()
        guest.plug(path)
        said = "the guest has no address for the device's memory"
        eventually(lambda: said in guest.dmesg())
        assert host.front() == 0
        guest.check_dmesg()


def test_a_device_of_others_is_left_alone(new_guest, tmp_path):
    path = tmp_path / "socket"
    with IvshmemHost(path) as host:
        host.words[0] = 0
        with new_guest("alien", devices=shared_memory(path)) as guest:
            guest.run(product.load()).check()
            assert guest.run("ls /dev/vread").rc
            assert guest.run(f"ls -d {BOUND}").rc
            guest.run(product.unload()).check()
            guest.check_dmesg()


def test_too_few_vectors(new_guest, tmp_path):
    path = tmp_path / "socket"
    with (
        IvshmemHost(path, vectors=1) as host,
        new_guest("few", devices=shared_memory(path, vectors=1)) as guest,
    ):
        guest.run(product.load()).check()
        assert "at least 2 MSI-X vectors are needed" in guest.dmesg()
        assert guest.run("ls /dev/vread").rc
        assert host.front() == 0
