# SPDX-License-Identifier: GPL-2.0-or-later
"""A client domain migrates from one host to another while a program in it reads.

Debian's Xen is built without shadow paging, so a PV domain must be stopped while it is copied. A
PVH domain runs on. A live migration does not send again what dom0 wrote into a guest's pages. The
module handles that (suspend.c); without it, the reader would see the memory change that it holds.
"""

import contextlib
from pathlib import Path

import pytest

from tests.guest.steady import Steady, Text
from tests.support.guest_program import compiled
from tests.xen.pair.conftest import FAR
from tests.xen.pair.reading import until

# `make test` instead runs shared/test_life.py, which saves and restores on one host, and
# tests/cli/test_xl_life.py, which tests xl-vread's part.
pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(2400)]
SHELL = "/usr/local/bin/wire-shell"
PIPE = "/usr/local/bin/wire-pipe"
# As in test_kernels.py.
PVH = ('type="pvh"', 'tsc_mode="native"')
MEMORY_MIB = 128  # less than other guests have: all of it goes over the wire
MIGRATE_TIMEOUT = 1500.0  # s; all of the guest's memory goes over the wire
RECEIVING = "grep -sl 'migrate-receiv[e]' /proc/[0-9]*/cmdline"


@pytest.fixture(scope="module")
def wire_pipe(tmp_path_factory):
    source = Path(__file__).with_name("wire_pipe.c")
    return compiled(source, tmp_path_factory.mktemp("programs"))


@pytest.fixture
def shell(far_host, near_host, wire_pipe):
    """Installs wire-shell on both hosts and serves it there: the command that `xl migrate -s` uses
    to reach the other host."""
    servers = []
    for host in (far_host, near_host):
        host.put(wire_pipe, PIPE)
        host.put(Path(__file__).with_name("wire-shell"), SHELL)
        servers.append(host.popen(f"exec {SHELL} --serve"))
    yield SHELL
    for server in servers:
        server.kill()
        server.wait(60)  # the next server needs the port


@pytest.fixture
def make_client(near_host, far, asking, built_program):
    """with make_client(*config) as guest: a domain on the near host, and vreadd there, which has
    no datanode and asks the far host."""

    @contextlib.contextmanager
    def running(*config):
        with asking() as near:
            guest = near_host.create_guest(
                "mover",
                memory_mib=MEMORY_MIB,
                config=('vread = [ "datanodes=*" ]', *config),
                create="xl-vread create",
                files=built_program("steady-reader"),
            )
            with guest:
                near.connect(guest)
                yield guest

    return running


def devices(host):
    """[(domain, state)] of all devices that xl-vread lists."""
    lines = [line.split() for line in host.text("xl-vread list").splitlines()[1:]]
    return [(line[0], line[4]) for line in lines]


def migrate(host, shell, *options):
    return host.run(["xl-vread", "migrate", *options, "-s", shell, "mover", FAR], MIGRATE_TIMEOUT)


@pytest.fixture
def reading(replicas):
    """reading(guest): starts a reader in the guest, and returns it when it reads by vRead."""

    def begin(guest):
        reader = Steady(guest, Text(replicas.listing.read_text(), replicas.content))
        reader.start()
        reader.goes_by_vread()
        return reader

    return begin


def arrived(guest, reader, near_host, far_host, far):
    """The domain must have left the near host, run on the far host, and read on by that host's
    vreadd.  The reader must never have seen a wrong byte."""
    guest.wait_gone()
    guest.restored(far_host)
    reader.went_other_way()
    reader.goes_by_vread()
    assert (devices(near_host), devices(far_host)) == ([], [("mover", "connected")])
    assert far.bytes_read(guest) > 0
    reader.is_well()


def test_moved_while_stopped(make_client, reading, shell, near_host, far_host, far):
    """A stopped domain migrates to another Xen, which a native test does not have.  A migration
    that fails must change nothing.  The test takes minutes: all memory goes over the wire."""
    with make_client() as guest:
        reader = reading(guest)
        # Migrations that fail must change nothing.
        live = migrate(near_host, shell)
        assert b"Failed to enable logdirty" in live.stderr, live.stderr
        nobody = migrate(near_host, "false", "--stop")
        assert b"xl-vread receive did not answer there; nothing was moved" in nobody.stderr
        assert reader.counts()["other_way"] == reader.seen["other_way"]
        assert devices(near_host) == [("mover", "connected")]

        # On the far host, xl ends by itself and removes the domain it had begun to make, which has
        # the UUID of this one.
        until(lambda: not far_host.run(RECEIVING).stdout, lambda: far_host.text("ps"))
        migrate(near_host, shell, "--stop").check()
        arrived(guest, reader, near_host, far_host, far)


def test_moved_live(make_client, reading, shell, near_host, far_host, far):
    """Xen sends the memory of a running domain, but not what dom0 wrote into granted pages.  The
    test takes minutes: all memory goes over the wire, some of it twice."""
    with make_client(*PVH) as guest:
        reader = reading(guest)
        migrate(near_host, shell).check()
        arrived(guest, reader, near_host, far_host, far)
