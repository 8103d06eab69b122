# SPDX-License-Identifier: GPL-2.0-or-later
"""A network that loses all packets: no FIN and no RST tells a host of the end of a connection.

A wire joins two network namespaces.  Both ends have the same hardware address, so no ARP is needed.
To cut the wire, a test gives one end another address: then each end drops the packets it receives.
"""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.owner import needs_root
from tests.support.peers import at, read_all, read_soon
from tests.support.waiting import eventually

# Namespaces need root.  These tests wait for timers of the kernel, in real time.
pytestmark = [needs_root, pytest.mark.thorough]

HERE, THERE = "192.0.2.1", "192.0.2.2"
ADDRESS = f"{THERE}:7867"
SOON = {"answer-timeout": 1000}
LIMIT = 60  # s for an answer, as start_asker() configures
WHOLE, CUT = "02:00:00:00:00:01", "02:00:00:00:00:02"
TIME_WAIT, LISTENING = "06", "0A"
KEEPALIVE = 30  # s of silence after which a host probes the other host


class Namespace:
    def __init__(self):
        script = "echo 1 >/proc/sys/net/ipv4/tcp_orphan_retries && echo ready && read end"
        self.process = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout.readline() == b"ready\n"
        self.inside = ["nsenter", "--net", "--target", str(self.process.pid)]

    def ip(self, *words):
        subprocess.run([*self.inside, "ip", *map(str, words)], check=True)

    def connections(self):
        lines = Path(f"/proc/{self.process.pid}/net/tcp").read_text().splitlines()[1:]
        return sum(line.split()[3] not in (TIME_WAIT, LISTENING) for line in lines)

    def stop(self):
        self.process.communicate(b"\n", 60)


class Network:
    def __init__(self):
        self.here, self.there = Namespace(), Namespace()
        name = f"vread{os.getpid()}"
        peer = ("type", "veth", "peer", "name", name, "netns", self.there.process.pid)
        self.here.ip("link", "add", "wire", *peer)
        self.there.ip("link", "set", name, "name", "wire")
        for namespace, address in ((self.here, HERE), (self.there, THERE)):
            namespace.ip("link", "set", "wire", "address", WHOLE, "arp", "off")
            namespace.ip("address", "add", f"{address}/24", "dev", "wire")
            namespace.ip("link", "set", "wire", "up")

    def cut(self):
        self.here.ip("link", "set", "wire", "address", CUT)

    def mend(self):
        self.here.ip("link", "set", "wire", "address", WHOLE)

    def kill_unseen(self, dead, namespace):
        """The dead process's kernel tries for a moment to tell the other host, and gives up."""
        self.cut()
        dead.kill()
        eventually(lambda: namespace.connections() == 0)
        self.mend()

    def stop(self):
        for namespace in (self.here, self.there):
            namespace.stop()


@pytest.fixture
def network():
    network = Network()
    yield network
    network.stop()


@pytest.fixture
def host(network, start_host):
    """A host that answers."""
    return start_host(address=ADDRESS, wrapper=network.there.inside)[0]


@pytest.mark.usefixtures("host")
def test_cut_while_reads_are_under_way(network, start_asker, image, clock):
    asker = start_asker(at(ADDRESS), wrapper=network.here.inside)
    block = image.blocks[0]
    handle = asker.open(block)[0]
    network.cut()
    tags = [asker.begin_read(handle, n << 20, 1 << 20) for n in range(8)]
    eventually(lambda: asker.peer("b")["requests"] == 9)  # all were sent
    clock.advance(LIMIT)
    assert [asker.error(tag) for tag in tags] == ["EAGAIN"] * 8
    assert asker.peer("b")["state"] == "backing off"
    assert asker.error(asker.begin_open(block)) == "ENODEV"
    network.mend()
    assert read_soon(asker, block) == image.contents[block.id]


def test_the_other_end_is_gone_and_nobody_told(network, host, start_host, start_asker, image):
    """As after a crash of the whole host: the next use of an idle connection finds it broken."""
    asker = start_asker(at(ADDRESS), wrapper=network.here.inside)
    block = image.blocks[0]
    start = time.monotonic()
    handle = asker.open(block)[0]
    network.kill_unseen(host, network.there)
    start_host(address=ADDRESS, wrapper=network.there.inside)
    assert asker.peer("b")["state"] == "up" or time.monotonic() - start > KEEPALIVE
    assert asker.error(asker.begin_read(handle, 0, 100)) == "EAGAIN"
    assert read_soon(asker, block) == image.contents[block.id]
    assert asker.peer("b")["connects"] <= 3


def answered(host):
    seen = host.status()["peers"]["peers"][0]["answered"]
    return seen["open_handles"], seen["connections"]


def test_who_asked_is_gone_and_nobody_told(network, host, start_asker, image):
    """The connection that is left at the other end hinders nobody."""
    # A shorter answer timeout makes the kernel drop the connection sooner.
    asker = start_asker(at(ADDRESS), keys=SOON, wrapper=network.here.inside)
    block = image.blocks[0]
    start = time.monotonic()
    asker.open(block)
    assert answered(host) == (1, 1)
    network.kill_unseen(asker, network.here)
    assert answered(host) == (1, 1) or time.monotonic() - start > KEEPALIVE
    asker = start_asker(at(ADDRESS), wrapper=network.here.inside)
    assert read_all(asker, block) == image.contents[block.id]
    assert answered(host)[1] == 2 or time.monotonic() - start > KEEPALIVE
