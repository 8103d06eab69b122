# SPDX-License-Identifier: GPL-2.0-or-later
"""Daemons for protocol tests, and their orderly end."""

import pytest

from tests.support.daemon import Daemon, Image


@pytest.fixture(scope="session")
def image(tmp_path_factory):
    return Image(tmp_path_factory.mktemp("image"))


@pytest.fixture
def start_daemon(tmp_path_factory, image):
    """start_daemon(local=..., variant=...): ends in order after the test, or the test fails."""
    daemons = []

    def start(folder=None, **arguments):
        daemons.append(Daemon(folder or tmp_path_factory.mktemp("d"), image, **arguments))
        return daemons[-1]

    yield start
    try:
        for daemon in daemons:
            assert daemon.killed or daemon.stop() == 0, daemon.log()
    finally:
        for daemon in daemons:
            daemon.kill()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory, image):
    """One vreadd for all tests of a module: what one test does must not hurt the next."""
    running = Daemon(tmp_path_factory.mktemp("d"), image)
    try:
        yield running
        assert running.stop() == 0, running.log()
    finally:
        running.kill()


@pytest.fixture
def front(daemon):
    with daemon.front(pool_pages=1100) as connected:
        yield connected


@pytest.fixture
def block(image):
    """The large block, opened as `handle(front)` wants it."""
    return image.blocks[0]
