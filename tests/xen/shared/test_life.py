# SPDX-License-Identifier: GPL-2.0-or-later
"""A client domain is saved, restored, detached and rebooted while a program in it reads.  No byte
may be wrong, no call may wait for ever, and bytes must come by vRead again.

All tests use the same domain, in order.
"""

from pathlib import Path

import pytest

from tests.guest.steady import Steady, Text
from tests.xen.pair.reading import until
from tests.xen.shared.conftest import VARIANT

pytestmark = pytest.mark.xen
SAVED = "/run/saved"
RESTORE_TIMEOUT = 150.0
REBOOT_TIMEOUT = 400.0
CONFIG = ('vread = [ "datanodes=dn1" ]', 'on_reboot="restart"')
RELEASE_BUILD = Path(__file__).parents[3] / "build/release/vreadd"


@pytest.fixture(scope="module")
def client(backend, until_module_ends, built_program):
    guest = until_module_ends(
        backend.host.create_guest(
            "life",
            config=CONFIG,
            create="xl-vread create",
            files=built_program("steady-reader"),
        )
    )
    backend.connect(guest)
    return guest


@pytest.fixture(scope="module")
def reader(client, demo):
    running = Steady(client, Text.of_demo(demo))
    running.start()
    return running


@pytest.fixture(autouse=True)
def reads_on(backend, reader):
    """Before and after each test, bytes must come by vRead.  After it, the reader must have seen no
    wrong byte."""
    reader.goes_by_vread()
    yield
    reader.goes_by_vread()
    reader.is_well()


def test_saved_and_restored(client, backend, reader):
    """The client is saved and restored by xl-vread; reads must go on.  Its memory, with the
    module's state, goes on as another domain, which native tests do not have."""
    before = client.domid
    client.save(SAVED)
    backend.wait_states(client, "", "")
    backend.host.run(f"xl-vread restore {SAVED} && rm {SAVED}", RESTORE_TIMEOUT).check()
    client.restored()
    assert client.domid != before
    reader.went_other_way()


@pytest.mark.slow
def test_restored_where_it_has_no_device_yet(client, backend, reader):
    """Plain xl restores the domain without its device.  The module must remove the old device, and
    work again when a device is attached.  Only Xen restores a domain."""
    client.save(SAVED)
    backend.host.run(f"xl restore {SAVED} && rm {SAVED}", RESTORE_TIMEOUT).check()
    client.restored()
    until(lambda: client.run("test -e /dev/vread").rc, client.dmesg)
    reader.went_other_way()
    backend.attach(client, "dn1")


def test_detached_and_attached_with_a_smaller_pool(client, backend, reader):
    """The device is detached under a reader and attached with a pool of 4 MiB; the pool must have
    this size.  The module must take back all granted pages and grant fewer."""
    host = backend.host
    host.run(["xl-vread", "detach", str(client.domid), "--wait", "120"], RESTORE_TIMEOUT).check()
    assert backend.states(client) == ("", "")
    reader.went_other_way()
    device = [str(client.domid), "datanodes=dn1,pool-size=4M"]
    host.run(["xl-vread", "attach", "--wait", "120", *device], RESTORE_TIMEOUT).check()
    path = f"{backend.frontend_path(client)}/pool-pages"
    assert host.text(["xenstore-read", path]).strip() == "1024"


@pytest.mark.slow
@pytest.mark.skipif(
    VARIANT == "release", reason="needs VREAD_XEN_VARIANT=asan, as make test-all sets it"
)
def test_vreadd_replaced_by_another_build(client, backend, reader):
    """vreadd is replaced by the release build and back, under a reader.  The module goes on with
    each.  `make test` instead runs test_faults.py, which restarts the same build."""
    backend.host.put(RELEASE_BUILD, "/run/vreadd")
    for program in ("/run/vreadd", "vreadd"):
        backend.stop()
        reader.went_other_way()
        backend.program = program
        backend.start()
        reader.goes_by_vread()


def test_asleep_and_awake(client, backend, reader):
    """The client's kernel suspends its devices and resumes them, as for S3 and s2idle.  Nothing
    that Xen or the backend knows has changed, and reads must go on.  Newer kernels leave devices of
    xenbus alone meanwhile, also stable ones.  Older ones resume them as after a restore."""
    client.run("dmesg -c >/dev/null")
    asleep = "echo devices >/sys/power/pm_test && echo freeze >/sys/power/state"
    client.run(asleep, timeout=RESTORE_TIMEOUT).check()
    backend.wait_connected(client)
    assert "still in use" not in client.dmesg()


def test_rebooted(client, backend, reader):
    """xl-vread reboots the domain.  The domain's id changes, and xl-vread must make a device for
    the new id."""
    before = client.domid
    backend.host.run(["xl-vread", "reboot", client.name], REBOOT_TIMEOUT).check()
    client.restored()
    assert client.domid != before
    backend.connect(client)
    reader.put()
    reader.start()


@pytest.mark.slow
def test_a_domain_that_stays_after_all(client, backend, reader):
    """xl saves the domain but does not end it: Xen resumes the same domain, and no read may go the
    other way.  This test must be the last: afterwards no xl waits for the domain's end."""
    backend.host.run(f"xl save -c {client.domid} {SAVED} && rm {SAVED}", RESTORE_TIMEOUT).check()
    assert reader.counts()["other_way"] == reader.seen["other_way"]
