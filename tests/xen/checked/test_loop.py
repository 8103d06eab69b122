# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/guest/loop.py in a guest of Xen: the guest sleeps, or is saved and restored, and its device
is detached and attached again, while readers read and the backend is killed."""

from collections.abc import Iterator

import pytest

from tests.guest.checking import forget_leaks
from tests.guest.loop import Loop
from tests.guest.steady import BACK

pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(7200)]

DEVICE = "datanodes=dn1"
IMAGE = "/run/loop"
SAVED, DETACHED = "saved", "detached"
# How deep the kernel's own test sleeps.  A PV guest has s2idle only.
DEPTHS = ("devices", "platform")


class XenLoop(Loop):
    last = SAVED

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.client.run("echo 1 >/sys/module/suspend/parameters/pm_test_delay").check()
        sleeps = [f"asleep (freeze, {depth})" for depth in DEPTHS]
        for name, depth in zip(sleeps, DEPTHS, strict=True):
            self.events[name] = lambda d=depth: self.asleep(d)
        self.events[SAVED] = self.saved
        self.events[DETACHED] = self.detached
        alone = [*sleeps, SAVED]
        self.apart = {frozenset((one, other)) for one in alone for other in alone}
        self.apart.add(frozenset((SAVED, DETACHED)))

    def asleep(self, depth: str) -> Iterator[None]:
        sleep = f"echo {depth} >/sys/power/pm_test && echo freeze >/sys/power/state"
        sleeper = self.client.popen(sleep, timeout=BACK)
        yield
        sleeper.wait(BACK).check()

    def saved(self) -> Iterator[None]:
        self.client.save(IMAGE)
        yield
        self.backend.wait_states(self.client, "", "")
        self.backend.host.run(f"xl-vread restore {IMAGE} && rm {IMAGE}", BACK).check()
        self.client.restored()

    def detached(self) -> Iterator[None]:
        domain = str(self.client.domid)
        detach = self.backend.host.popen(["xl-vread", "detach", domain, "--wait", "120"])
        yield
        detach.wait(BACK).check()
        attach = ["xl-vread", "attach", "--wait", "120", domain, DEVICE]
        self.backend.host.run(attach, BACK).check()


def test_loop(backend, until_module_ends, built_program, vread_holder, demo):
    guest = until_module_ends(
        backend.host.create_guest(
            "loop",
            config=(f'vread = [ "{DEVICE}" ]',),
            create="xl-vread create",
            files=built_program("steady-reader") | {"/usr/bin/vread_holder": vread_holder},
        )
    )
    forget_leaks(guest)
    backend.connect(guest)
    loop = XenLoop(guest, backend, demo)
    loop.run()
    loop.check_leaks()
