# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures of the command-line tools' tests: the sanitized vread and xl-vread, vreadd
and a small xenstored."""

import os
import subprocess

import pytest

from tests.cli.xenstored import Xenstored
from tests.libvread import vreadlib
from tests.libvread.conftest import BUILD, endpoint, served, vreadd  # noqa: F401

VREAD = BUILD / "asan/vread"
XL_VREAD = BUILD / "asan/xl-vread"


def runner(program, environment):
    def run(*words, env=None, stdin=None):
        return subprocess.run(
            [program, *[str(word) for word in words]],
            capture_output=True,
            env=environment | (env or {}),
            input=stdin,
            timeout=120,
        )

    return run


@pytest.fixture
def vread():
    return runner(VREAD, vread_environment())


@pytest.fixture
def xl_vread(tmp_path):
    """Its records of domains are in a folder of the test."""
    return runner(XL_VREAD, clean_environment() | {"VREAD_DOMAINS": str(tmp_path / "domains")})


def clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("VREAD_")}


def vread_environment():
    """The environment for vread.  Its libvread follows the tests' clock, so no time limit passes
    unless a test advances the clock."""
    return clean_environment() | vreadlib.clock.environment


@pytest.fixture
def xenstored(endpoint):  # noqa: F811
    with Xenstored(endpoint) as store:
        store.put("/local/domain/0", "", ("n0",))
        store.put("/local/domain/7", "", ("n0", "r7"))
        store.put("/local/domain/7/device", "", ("n0", "r7"))
        yield store
