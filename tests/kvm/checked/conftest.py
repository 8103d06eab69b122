# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests of two processors whose kernel checks itself (tools/lab/checking_kernel.py).

The kernel reports a defect in its log.  A test fails if there is a new report after it
(tests/kvm/conftest.py), or if lockdep is off after it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.guest.checking import lockdep_is_on
from tools.lab import checking_kernel, product
from tools.lab.guest import GuestKind


@pytest.fixture(scope="session")
def configuration() -> checking_kernel.Configuration:
    return checking_kernel.KVM


@pytest.fixture(scope="session")
def guest_kind(configuration) -> GuestKind:
    """KASAN's shadow, and memory that KASAN keeps after it was freed, take a third of the guest's
    memory."""
    return GuestKind(memory_mib=768, kernel=checking_kernel.checking(configuration), vcpus=2)


@pytest.fixture(scope="session")
def guest_files(guest_files, guest_kind) -> dict[str, Path]:
    return guest_files | {product.MODULE: product.module_for(guest_kind.kernel)}


@pytest.fixture(autouse=True)
def _lockdep_stays_on(request) -> Iterator[None]:
    yield
    if "kvm_host" in request.fixturenames:
        for guest in request.getfixturevalue("kvm_host").guests.values():
            if guest.alive:
                assert lockdep_is_on(guest), guest.name
