# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures for tests on guests of KVM, which are emulated (tools/lab/kvm.py)."""

import pytest

from tests.support.guest_program import FOLDER, compiled
from tools.lab import product


@pytest.fixture(scope="session")
def guest_files(tmp_path_factory):
    """The product, and vread_holder, in a guest."""
    holder = compiled(FOLDER / "vread_holder.c", tmp_path_factory.mktemp("programs"))
    return product.guest_files("release") | {"/usr/bin/vread_holder": holder}
