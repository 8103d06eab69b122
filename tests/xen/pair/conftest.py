# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures for tests with two hosts on one wire, with soft-RoCE.  Each host has the disk of a
datanode; the near host's vreadd serves its own only in test_kill_matrix.py.

A test ends every program it started on the hosts, and undoes every change to the wire.
"""

import contextlib

import pytest

from tests.xen.conftest import serving, starter
from tests.xen.pair.reading import OTHERS, Replicas
from tools.lab import Wire, deployment
from tools.peers import INSTALLED, Authority, installed_host, peer

FAR, NEAR = "10.99.0.1", "10.99.0.2"
ENDPOINT = f"{FAR}:7867"
FOLDER = INSTALLED
# ms; an emulated host is slow, and slower when the machine is busy.
ANSWER_TIMEOUT = 20000
MIB = 1 << 20


@pytest.fixture(scope="package")
def certificates(tmp_path_factory):
    """{path in dom0: file} of an authority's certificate, and of the certificates and keys of near
    and far."""
    return Authority(tmp_path_factory.mktemp("authority")).installed("near", "far")


@pytest.fixture(scope="package")
def replicas(tmp_path_factory):
    """The replicas on the far host's /dev/vda."""
    return Replicas(tmp_path_factory.mktemp("far"), "DS-far")


@pytest.fixture(scope="package")
def own_replicas(tmp_path_factory):
    """The replicas on the near host's /dev/vda."""
    return Replicas(tmp_path_factory.mktemp("near"), "DS-near", OTHERS)


@pytest.fixture(scope="package")
def _start(_hosts):
    with starter(_hosts) as start:
        yield start


@pytest.fixture(scope="package")
def wire(tmp_path_factory):
    return tmp_path_factory.mktemp("wire") / "wire"


@pytest.fixture(scope="package")
def dom0_files(product_files, certificates, built_program):
    programs = built_program("rdma-pair") | built_program("rdma-pair-failing", "asan")
    return product_files[0] | certificates | programs


@pytest.fixture(scope="package")
def far_host(_start, dom0_files, replicas, wire):
    end = Wire(wire, f"{FAR}/24", listen=True, rdma=True)
    return _start("far", files=dom0_files, disks=[replicas.disk], wire=end)


@pytest.fixture(scope="package")
def near_host(_start, far_host, dom0_files, product_files, own_replicas, wire):
    return _start(
        "near",
        files=dom0_files,
        guest_files=product_files[1],
        disks=[own_replicas.disk],
        wire=Wire(wire, f"{NEAR}/24", rdma=True),
    )


@pytest.fixture(scope="package")
def far(far_host):
    """vreadd on the far host.  It answers over RDMA and over TCP."""
    extra = installed_host("far", listen=ENDPOINT, transports="rdma tcp")
    extra += peer("near", allow_datanodes="dn1")
    datanodes = {"dn1": deployment.Datanode("/dev/vda", data_dirs=("/data",))}
    with serving(far_host, datanodes, extra) as backend:
        yield backend


@pytest.fixture(scope="package")
def asking(near_host, far, replicas):
    """with asking(transports="rdma") as backend: vreadd on the near host.  It has no datanode and
    asks the far host."""

    @contextlib.contextmanager
    def ask(**keys):
        keys = {"answer_timeout": ANSWER_TIMEOUT, **keys}
        extra = installed_host("near", **keys)
        extra += peer("far", address=ENDPOINT, storages=f"dn1/{replicas.storage}")
        backend = deployment.Backend(near_host, {}, extra=extra)
        backend.start()
        try:
            yield backend
        except BaseException:
            backend.kill()
            raise
        assert backend.stop() == 0, backend.log()

    return ask


@pytest.fixture
def losing(near_host):
    """with losing("5%"): the wire loses that share of the packets that the near host sends, or
    another host."""

    @contextlib.contextmanager
    def lose(share, host=near_host):
        host.run(f"tc qdisc add dev eth0 root netem loss {share}").check()
        try:
            yield
        finally:
            host.run("tc qdisc del dev eth0 root").check()

    return lose
