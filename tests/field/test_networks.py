# SPDX-License-Identifier: GPL-2.0-or-later
# ruff: noqa: F811
"""Networks between hosts, and their certificates and clocks: what was reported of other software,
tried on hosts that read from each other."""

import datetime
import socket
import subprocess

import pytest

from tests.protocol.conftest import (  # noqa: F401
    authority,
    clock,
    edit,
    fake_peer,
    image,
    start_asker,
    start_daemon,
    start_host,
)
from tests.protocol.test_peer_links import Slow
from tests.protocol.test_peer_network import Namespace
from tests.support import peer_wire as wire
from tests.support.daemon import REPOSITORY, open_status
from tests.support.owner import needs_root
from tests.support.peers import at, free_address, read_all, read_soon
from tests.support.waiting import eventually
from tools.peers import Authority, openssl, peer

LIMIT = 60  # s for an answer, as start_asker() configures
FIRST_PAUSE = 0.1  # s after a failure
STALLS = 6
XL_VREAD = REPOSITORY / "build" / "asan" / "xl-vread"


def doctor(daemon):
    words = ("doctor", "--config", daemon.config, "--socket", daemon.control, "-v")
    done = subprocess.run([XL_VREAD, *words], capture_output=True, text=True, timeout=120)
    return " ".join(done.stdout.split())


# ---- frames and packets that are lost ------------------------------------------------------------


def test_a_path_that_loses_large_frames(fake_peer, start_asker, image, clock):
    """A connection is made and opens blocks, and no READ is answered: the pauses must grow, as for
    a host that is down, or each block costs its reader the whole limit."""
    with fake_peer(Slow(cancel=lambda *_: None, keep=lambda *_: None)) as fake:
        asker = start_asker(at(fake.address))
        pauses = []
        for _ in range(STALLS):
            failed = clock.ms
            handle = clock.until(
                lambda: (opened := try_open(asker, image.blocks[0])) and opened[0], step=0.02
            )
            pauses.append((clock.ms - failed) / 1000)
            failures = asker.peer("b")["failures"]
            tag = asker.begin_read(handle, 0, 1000)
            eventually(lambda: asker.peer("b")["under_way"] == 1)
            clock.advance(LIMIT)
            assert asker.error(tag)
            clock.until(lambda n=failures: asker.peer("b")["failures"] > n, step=1)
        assert pauses[-1] > 4 * FIRST_PAUSE, pauses


def try_open(asker, block):
    tag = asker.begin_open(block)
    try:
        return tuple(map(int, asker.end(tag).split()))
    except Exception:
        return None


def test_a_path_that_carries_large_frames_again(fake_peer, start_asker, image, clock):
    """The first READ that is larger than a frame clears the pauses."""
    slow = Slow(cancel=lambda *_: None, keep=lambda *_: None)
    with fake_peer(slow) as fake:
        asker = start_asker(at(fake.address))
        for offset, length in ((0, 1000), (0, 1000), (5, 65536), (0, 1000)):
            handle = clock.until(
                lambda: (opened := try_open(asker, image.blocks[0])) and opened[0], step=0.02
            )
            failures = asker.peer("b")["failures"]
            if offset:
                assert asker.read(handle, offset, length) == b"z" * length
                continue
            tag = asker.begin_read(handle, offset, length)
            eventually(lambda: asker.peer("b")["under_way"] == 1)
            clock.advance(LIMIT)
            assert asker.error(tag)
            clock.until(lambda n=failures: asker.peer("b")["failures"] > n, step=1)
        failed = clock.ms
        clock.until(lambda: try_open(asker, image.blocks[0]), step=0.02)
        assert (clock.ms - failed) / 1000 <= 1.5 * FIRST_PAUSE


# ---- addresses -----------------------------------------------------------------------------------


@needs_root
@pytest.mark.parametrize(
    ("address", "mask"), [("192.0.2.9", "24"), ("2001:db8::9", "64")], ids=["IPv4", "IPv6"]
)
def test_an_address_that_comes_after_the_start(start_host, start_asker, image, address, mask):
    """At boot the network may come last: guests of this host are served, and other hosts once the
    address is there."""
    namespace = Namespace()
    try:
        namespace.ip("link", "set", "lo", "up")
        where = f"[{address}]:7867" if ":" in address else f"{address}:7867"
        host, _ = start_host(address=where, wrapper=namespace.inside)
        assert f"[peers] listen: {where}: this host has no such address yet" in host.log()
        with host.front() as front:
            assert open_status(front, image.blocks[0]) == 0
        nodad = ["nodad"] if ":" in address else []
        namespace.ip("address", "add", f"{address}/{mask}", "dev", "lo", *nodad)
        asker = start_asker(at(where), wrapper=namespace.inside)
        assert read_all(asker, image.blocks[1]) == image.contents[image.blocks[1].id]
    finally:
        namespace.stop()


def test_the_doctor_names_an_address_that_is_not_there(start_host):
    host, _ = start_host(address="192.0.2.9:7867")
    assert "listen: no host can connect: this host has no address 192.0.2.9:7867" in doctor(host)


def test_one_listener_for_both_families(start_host, start_asker, image):
    """`[::]` takes IPv4, too, and the IPv4 address of a known host counts as such."""
    port = free_address().rpartition(":")[2]
    host, _ = start_host(address=f"[::]:{port}")
    for where in (f"127.0.0.1:{port}", f"[::1]:{port}", f"[::ffff:127.0.0.1]:{port}"):
        asker = start_asker(at(where))
        assert read_all(asker, image.blocks[1]) == image.contents[image.blocks[1].id]


def test_a_name_in_the_place_of_an_address(start_daemon, authority, edit):
    """No read waits for a name server, so a name is a mistake that is told."""
    daemon = start_daemon()
    text = authority.host("b") + peer("a", address="dn7.example.com:7867", storages="dn1/DS-1")
    edit(daemon, "[local]", text + "[local]")
    done = subprocess.run(
        [XL_VREAD, "config", "check", daemon.config], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "dn7.example.com:7867: expected IP:PORT" in done.stdout


# ---- certificates --------------------------------------------------------------------------------


def test_a_list_of_the_revoked_that_has_expired(
    start_host, start_asker, image, authority, tmp_path, clock
):
    """The doctor warns before.  Then nobody is let in, the reason is told, and a new list counts at
    once."""
    own = Authority(tmp_path, "own")
    crl = own.revoke()
    with_key = ("-cert", own.ca, "-keyfile", own.folder / "ca.key")
    openssl("ca", "-batch", "-config", own.folder / "ca.conf", *with_key,
            "-gencrl", "-crlhours", 2, "-out", crl)  # fmt: skip
    files = {"files": own.certificate("b"), "ca": own.ca, "crl": crl}
    host, address = start_host(keys=files)
    asker = start_asker(at(address), files=own.certificate("a"), ca=own.ca)
    block = image.blocks[1]
    assert read_all(asker, block) == image.contents[block.id]
    assert "list of the revoked: expires in 0 days; then every peer is refused" in doctor(host)
    clock.advance(2 * 3600)

    asker.stop()
    asker = start_asker(at(address), files=own.certificate("a"), ca=own.ca)
    assert try_open(asker, block) is None
    eventually(lambda: "CRL has expired" in refused(host))
    own.revoke()
    clock.advance(2)
    assert read_soon(asker, block) == image.contents[block.id]


def refused(host):
    return host.status()["peers"]["server"]["last_refused"] or ""


class Chain:
    """An authority whose certificates are issued by another one below it."""

    def __init__(self, folder):
        self.root = Authority(folder, "root")
        self.below = Authority(folder, "below")
        request = folder / "below.csr"
        openssl("req", "-new", "-key", self.below.folder / "ca.key", "-subj", "/CN=below",
                "-addext", "basicConstraints=critical,CA:TRUE", "-out", request)  # fmt: skip
        openssl("ca", "-batch", "-config", self.root.folder / "ca.conf", "-notext",
                "-cert", self.root.ca, "-keyfile", self.root.folder / "ca.key", "-days", 2,
                "-in", request, "-out", self.below.ca)  # fmt: skip

    def files(self, name, whole):
        certificate, key = self.below.certificate(name)
        if whole:
            chain = certificate.with_suffix(".chain.pem")
            chain.write_text(certificate.read_text() + self.below.ca.read_text())
            return chain, key
        return certificate, key


@pytest.fixture
def chain(tmp_path):
    return Chain(tmp_path)


def test_certificates_of_an_authority_below_another(chain, start_host, start_asker, image):
    keys = {"files": chain.files("b", True), "ca": chain.root.ca}
    _, address = start_host(keys=keys)
    asker = start_asker(at(address), files=chain.files("a", True), ca=chain.root.ca)
    assert read_all(asker, image.blocks[1]) == image.contents[image.blocks[1].id]


def test_a_certificate_without_its_chain(chain, start_host, start_asker, image):
    """The reason is told where it was found, and names what is missing."""
    keys = {"files": chain.files("b", False), "ca": chain.root.ca}
    _, address = start_host(keys=keys)
    asker = start_asker(at(address), files=chain.files("a", True), ca=chain.root.ca)
    assert asker.error(asker.begin_open(image.blocks[0])) == "ENODEV"
    said = eventually(lambda: asker.peer("b")["last_error"])
    assert "unable to get local issuer certificate" in said


def test_no_session_is_resumed(start_host, authority):
    """A resumed session would skip the certificate, which may have expired or been revoked."""
    _, address = start_host()
    own = wire.context(False, authority.certificate("a"), authority.ca)
    host, port = address.rsplit(":", 1)
    session = None
    for _ in range(2):
        plain = socket.create_connection((host, int(port)), wire.PATIENCE)
        with plain, own.wrap_socket(plain, session=session) as tls:
            connection = wire.Connection(tls)
            connection.send(wire.HELLO, 0, wire.hello_body())
            assert connection.until(wire.HELLO)
            assert not tls.session_reused
            assert not tls.session.has_ticket
            session = tls.session


# ---- clocks --------------------------------------------------------------------------------------


def test_a_clock_that_is_wrong_at_boot(start_host, start_asker, image, authority, clock):
    """Certificates are not valid yet by a clock that is behind.  The reason is told, and when the
    clock is set, hosts meet without a restart."""
    begins = datetime.datetime.fromtimestamp(clock.ms / 1000 + 86400, datetime.UTC)
    ends = begins + datetime.timedelta(days=9)
    start, end = f"{begins:%Y%m%d%H%M%SZ}", f"{ends:%Y%m%d%H%M%SZ}"
    _, address = start_host(keys={"files": authority.certificate("b", start=start, end=end)})
    asker = start_asker(at(address))
    assert asker.error(asker.begin_open(image.blocks[0])) == "ENODEV"
    said = eventually(lambda: asker.peer("b")["last_error"])
    assert "certificate is not yet valid" in said
    clock.advance(86400 + 60)
    assert read_soon(asker, image.blocks[1]) == image.contents[image.blocks[1].id]
