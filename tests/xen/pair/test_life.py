# SPDX-License-Identifier: GPL-2.0-or-later
"""A client domain that moves from one host to another, under a program in it that reads.

Debian's Xen is built without shadow paging, so that a PV domain is stopped while it is copied; a
PVH domain runs on. What dom0 writes into a guest's pages is not sent again by a live migration:
without what the module does about that (suspend.c) the reader sees memory change that it holds.
"""

import contextlib
from pathlib import Path

import pytest

from tests.xen.pair.conftest import FAR
from tests.xen.pair.reading import until
from tests.xen.steady import Steady, Text
from tools.lab import deployment

# In `make test`: shared/test_life.py saves and restores on one host, tests/cli/test_xl_life.py has
# the part of xl-vread.
pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(2400)]
SHELL = "/usr/local/bin/wire-shell"
# As in test_kernels.py.
PVH = ('type="pvh"', 'tsc_mode="native"')
MIGRATE_TIMEOUT = 1500.0  # all its memory goes over the wire
RECEIVING = "grep -sl 'migrate-receiv[e]' /proc/[0-9]*/cmdline"


@pytest.fixture
def shell(far_host, near_host):
    """A command to reach the other host by, at both."""
    servers = []
    for host in (far_host, near_host):
        host.put(Path(__file__).with_name("wire-shell"), SHELL)
        servers.append(host.popen(f"exec {SHELL} --serve"))
    yield SHELL
    for server in servers:
        server.kill()
        server.wait(60)  # the next one wants its port


@pytest.fixture
def make_client(near_host, far, asking, built_program):
    """A domain on the near host, which has no datanode and asks the far one; and its vreadd."""

    @contextlib.contextmanager
    def running(*config):
        with asking() as near:
            guest = near_host.create_guest(
                "mover",
                config=('vread = [ "datanodes=*" ]', *config),
                create="xl-vread create",
                files=built_program("steady-reader"),
            )
            with guest:
                deployment.load_frontend(guest)
                near.wait_connected(guest)
                yield guest

    return running


def devices(host):
    """[(name, state)] of all that are to be."""
    lines = [line.split() for line in host.text("xl-vread list").splitlines()[1:]]
    return [(line[0], line[4]) for line in lines]


def migrate(host, shell, *options):
    return host.run(["xl-vread", "migrate", *options, "-s", shell, "mover", FAR], MIGRATE_TIMEOUT)


@pytest.fixture
def reading(replicas):
    """reading(guest): a reader that has begun, and goes by vRead."""

    def begin(guest):
        reader = Steady(guest, Text(replicas.listing.read_text(), replicas.content))
        reader.start()
        reader.goes_by_vread()
        return reader

    return begin


def arrived(guest, reader, near_host, far_host, far):
    """It has left here, runs there, and reads on by that host's vreadd; nothing was wrong."""
    guest.wait_gone()
    guest.restored(far_host)
    reader.went_other_way()
    reader.goes_by_vread()
    assert (devices(near_host), devices(far_host)) == ([], [("mover", "connected")])
    assert far.bytes_read(guest) > 0
    reader.is_well()


def test_moved_while_stopped(make_client, reading, shell, near_host, far_host, far):
    """A domain is sent to another Xen.  It takes minutes: all its memory goes over the wire."""
    with make_client() as guest:
        reader = reading(guest)
        # What fails changes nothing.
        live = migrate(near_host, shell)
        assert b"Failed to enable logdirty" in live.stderr, live.stderr
        nobody = migrate(near_host, "false", "--stop")
        assert b"xl-vread receive did not answer there; nothing was moved" in nobody.stderr
        assert reader.counts()["other_way"] == reader.seen["other_way"]
        assert devices(near_host) == [("mover", "connected")]

        # There xl ends by itself, with the domain it had begun to make, which has this one's UUID.
        until(lambda: not far_host.run(RECEIVING).stdout, lambda: far_host.text("ps"))
        migrate(near_host, shell, "--stop").check()
        arrived(guest, reader, near_host, far_host, far)


def test_moved_live(make_client, reading, shell, near_host, far_host, far):
    """Xen sends the memory of a domain that runs, but not what dom0 wrote into granted pages.  It
    takes minutes: all its memory goes over the wire, some of it twice."""
    with make_client(*PVH) as guest:
        reader = reading(guest)
        migrate(near_host, shell).check()
        arrived(guest, reader, near_host, far_host, far)
