# SPDX-License-Identifier: GPL-2.0-or-later
"""vreadd in dom0 must read what a datanode domU has written and synced at once, for each kind of
disk: a block device under blkback, a file behind a loop device, and a file behind a loop device
with O_DIRECT.

The page cache of a device under blkback is stale, as the tests show.  A vreadd that is told to read
through it reads past it all the same.
"""

import pytest

from tests.support.hdfs_dir import POOL, DataDirectory
from tests.support.waiting import eventually
from tests.support.xen_owner import unpack
from tools.lab.deployment import Backend, Datanode

pytestmark = pytest.mark.xen

FIRST_ID = 1_000_000  # base of the first disk's block ids
LENGTH = 300_000
PATIENCE = "60000"  # ms
NAMES = ("device", "file", "direct")
FOLDERS = {"device": "/mnt/xvdb", "file": "/mnt/xvdc", "direct": "/mnt/xvdd"}
NOBODY = "no domain can write to it"
SOON = 150.0


@pytest.fixture(scope="module")
def dom0(backend):
    return backend.host


@pytest.fixture(scope="module")
def loop(dom0, owned_images):
    """A loop device that accesses its file with O_DIRECT."""
    command = ["losetup", "--direct-io=on", "--find", "--show", owned_images["direct"]]
    device = dom0.text(command).strip()
    yield device
    dom0.run(["losetup", "--detach", device]).check()


@pytest.fixture(scope="module")
def before(backend):
    """modes() while no domain has the images."""
    return modes(backend)


@pytest.fixture(scope="module")
def owner(dom0, loop, before, owned_images, until_module_ends):
    """The datanode domU with all three disks mounted."""
    disks = [owned_images["device"], owned_images["file"], loop]
    disks = [f"phy:{path},{name},w" for path, name in zip(disks, ["xvdb", "xvdc", "xvdd"])]
    guest = until_module_ends(dom0.create_guest("coherence", disks=disks))
    for folder in FOLDERS.values():
        device = folder.replace("/mnt", "/dev")
        guest.run(f"mkdir -p {folder} && mount -t ext4 {device} {folder}").check()
    yield guest
    guest.run(f"umount {' '.join(FOLDERS.values())}").check()


@pytest.fixture(scope="module")
def through_the_cache(dom0, owned_images, owner):
    """{datanode: (vreadd, device)}.  This vreadd is told to read block devices through the page
    cache, namely the device, and the hotplug script's loop device of the file."""
    made = ["losetup", "-n", "-O", "NAME", "-j", owned_images["file"]]
    images = {"device": owned_images["device"], "file": dom0.text(made).strip()}
    datanodes = {
        name: Datanode(path, data_dirs=("/data",), mode="buffered") for name, path in images.items()
    }
    backend = Backend(dom0, datanodes, name="-stale", xen=False)
    backend.start()
    yield {name: (backend, path) for name, path in images.items()}
    assert backend.stop() == 0, backend.log()


def modes(backend):
    """(mode, because, owner) of the images."""
    images = {d["datanode"]: d["images"][0] for d in backend.status()["datanodes"]}
    return {n: tuple(images[n].get(k) for k in ("mode", "because", "owner")) for n in NAMES}


class Writer:
    """Writes and deletes blocks in the guest, on all three disks alike.  Only ids and contents
    differ."""

    def __init__(self, guest, folder):
        self._guest, self._folder = guest, folder
        self._blocks = {name: [] for name in NAMES}

    def write(self, number):
        """Writes a new block to each disk.  The blocks are durable on return."""
        for at, name in enumerate(NAMES):
            directory = DataDirectory(self._folder / f"{name}{number}", storage=f"DS-{name}")
            block = directory.add(FIRST_ID * (at + 1) + number, LENGTH)
            self._blocks[name].append(block)
            files = (block.data, block.meta)
            unpack(self._guest, f"{FOLDERS[name]}/data", directory.path, files)
        self._guest.run("sync").check()

    def delete_oldest(self):
        for name in NAMES:
            block = self._blocks[name].pop(0)
            at = f"{FOLDERS[name]}/data/{block.path}"
            self._guest.run(f"rm {at} {at}_{block.genstamp}.meta").check()
        self._guest.run("sync").check()

    def blocks(self, name):
        return self._blocks[name]


@pytest.fixture(scope="module")
def writer(owner, tmp_path_factory):
    return Writer(owner, tmp_path_factory.mktemp("blocks"))


def cat(backend, block):
    spec = f"{POOL}/blk_{block.id}_{block.genstamp}@{block.storage}"
    command = ["vread", "cat", "--endpoint", backend.endpoint, "--timeout", PATIENCE, spec]
    return backend.host.run(command)


def is_stale(dom0, device):
    """True if the page cache of the device differs from the device."""
    command = f"dd if={device} bs=1M iflag=direct status=none | cmp -s - {device}"
    return dom0.run(command).rc == 1


def test_mode_is_what_is_attached(backend, before, owner):
    """vreadd must choose the mode of each image by how its disk is attached.  Only blkback and
    xenstore tell that."""
    assert before == {
        "device": ("direct", NOBODY, None),
        "file": ("buffered", NOBODY, None),
        "direct": ("buffered", NOBODY, None),
    }
    by = f"of domain {owner.domid}, written by blkback"
    expected = {
        "device": ("direct", f"vbd 51728 {by}", owner.domid),
        "file": ("buffered", f"vbd 51744 {by} through a loop device", owner.domid),
        "direct": ("direct", f"vbd 51760 {by} through a loop device with O_DIRECT", owner.domid),
    }
    eventually(lambda: modes(backend) == expected, SOON, f"{expected}")


@pytest.mark.parametrize("number", [1, 2])
def test_what_was_synced_is_read_at_once(dom0, backend, writer, through_the_cache, number):
    """vreadd must read new blocks at once, whatever image-mode says.  blkback writes past dom0's
    page cache, which native loop mounts do not."""
    # Puts all of each device into the page cache before anything is written.
    for _, device in through_the_cache.values():
        dom0.run(f"cat {device} >/dev/null").check()
    if number > 1:
        writer.delete_oldest()
    writer.write(number)
    for name in NAMES:
        for block in writer.blocks(name):
            answer = cat(backend, block)
            assert answer.stdout == block.content(), (name, block, answer.stderr)
    for name, (told_wrong, device) in through_the_cache.items():
        block = writer.blocks(name)[-1]
        assert cat(told_wrong, block).stdout == block.content(), name
        assert is_stale(dom0, device), name


def test_what_was_deleted_is_not_read(backend, writer):
    """vreadd must not find deleted blocks.  The deletion is in a journal that blkback wrote."""
    gone = {name: writer.blocks(name)[0] for name in NAMES}
    writer.delete_oldest()
    for name, block in gone.items():
        answer = cat(backend, block)
        assert (answer.rc, answer.stdout) == (1, b""), name
        assert b"no such block" in answer.stderr
