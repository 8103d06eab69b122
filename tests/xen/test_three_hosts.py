# SPDX-License-Identifier: GPL-2.0-or-later
"""Three hosts on one wire: a guest of the first host reads replicas of the other two."""

import hashlib
import os
import signal

import pytest

from tests.xen.conftest import serving
from tests.xen.pair.reading import OTHERS, SOON, Replicas, read, reader, until
from tools.lab import Wire, deployment
from tools.peers import Authority, installed_host, peer

pytestmark = [pytest.mark.xen, pytest.mark.slow]

ADDRESSES = {"asks": "10.99.0.1", "one": "10.99.0.2", "two": "10.99.0.3"}
# No host has this address: a connection to it gets no answer.
NOBODY = "10.99.0.99"
PORT = 7867
SMALL = {"memory_mib": 1536, "dom0_mib": 896}
DATA = {"data_dirs": ("/data",)}


@pytest.fixture(scope="module")
def replicas(tmp_path_factory):
    """{host: its replicas}"""
    make = tmp_path_factory.mktemp
    return {"one": Replicas(make("one"), "DS-one"), "two": Replicas(make("two"), "DS-two", OTHERS)}


@pytest.fixture(scope="module")
def hosts(start_host, tmp_path_factory, product_files, replicas):
    cables = [tmp_path_factory.mktemp("wire") / name for name in ("one", "two")]
    files = Authority(tmp_path_factory.mktemp("authority")).installed(*ADDRESSES)
    files |= product_files[0]
    hub = Wire(cables[0], f"{ADDRESSES['asks']}/24", listen=True, rdma=True, more=(cables[1],))
    found = {
        "asks": start_host("asks", files=files, guest_files=product_files[1], wire=hub, **SMALL)
    }
    for cable in cables:
        name = cable.name
        end = Wire(cable, f"{ADDRESSES[name]}/24", rdma=True)
        found[name] = start_host(name, files=files, disks=[replicas[name].disk], wire=end, **SMALL)
    return found


@pytest.fixture(scope="module")
def answerers(hosts):
    found = {}
    for name in ("one", "two"):
        extra = installed_host(name, listen=f"{ADDRESSES[name]}:{PORT}", transports="rdma tcp")
        extra += peer("asks", allow_datanodes=name)
        datanodes = {name: deployment.Datanode("/dev/vda", **DATA)}
        found[name] = deployment.Backend(hosts[name], datanodes, extra=extra)
        found[name].start()
    return found


@pytest.fixture(scope="module")
def asker(hosts, answerers):
    extra = installed_host("asks", transports="rdma tcp", answer_timeout=30000)
    for name in answerers:
        address = f"{ADDRESSES[name]}:{PORT}"
        extra += peer(name, address=address, storages=f"{name}/DS-{name}")
    extra += peer("idle", address=f"{NOBODY}:{PORT}", storages="idle/DS-idle")
    with serving(hosts["asks"], {}, extra) as backend:
        yield backend


@pytest.fixture(scope="module")
def guest(asker, replicas, tmp_path_factory):
    """A guest of the first host.  Its files /one and /two list the blocks of each host, /blocks.txt
    those of both."""
    both = tmp_path_factory.mktemp("both") / "blocks.txt"
    both.write_text("".join(r.listing.read_text() for r in replicas.values()))
    with deployment.start_client(asker, "reads", both) as guest:
        for name, has in replicas.items():
            guest.put(has.listing, f"/{name}")
        yield guest


def peers_of(backend):
    return {p["name"]: p for p in backend.status()["peers"]["peers"]}


def around_a_read(asker, guest, digest, blocks):
    """Reads the blocks, which must have the digest.  Returns the peers' status before and after."""
    before, found, now = peers_of(asker), read(guest, blocks), peers_of(asker)
    assert found == digest, now
    return before, now


def by_rdma(asker, guest, two):
    """Reads the blocks of `two`.  True if all bytes came by RDMA; READs wait only a second for the
    first queue pair."""
    before, now = around_a_read(asker, guest, two.digest, "/two")
    return now["two"]["direct"] - before["two"]["direct"] == two.length


def connects(peers):
    """Each peer's connections less its failures."""
    return [peers[name]["connects"] - peers[name]["failures"] for name in ("one", "two", "idle")]


def test_only_hosts_with_a_wanted_replica_are_asked(asker, guest, replicas):
    """The first host must connect only to hosts that have a wanted replica, and bytes must come by
    RDMA.  A native test has neither three dom0s on one wire nor RDMA."""
    before, now = around_a_read(asker, guest, replicas["one"].digest, "/one")
    assert connects(now) == [1, 0, 0]
    assert now["one"]["bytes"] - before["one"]["bytes"] == replicas["one"].length
    whole = b"".join(r.content for r in replicas.values())
    before, now = around_a_read(asker, guest, hashlib.sha256(whole).hexdigest(), deployment.BLOCKS)
    assert connects(now) == [1, 1, 0]
    assert now["two"]["bytes"] - before["two"]["bytes"] == replicas["two"].length
    assert now["idle"]["requests"] == now["idle"]["failures"] == 0
    until(lambda: by_rdma(asker, guest, replicas["two"]), lambda: peers_of(asker))


def test_a_host_that_dies_takes_no_other_with_it(asker, guest, hosts, replicas):
    """A whole host is killed: no socket is closed, and no queue pair ends.  Its reader must fail;
    the reader of the other host must go on, on the same connection."""
    readers = {name: reader(guest, f"/{name}") for name in replicas}
    for name, command in readers.items():
        command.wait_output(replicas[name].digest, timeout=SOON)
    before = peers_of(asker)["two"]
    os.kill(hosts["one"].pid, signal.SIGKILL)
    said = set(readers["one"].wait(SOON).stdout.decode().split())
    assert said == {replicas["one"].digest, "-"}
    until(lambda: peers_of(asker)["one"]["failures"], lambda: peers_of(asker))
    assert read(guest, "/one") is None
    read_before = peers_of(asker)["two"]["bytes"]
    until(
        lambda: peers_of(asker)["two"]["bytes"] >= read_before + 2 * replicas["two"].length,
        lambda: peers_of(asker),
    )
    assert readers["two"].running
    readers["two"].kill()
    said = set(readers["two"].wait(SOON).stdout.decode().split())
    assert said == {replicas["two"].digest, "-"}
    two = peers_of(asker)["two"]
    assert two["transport"] == "rdma"
    assert (two["connects"], two["failures"]) == (before["connects"], before["failures"])
