# SPDX-License-Identifier: GPL-2.0-or-later
"""An emulated host of Debian 13: Xen 4.20, kernel 6.12 and user land of that release in dom0 and in
both guests.  vreadd, vread, libvread and the module are built in a Debian 13 by its own compiler.

Xen's libraries have other versions there (libxenstore 4), and so have xl and xenstored.  No other
test runs vreadd with them: all others run on Debian 12's.
"""

import pytest

from tests.support.hdfs_dir import POOL, DataDirectory
from tests.support.owner import needs_root
from tests.support.waiting import eventually
from tests.support.xen_owner import DataDisk
from tests.support.xen_reconnecting import detach_attach_unload_load
from tests.xen.conftest import mke2fs, serving
from tools.lab import deployment, product
from tools.lab.debian import TRIXIE

# The first run makes the system by debootstrap, which takes ten minutes.
pytestmark = [pytest.mark.xen, pytest.mark.slow, needs_root, pytest.mark.timeout(5400)]

DATA_MIB = 16
LENGTH = 300_000
PATIENCE = 300.0


@pytest.fixture(scope="module")
def data_disk(tmp_path_factory):
    """The datanode domU's disk, /dev/vdb in dom0: an ext4 with an empty data directory."""
    folder = tmp_path_factory.mktemp("debian13")
    directory = DataDirectory(folder / "root" / "data", storage="DS-first")
    return mke2fs(folder / "data.raw", directory.path.parent, DATA_MIB)


@pytest.fixture(scope="module")
def host(start_host, demo, data_disk):
    product.make(TRIXIE)
    return start_host(
        "debian13",
        debian=TRIXIE,
        disks=[demo.image, data_disk],
        files=product.dom0_files("release", TRIXIE),
        guest_files=product.guest_files("release", TRIXIE),
    )


@pytest.fixture(scope="module")
def backend(host, demo):
    datanodes = {
        "dn1": deployment.Datanode("/dev/vda", data_dirs=demo.data_dirs),
        "dn2": deployment.Datanode("/dev/vdb", data_dirs=("/data",)),
    }
    with serving(host, datanodes) as backend:
        yield backend


@pytest.fixture(scope="module")
def datanode(host, backend):
    """A domU that has the data disk mounted for writing all the time."""
    files = TRIXIE.files(["/usr/bin/sync"])
    with host.create_guest(
        "datanode",
        disks=["phy:/dev/vdb,xvdb,w"],
        files={"/usr/local/bin/sync-files": files["/usr/bin/sync"]},
    ) as guest:
        guest.run("mkdir /data && mount -t ext4 /dev/xvdb /data").check()
        yield guest


@pytest.fixture(scope="module")
def client(backend, demo):
    with deployment.start_client(backend, "client", demo.blocks_file) as guest:
        yield guest


def test_the_host_and_its_guests_are_of_debian_13(host, client, datanode):
    """Hypervisor, kernels and C library must be Debian 13's, so that the other tests are about
    them."""
    assert host.text("xl info xen_version").strip().startswith("4.20.")
    assert "libxenstore.so.4" in host.text("cat /proc/$(pidof vreadd)/maps")
    for machine in (host, client, datanode):
        assert machine.text("uname -r").strip() == TRIXIE.kernel.release
        assert machine.text("uname -r").strip().startswith("6.12.")
    compiler = client.text("strings /usr/bin/vread | grep '^GCC: '")
    assert "Debian 14." in compiler, compiler


def test_the_client_reads_every_block(client, backend, demo):
    """The client must get the demo file's bytes, by vRead."""
    before = backend.bytes_read(client)
    assert deployment.file_digest(client) == demo.sha256
    assert backend.bytes_read(client) - before >= demo.size


def test_blocks_that_a_datanode_domu_writes(client, datanode, tmp_path):
    """A block that the datanode domU writes and syncs must be readable by the client, though the
    domU has the disk mounted.  blkback and ext4 are Debian 13's."""
    disk = DataDisk(datanode, "/data", tmp_path, "DS-first")
    for length in (LENGTH, 1):
        block = disk.write(length)
        disk.sync(block)
        spec = f"{POOL}/blk_{block.id}_{block.genstamp}@{block.storage}"
        read = ["vread", "cat", "--timeout", str(deployment.READ_TIMEOUT_MS), spec]
        answer = client.run(read)
        assert answer.stdout == block.content(), answer.stderr


def test_detached_attached_unloaded_and_loaded_again(client, backend, demo):
    """Detach, attach, unload and load must each work, and a read afterwards."""
    detach_attach_unload_load(client, backend, demo.blocks[0].spec())
    assert deployment.file_digest(client) == demo.sha256


def test_a_backend_that_goes_and_comes(client, backend, demo):
    """vreadd is killed and started again; both ends must be Connected, and the bytes right."""
    backend.kill()
    backend.start()
    backend.wait_connected(client)
    assert backend.states(client) == (deployment.CONNECTED, deployment.CONNECTED)
    assert deployment.file_digest(client) == demo.sha256


def test_a_client_that_is_destroyed_leaves_nothing(host, backend, demo):
    """After `xl destroy`, vreadd must forget the device and remove its nodes."""
    guest = deployment.start_client(backend, "short", demo.blocks_file)
    path = backend.backend_path(guest)
    guest.destroy()
    eventually(lambda: backend.device(guest) is None, PATIENCE, "an end of the device")
    eventually(lambda: host.run(["xenstore-exists", path]).rc == 1, PATIENCE, f"an end of {path}")
