# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens to a client domain in its life, under a program in it that reads: no byte is
wrong, nobody waits for an answer that does not come, and bytes come by vRead again.

One domain goes through all this, in order.
"""

from pathlib import Path

import pytest

from tests.xen.conftest import PRODUCT_VARIANT
from tests.xen.pair.reading import until
from tests.xen.steady import Steady, Text
from tools.lab import deployment

pytestmark = pytest.mark.xen
SAVED = "/run/saved"
RESTORE_TIMEOUT = 150.0
REBOOT_TIMEOUT = 400.0
CONFIG = ('vread = [ "datanodes=dn1" ]', 'on_reboot="restart"')
OTHER_BUILD = Path(__file__).parents[3] / (
    "build/release/vreadd" if PRODUCT_VARIANT == "asan" else "build/asan/vreadd"
)


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
    deployment.load_frontend(guest)
    backend.wait_connected(guest)
    return guest


@pytest.fixture(scope="module")
def reader(client, demo):
    running = Steady(client, Text.of_demo(demo))
    running.start()
    return running


@pytest.fixture(autouse=True)
def reads_on(backend, reader):
    """Before and after."""
    reader.goes_by_vread()
    yield
    reader.goes_by_vread()
    reader.is_well()


def test_saved_and_restored(client, backend, reader):
    """A domain's memory, with the module's state in it, is continued as another domain."""
    before = client.domid
    client.save(SAVED)
    backend.wait_states(client, "", "")
    backend.host.run(f"xl-vread restore {SAVED} && rm {SAVED}", RESTORE_TIMEOUT).check()
    client.restored()
    assert client.domid != before
    reader.went_other_way()


@pytest.mark.slow
def test_restored_where_it_has_no_device_yet(client, backend, reader):
    """Plain xl restores a domain whose device nobody has offered yet."""
    client.save(SAVED)
    backend.host.run(f"xl restore {SAVED} && rm {SAVED}", RESTORE_TIMEOUT).check()
    client.restored()
    until(lambda: client.run("test -e /dev/vread").rc, client.dmesg)
    reader.went_other_way()
    backend.attach(client, "dn1")


def test_detached_and_attached_with_a_smaller_pool(client, backend, reader):
    """The module gives all its pages back under a reader and grants fewer."""
    host = backend.host
    host.run(["vread", "detach", str(client.domid), "--wait", "120"], RESTORE_TIMEOUT).check()
    assert backend.states(client) == ("", "")
    reader.went_other_way()
    options = ["--allow-datanodes", "dn1", "--pool-size", "4M", "--wait", "120"]
    host.run(["vread", "attach", str(client.domid), *options], RESTORE_TIMEOUT).check()
    path = f"{backend.frontend_path(client)}/pool-pages"
    assert host.text(["xenstore-read", path]).strip() == "1024"


@pytest.mark.slow
def test_vreadd_replaced_by_another_build(client, backend, reader):
    """The module outlives vreadd. In `make test`: test_faults.py starts the same build."""
    backend.host.put(OTHER_BUILD, "/run/vreadd")
    for program in ("/run/vreadd", "vreadd"):
        backend.stop()
        reader.went_other_way()
        backend.program = program
        backend.start()
        reader.goes_by_vread()


def test_rebooted(client, backend, reader):
    """The domain's id changes, and xl-vread makes the device for the new one."""
    before = client.domid
    backend.host.run(["xl-vread", "reboot", client.name], REBOOT_TIMEOUT).check()
    client.restored()
    assert client.domid != before
    deployment.load_frontend(client)
    backend.wait_connected(client)
    reader.put()
    reader.start()


@pytest.mark.slow
def test_a_domain_that_stays_after_all(client, backend, reader):
    """Saved, but not ended: Xen resumes the very same domain.  Comes last: no xl waits for its
    end any more."""
    backend.host.run(f"xl save -c {client.domid} {SAVED} && rm {SAVED}", RESTORE_TIMEOUT).check()
    assert reader.counts()["other_way"] == reader.seen["other_way"]
