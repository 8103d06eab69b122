# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode in a guest of KVM publishes events of its blocks through its own frontend."""

import contextlib

import pytest

from tests.guest.publishing import *  # noqa: F403 - tests, in the order of that file

pytestmark = [pytest.mark.kvm, pytest.mark.thorough]


@pytest.fixture(scope="module")
def client(make_client):
    return make_client("pub-client")


@pytest.fixture(scope="module")
def make_publisher(backend):
    """make_publisher(name, datanodes): a guest whose device has role datanode."""
    with contextlib.ExitStack() as guests:

        def make(name, datanodes):
            backend.allow(name, datanodes, role="datanode")
            guest = backend.host.create_guest(name)
            guests.callback(guest.kill)
            backend.connect(guest)
            return guest

        yield make
