# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-peer-certificate: what it makes, and what it refuses.  That vreadd takes the certificates
is shown by tests/xen/test_first_use_two_hosts.py."""

import subprocess

import pytest

from tools.vreadd import REPOSITORY

PROGRAM = REPOSITORY / "tools/peer-certificate/vread-peer-certificate"
GROUP = "nogroup"


@pytest.fixture
def make(tmp_path):
    """make(NAME...) runs it for the folder tmp_path / "peers"."""

    def run(*names):
        command = [PROGRAM, "-d", tmp_path / "peers", "-g", GROUP, *names]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def peers(tmp_path):
    return tmp_path / "peers"


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def verify(folder, name, *options):
    """True if the authority in the folder signed the certificate, for these uses."""
    command = ["openssl", "verify", "-x509_strict", "-CAfile", folder / "ca.pem", *options]
    done = subprocess.run([*command, folder / f"{name}.pem"], capture_output=True, check=False)
    return done.returncode == 0


def test_certificates_of_two_hosts(make, peers):
    assert make("far", "near").returncode == 0
    assert sorted(files(peers)) == [
        "ca.key", "ca.pem", "far.key", "far.pem", "near.key", "near.pem",
    ]  # fmt: skip
    for name, other in (("far", "near"), ("near", "far")):
        assert verify(peers, name, "-verify_hostname", name, "-purpose", "sslserver")
        assert verify(peers, name, "-purpose", "sslclient")
        assert not verify(peers, name, "-verify_hostname", other)


def test_who_may_read_the_keys(make, peers):
    """vreadd's group may read the keys of hosts, and gets the keys that are copied there."""
    assert make("far").returncode == 0
    assert peers.stat().st_mode & 0o7777 == 0o2750
    assert peers.group() == GROUP
    key, authority = peers / "far.key", peers / "ca.key"
    assert (key.stat().st_mode & 0o777, key.group()) == (0o640, GROUP)
    assert authority.stat().st_mode & 0o777 == 0o600


def test_a_later_host_has_the_same_authority(make, peers):
    make("far")
    before = files(peers)
    assert make("near").returncode == 0
    assert verify(peers, "near")
    assert before.items() <= files(peers).items()


def test_no_file_is_replaced(make, peers):
    """If one of two names has files, none is written for the other."""
    make("far")
    before = files(peers)
    done = make("near", "far")
    assert done.returncode == 1
    assert f"{peers}/far.pem: exists: to replace it, remove" in done.stderr
    assert files(peers) == before


def test_half_an_authority_is_refused(make, peers):
    make("far")
    (peers / "ca.key").unlink()
    before = files(peers)
    done = make("near")
    assert done.returncode == 1
    assert f"{peers}/ca.key: is missing: run this on the host that has the key" in done.stderr
    assert files(peers) == before


@pytest.mark.parametrize("name", ["ca", "", "a b", ".a", "a/b", "x" * 64])
def test_names_that_no_host_can_have(make, peers, name):
    done = make("far", name)
    assert done.returncode == 2
    assert name in done.stderr.splitlines()[0]
    assert files(peers) == {}


def test_help():
    done = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: vread-peer-certificate [OPTION...] NAME...")
