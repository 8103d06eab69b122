# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures of the protocol tests: daemons, askers and fake peers, stopped in order after each test.

The time of a daemon stands still, so no limit passes because the machine is slow.  A test lets a
limit pass by advancing the clock.  clock.until() advances the clock while it waits, for actions
that a daemon repeats from time to time.
"""

import contextlib

import pytest

from tests.support import peer_wire as wire
from tests.support.clock import Clock
from tests.support.daemon import Daemon, Image
from tests.support.peers import Asker, free_address
from tools.peers import Authority, peer


@pytest.fixture(scope="session")
def image(tmp_path_factory):
    return Image(tmp_path_factory.mktemp("image"))


@pytest.fixture
def clock(tmp_path_factory):
    """The clock of all daemons and askers that are started for one test."""
    return Clock(tmp_path_factory.mktemp("clock") / "clock")


@pytest.fixture
def start_daemon(tmp_path_factory, image, clock):
    """start_daemon(local=..., variant=..., serving=IMAGE): the daemon must end in order."""
    daemons = []

    def start(folder=None, serving=None, **arguments):
        folder = folder or tmp_path_factory.mktemp("d")
        daemons.append(Daemon(folder, serving or image, **{"clock": clock, **arguments}))
        return daemons[-1]

    yield start
    try:
        for daemon in daemons:
            assert daemon.killed or daemon.stop() == 0, daemon.last_words()
    finally:
        for daemon in daemons:
            daemon.kill()


@pytest.fixture(scope="module")
def daemon(request, tmp_path_factory, image):
    """One vreadd for all tests of a module, with the module's LOCAL in [local].  No test may harm
    the next.  The daemon has its own clock, daemon.clock."""
    local = getattr(request.module, "LOCAL", "")
    folder = tmp_path_factory.mktemp("d")
    running = Daemon(folder, image, local=local, clock=Clock(folder / "clock"))
    try:
        yield running
        assert running.stop() == 0, running.last_words()
    finally:
        running.kill()


@pytest.fixture
def front(daemon):
    with daemon.front(pool_pages=1100) as connected:
        yield connected


@pytest.fixture
def block(image):
    """The large block, as open_block() takes it."""
    return image.blocks[0]


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def start_host(start_daemon, authority):
    """start_host(): returns a vreadd named b, which lets a read its datanode, and its address."""

    def start(name="b", peers=None, address=None, keys=None, **arguments):
        address = address or free_address()
        allowed = peers or peer("a", allow_datanodes="dn1")
        section = authority.host(name, listen=address, **(keys or {}))
        return start_daemon(extra=section + allowed, **arguments), address

    return start


@pytest.fixture
def start_asker(tmp_path_factory, authority, clock):
    """start_asker(peers...): peerctl as host a.  It must end in order after the test."""
    askers = []

    def start(*peers, keys=None, files=None, ca=None, name="a", **arguments):
        keys = {"answer-timeout": 60000, **(keys or {})}  # long: machines are busy
        section = authority.host(name, files=files, ca=ca, **keys)
        folder = tmp_path_factory.mktemp("asker")
        askers.append(Asker(folder, section + "".join(peers), **{"clock": clock, **arguments}))
        return askers[-1]

    yield start
    with contextlib.ExitStack() as killed:
        for asker in askers:
            killed.callback(asker.kill)
        for asker in askers:
            assert asker.killed or asker.stop() == 0, asker.log()


@pytest.fixture
def fake_peer(authority):
    files = authority.certificate("b")

    def make(behave, **arguments):
        return wire.FakePeer(files, authority.ca, behave, **arguments)

    return make


@pytest.fixture
def edit():
    """edit(daemon, old, new, ...): changes the daemon's configuration file, without a reload."""

    def write(daemon, *changes):
        text = daemon.config.read_text()
        for old, new in zip(changes[::2], changes[1::2], strict=True):
            assert old in text
            text = text.replace(old, new, 1)
        daemon.config.write_text(text)

    return write
