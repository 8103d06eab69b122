# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/guest/loop.py in a guest of KVM: the guest sleeps, and its device is unplugged and plugged
again, while readers read and the backend is killed."""

from collections.abc import Iterator

import pytest

from tests.guest.checking import forget_leaks
from tests.guest.loop import Loop
from tests.guest.steady import BACK
from tools.lab.paths import REPOSITORY

pytestmark = [pytest.mark.kvm, pytest.mark.slow, pytest.mark.timeout(7200)]

# How deep the kernel's own test sleeps (Documentation/power/basic-pm-debugging.rst).  With "core"
# the second processor is taken down, and its interrupts move.  s2idle ends at "platform".  The
# guest cannot sleep in S3 itself: this QEMU, without KVM, resets the machine as the guest wakes up.
SLEEPS = (("freeze", "devices"), ("freeze", "platform"), ("mem", "devices"), ("mem", "core"))


class KvmLoop(Loop):
    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.socket = self.backend.socket_of(self.client.name)
        self.client.run("echo 1 >/sys/module/suspend/parameters/pm_test_delay").check()
        for kind, depth in SLEEPS:
            self.events[f"asleep ({kind}, {depth})"] = lambda k=kind, d=depth: self.asleep(k, d)
        self.events["unplugged"] = self.unplugged
        sleeps = [name for name in self.events if name.startswith("asleep")]
        self.apart = {frozenset((one, other)) for one in sleeps for other in sleeps}

    def asleep(self, kind: str, depth: str) -> Iterator[None]:
        sleep = f"echo {depth} >/sys/power/pm_test && echo {kind} >/sys/power/state"
        sleeper = self.client.popen(sleep, timeout=BACK)
        yield
        sleeper.wait(BACK).check()

    def unplugged(self) -> Iterator[None]:
        self.client.ask_unplug()
        yield
        self.client.wait_unplugged()
        self.client.plug(self.socket)


@pytest.fixture(scope="module")
def guest(kvm_host, backend):
    """Its device can be unplugged."""
    files = {"/usr/bin/steady-reader": REPOSITORY / "build/release/steady-reader"}
    backend.allow("loop")
    guest = kvm_host.create_guest("loop", files=files)
    yield guest
    guest.kill()


def test_loop(guest, backend, demo):
    forget_leaks(guest)
    backend.connect(guest)
    loop = KvmLoop(guest, backend, demo)
    loop.run()
    loop.check_leaks()
