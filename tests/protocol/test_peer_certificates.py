# SPDX-License-Identifier: GPL-2.0-or-later
"""Certificates that are renewed, revoked or expire, without a restart of any host."""

import datetime
import os
import re
import shutil
import subprocess

import pytest

from tests.support import peer_wire as wire
from tests.support.daemon import REPOSITORY
from tests.support.peers import at, free_address
from tests.support.reloading import changed, reload
from tests.support.waiting import eventually
from tools.peers import Authority, peer

XL_VREAD = REPOSITORY / "build" / "asan" / "xl-vread"
EXPIRED = {"start": "20200101000000Z", "end": "20200201000000Z"}


@pytest.fixture
def authority(tmp_path):
    """An authority for one test, because the test revokes certificates."""
    return Authority(tmp_path)


def put(files, at):
    """Replaces the files, the key first: for a moment key and certificate do not match."""
    for new, place in reversed(list(zip(files, at, strict=True))):
        made = place.with_suffix(".new")
        shutil.copy(new, made)
        made.rename(place)


def places(folder, files):
    folder.mkdir()
    at = [folder / "host.pem", folder / "host.key"]
    put(files, at)
    return at


def can_open(asker, block):
    return asker.error(asker.begin_open(block)) is None


def fails_with(asker, block, text):
    """Waits until the files were read and a link failed after its pause."""

    def seen():
        return not can_open(asker, block) and text in (asker.peer("b")["last_error"] or "")

    asker.clock.until(seen)


def last_refused(host):
    return host.status()["peers"]["server"]["last_refused"] or ""


@pytest.mark.thorough
def test_a_host_that_asks_is_revoked(start_host, start_asker, image, authority, clock):
    files = authority.certificate("a")
    host, address = start_host(keys={"crl": authority.revoke()})
    asker = start_asker(at(address), files=files)
    assert can_open(asker, image.blocks[0])
    authority.revoke(files[0])
    clock.until(lambda: "certificate revoked, while it was connected" in last_refused(host))
    fails_with(asker, image.blocks[0], "the other host refuses this host: certificate revoked")
    # The host that asks is told before the refusal is recorded.
    clock.until(lambda: last_refused(host).endswith(": certificate revoked"))


def test_a_host_that_has_not_said_hello_is_revoked(start_host, authority, clock):
    files = authority.certificate("a")
    host, address = start_host(keys={"crl": authority.revoke()})
    with wire.connect(address, files, authority.ca, hello=False) as connection:
        seen = host.status
        eventually(lambda: seen()["peers"]["peers"][0]["answered"]["connections"] == 1)
        authority.revoke(files[0])
        clock.advance(2)
        assert connection.ended()
    assert "certificate revoked, while it was connected" in last_refused(host)


@pytest.mark.thorough
def test_a_host_that_answers_is_revoked(start_daemon, start_asker, image, authority, clock):
    files, address = authority.certificate("b"), free_address()
    section = authority.host("b", files=files, listen=address)
    start_daemon(extra=section + peer("a", allow_datanodes="dn1"))
    asker = start_asker(at(address), keys={"crl": authority.revoke()})
    assert can_open(asker, image.blocks[0])
    authority.revoke(files[0])
    any_more = "not accepted as b any more: certificate revoked"
    clock.until(lambda: asker.peer("b")["last_error"] == any_more)
    fails_with(asker, image.blocks[0], "not accepted as b: certificate revoked")


def test_a_list_that_is_nobodys_lets_nobody_in(
    start_host, start_asker, image, authority, tmp_path, clock
):
    other = Authority(tmp_path, "other").revoke()
    host, address = start_host(keys={"crl": other})
    asker = start_asker(at(address))
    fails_with(asker, image.blocks[0], "the other host refuses this host")
    clock.until(lambda: "unable to get certificate CRL" in last_refused(host))


@pytest.mark.thorough
def test_renewed_where_it_asks(start_host, start_asker, image, authority, tmp_path, clock):
    host, address = start_host()
    files = places(tmp_path / "own", authority.certificate("a", **EXPIRED))
    asker = start_asker(at(address), files=files)
    fails_with(asker, image.blocks[0], "the other host refuses this host: certificate expired")
    clock.until(lambda: "certificate has expired" in last_refused(host))
    put(authority.certificate("a"), files)
    clock.until(lambda: can_open(asker, image.blocks[0]))


@pytest.mark.thorough
def test_renewed_where_it_answers(start_daemon, start_asker, image, authority, tmp_path, clock):
    files, address = places(tmp_path / "own", authority.certificate("b", **EXPIRED)), free_address()
    section = authority.host("b", files=files, listen=address)
    host = start_daemon(extra=section + peer("a", allow_datanodes="dn1"))
    asker = start_asker(at(address))
    fails_with(asker, image.blocks[0], "not accepted as b: certificate has expired")
    put(authority.certificate("b"), files)
    clock.until(lambda: can_open(asker, image.blocks[0]))

    files[0].write_text("half of a certifica")
    clock.until(lambda: "the certificates read before stay in use" in host.log())
    assert f"[peers] certificate: {files[0]}: " in host.log()
    other = start_asker(at(address))
    assert can_open(other, image.blocks[0])


def test_an_operator_need_not_wait(start_daemon, authority, tmp_path):
    """`xl-vread reload` reads the files at once, changed or not, and reports their errors."""
    files = places(tmp_path / "own", authority.certificate("b"))
    host = start_daemon(extra=authority.host("b", files=files, listen=free_address()))
    assert "certificates were read again" not in host.log()
    changed(host)
    assert host.log().count("certificates were read again") == 1
    files[0].write_text("half of a certifica")
    (told,) = reload(host)["failed"]
    start = f"[peers]: certificates stay as they were: [peers] certificate: {files[0]}: "
    assert told.startswith(start)
    command = [XL_VREAD, "reload", "--socket", host.control]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (4, f"failed: {told}\n")


def test_a_key_that_others_can_use(start_daemon, authority, tmp_path, clock):
    """vreadd does not start with it.  A running vreadd keeps the key it has."""
    files, address = places(tmp_path / "own", authority.certificate("b")), free_address()
    section = authority.host("b", files=files, listen=address) + peer("a")
    said = f"[peers] key: {files[1]}: mode 0640, group 65534: others than root"
    os.chown(files[1], 0, 65534)
    files[1].chmod(0o640)
    with pytest.raises(AssertionError, match=re.escape(said)):
        start_daemon(extra=section)
    os.chown(files[1], 0, 0)  # root's group is root
    host = start_daemon(extra=section)

    files[1].chmod(0o644)
    (told,) = reload(host)["failed"]
    assert f"key: {files[1]}: mode 0644, group 0: others than root can use this" in told
    assert told.startswith("[peers]: certificates stay as they were: ")
    files[1].chmod(0o600)
    changed(host)

    files[1].chmod(0o604)  # noticed without a reload, too
    clock.advance(2)
    with wire.connect(address, authority.certificate("a"), authority.ca, hello=False):
        eventually(lambda: "mode 0604, group 0: others than root" in host.log())


def test_expired_while_connected(start_host, start_asker, image, authority, clock):
    host, address = start_host()
    soon = datetime.datetime.fromtimestamp(clock.ms / 1000 + 30, datetime.UTC)
    files = authority.certificate("a", start="20200101000000Z", end=f"{soon:%Y%m%d%H%M%SZ}")
    asker = start_asker(at(address), files=files)
    assert can_open(asker, image.blocks[0])
    clock.advance(25)
    assert can_open(asker, image.blocks[0])
    clock.advance(10)
    text = "certificate has expired, while it was connected"
    clock.until(lambda: text in last_refused(host))
    fails_with(asker, image.blocks[0], "the other host refuses this host: certificate expired")
