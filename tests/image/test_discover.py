# SPDX-License-Identifier: GPL-2.0-or-later
"""Data directories must be found in images of many kinds by their paths alone.  Where one is not
found, the reason must be reported."""

import json
import os
import random
import shutil
import struct
import subprocess
import uuid
import zlib

import pytest

from tests.support.disk import Disk, blockctl, built
from tests.support.hdfs_dir import DataDirectory
from tests.support.volumes import MIB, make_ext, partitioned
from tools.vreadd import DataDirs

pytestmark = pytest.mark.usefixtures("both_builds")

DIR = "/dfs/data"
VERSION = f"{DIR}/current/VERSION"
NOT_THERE = "no such directory with a file current/VERSION"


def found(image, *paths):
    """(file systems of the image in a layout's form, text of what is missing or None)"""
    with blockctl(dn1=DataDirs(image, paths)) as control:
        (status,) = control.status()
    for system in status["filesystems"]:
        system.pop("state")
    assert status["state"] == ("served" if status["filesystems"] else "waiting")
    assert status["data-dirs"] == list(paths)
    return status["filesystems"], status.get("missing")


def data_dirs(systems):
    """[(partition, path, storage id)] of all data directories."""
    return [
        (system["partition"], entry["path"], entry["storage-id"])
        for system in systems
        for entry in system["data-dirs"]
    ]


def tree_with(folder, path=DIR, **options):
    """(folder to make a file system of, the DataDirectory in it)"""
    return folder, DataDirectory(folder / path.lstrip("/"), **options)


@pytest.mark.thorough
@pytest.mark.parametrize("table", ["gpt", "mbr", "none"])
@pytest.mark.parametrize("count", [1, 3])
def test_same_as_its_maker_says(tmp_path, table, count):
    pools = ("BP-1-127.0.0.1-1", "BP-2-10.0.0.1-1700000000000")
    directories = [
        DataDirectory(tmp_path / f"d{n}", storage=f"DS-{n}", pools=pools[: n + 1])
        for n in range(count)
    ]
    blocks = [directory.add(100 + n, 70_000) for n, directory in enumerate(directories)]
    disk = Disk(tmp_path, directories, table=table)
    paths = [entry.path for entry in disk.image.data_dirs]
    systems, missing = found(disk.path, *paths)
    assert systems == disk.document["filesystems"]
    assert missing is None
    with blockctl(dn1=DataDirs(disk.path, paths)) as control:
        for n, block in enumerate(blocks):
            assert control.open(block, storages=[f"DS-{n}"]).read_all() == block.content()
            assert control.datanodes_of(f"DS-{n}") == ["dn1"]
        assert control.datanodes_of("DS-none") == []
        assert {entry["id"] for entry in control.list()} == {block.id for block in blocks}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["ext2", "ext3", "ext4"])
@pytest.mark.parametrize("label", ["gpt", "dos", None])
def test_ext_2_3_4(tmp_path, kind, label):
    tree, directory = tree_with(tmp_path / "tree")
    block = directory.add(7, 300_000)
    image = make_ext(tmp_path / "fs", tree, kind)
    if label:
        image = partitioned(tmp_path / "disk", label, image)
    (system,), missing = found(image, DIR)
    assert missing is None
    assert system["type"] == kind
    assert system["partition"] == {"gpt": "gpt:1", "dos": "mbr:1", None: "none"}[label]
    with blockctl(dn1=DataDirs(image, [DIR])) as control:
        assert control.open(block).read_all() == block.content()


def test_logical_partitions(tmp_path):
    tree, _ = tree_with(tmp_path / "tree")
    volume = make_ext(tmp_path / "fs", tree).read_bytes()
    image = tmp_path / "disk"
    image.write_bytes(bytes(len(volume) + 8 * MIB))
    script = "label: dos\nstart=2048, type=5\nstart=4096, type=83\n"
    subprocess.run(["/sbin/sfdisk", "-q", image], input=script.encode(), check=True)
    with open(image, "r+b") as disk:
        disk.seek(4096 * 512)
        disk.write(volume)
    systems, missing = found(image, DIR)
    assert (data_dirs(systems), missing) == ([("mbr:5", DIR, "DS-1")], None)


def test_several_file_systems(tmp_path):
    """Each path must be looked for in each file system.  The same path may be in two of them."""
    system, _ = tree_with(tmp_path / "system", "/srv/dfs", storage="DS-system")
    (system / "data1").mkdir()  # a mount point is an empty directory
    volumes = [make_ext(tmp_path / "root", system)]
    for n in (1, 2):
        tree, _ = tree_with(tmp_path / f"tree{n}", "/dn", storage=f"DS-{n}")
        volumes.append(make_ext(tmp_path / f"fs{n}", tree, kind=f"ext{n + 2}"))
    image = partitioned(tmp_path / "disk", "gpt", *volumes)
    systems, missing = found(image, "/dn", "/srv/dfs", "/data1")
    assert data_dirs(systems) == [
        ("gpt:1", "/srv/dfs", "DS-system"),
        ("gpt:2", "/dn", "DS-1"),
        ("gpt:3", "/dn", "DS-2"),
    ]
    assert missing == (
        f"image {image}: no data directory /data1: partition gpt:1 (ext4): {NOT_THERE}; "
        f"partition gpt:2 (ext3): {NOT_THERE}; partition gpt:3 (ext4): {NOT_THERE}. Check the "
        "path inside the file system; if the datanode has not formatted the directory yet, "
        "nothing needs to be done"
    )


def test_root_of_a_file_system(tmp_path):
    directory = DataDirectory(tmp_path / "tree")
    block = directory.add(7, 1000)
    image = make_ext(tmp_path / "fs", tmp_path / "tree")
    systems, missing = found(image, "/")
    assert (data_dirs(systems), missing) == ([("none", "/", "DS-1")], None)
    with blockctl(dn1=DataDirs(image, ["/"])) as control:
        assert control.open(block).read_all() == block.content()


@pytest.mark.parametrize(("inside", "mount"), [("/dfs/dn", "/data/1"), ("/dn", "/data")])
def test_path_as_the_guest_sees_it(tmp_path, inside, mount):
    """The path has the mount point in front.  No guess: what to write must be said."""
    tree, _ = tree_with(tmp_path / "tree", inside)
    image = make_ext(tmp_path / "fs", tree)
    assert why_not(image, mount + inside) == (
        f"image {image}: no data directory {mount + inside}: the whole disk (ext4): there is no "
        f"{mount + inside}, but a data directory {inside}; if the guest mounts this file system "
        f"on {mount}, name it {inside} here"
    )


# ---- what is not a data directory -------------------------------------------------------------


def why_not(image, path=DIR):
    systems, missing = found(image, path)
    assert systems == []
    assert "\n" not in missing
    return missing


def make_swap(path):
    path.write_bytes(bytes(4 * MIB))
    subprocess.run(["/sbin/mkswap", "-q", path], check=True, capture_output=True)
    return path


def test_other_volumes(tmp_path):
    empty = tmp_path / "empty"
    empty.write_bytes(bytes(4 * MIB))
    volumes = [make_swap(tmp_path / "swap"), empty, make_ext(tmp_path / "fs")]
    image = partitioned(tmp_path / "disk", "gpt", *volumes)
    assert why_not(image).startswith(
        f"image {image}: no data directory {DIR}: partition gpt:1 has a type that vRead does "
        f"not read: swap; partition gpt:2 is empty; partition gpt:3 (ext4): {NOT_THERE}. "
    )
    assert "the whole disk has a type that vRead does not read: swap" in why_not(tmp_path / "swap")
    assert f"the whole disk (ext4): {NOT_THERE}" in why_not(tmp_path / "fs")


def make_btrfs(path):
    path.write_bytes(bytes(128 * MIB))
    subprocess.run(["/sbin/mkfs.btrfs", "-q", path], check=True, capture_output=True)
    return path


def make_zfs(path):
    """The labels of a pool's member are known by their uberblocks."""
    uberblock = (0x00BAB10C).to_bytes(8, "little").ljust(1024, b"\0")
    path.write_bytes((bytes(128 << 10) + 128 * uberblock).ljust(64 * MIB, b"\0"))
    return path


def make_luks(path):
    path.write_bytes(bytes(20 * MIB))
    words = ["/sbin/cryptsetup", "luksFormat", "-q", "--pbkdf-force-iterations", "1000"]
    words += ["--pbkdf", "pbkdf2", "--key-file", "-", str(path)]
    subprocess.run(words, input=b"secret", check=True, capture_output=True)
    return path


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (make_btrfs, "is btrfs, which vRead does not read: keep the data directories on ext4"),
        (make_zfs, "is part of a ZFS pool, which vRead does not read: keep the data"),
        (make_luks, "is encrypted by its guest (LUKS), which alone has the key: encrypt below"),
    ],
    ids=["btrfs", "zfs", "luks"],
)
def test_types_that_are_not_read(tmp_path, make, says):
    alone = make(tmp_path / "volume")
    image = partitioned(tmp_path / "disk", "gpt", alone)
    assert f"no data directory {DIR}: partition gpt:1 {says}" in why_not(image)
    assert f"no data directory {DIR}: the whole disk {says}" in why_not(alone)


@pytest.mark.parametrize("label", ["gpt", "dos"])
def test_empty_table(tmp_path, label):
    assert "its partition table is empty" in why_not(partitioned(tmp_path / "disk", label))


def test_images_that_are_none(tmp_path):
    image = tmp_path / "disk"
    assert "No such file or directory; check the path" in why_not(image)
    image.touch()
    assert "is empty (0 bytes)" in why_not(image)
    image.write_bytes(bytes(MIB))
    assert "neither a partition table nor a file system" in why_not(image)
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", image, "8M"], check=True)
    assert "looks like a qcow2 file but is configured as raw" in why_not(image)
    make_ext(image)
    os.truncate(image, 10 * MIB)
    assert "is truncated" in why_not(image)
    image.unlink()
    image.mkdir()
    assert "is a directory" in why_not(image)


def test_damaged_superblock(tmp_path):
    """One partition's superblock is damaged.  It must be reported, and directories on other
    partitions must be found."""
    tree, _ = tree_with(tmp_path / "tree")
    bad = make_ext(tmp_path / "bad", options=("-O", "^metadata_csum"))
    with open(bad, "r+b") as volume:
        volume.seek(1024 + 24)  # s_log_block_size
        volume.write(b"\x30")
    image = partitioned(tmp_path / "disk", "gpt", bad, make_ext(tmp_path / "good", tree))
    systems, missing = found(image, DIR, "/x")
    assert data_dirs(systems) == [("gpt:2", DIR, "DS-1")]
    assert "partition gpt:1 cannot be read: its superblock names a block size" in missing


VERSIONS = {
    "storageType=NAME_NODE\n": "is not a datanode's (storageType is not DATA_NODE)",
    "": "is not a datanode's (storageType is not DATA_NODE)",
    "storageType=DATA_NODE\nclusterID=C\n": "storageID is missing or empty",
    "storageType=DATA_NODE\nstorageID=DS 1\n": "storageID is 'DS 1': expected DS-UUID",
    "storageType=DATA_NODE\nstorageID=\n": "storageID is missing or empty",
    f"storageType=DATA_NODE\nstorageID={'x' * 128}\n": "of at most 127 bytes",
    "storageType=DATA_NODE\nstorageID=\u00e9\n": "storageID is '????': expected",
    "#" * (64 << 10) + "\n": "is too long: 65537 bytes",
    "\0" * 1000 + "x": "is not a datanode's (storageType is not DATA_NODE)",
}


@pytest.mark.parametrize("number", range(len(VERSIONS)))
def test_bad_version(tmp_path, number):
    text, said = list(VERSIONS.items())[number]
    tree, directory = tree_with(tmp_path / "tree")
    (directory.path / "current" / "VERSION").write_text(text)
    assert said in why_not(make_ext(tmp_path / "fs", tree))


def replace_version(tmp_path, make, *options):
    """Makes a file system in which make(path, content) has replaced VERSION."""
    tree, directory = tree_with(tmp_path / "tree")
    version = directory.path / "current" / "VERSION"
    good = version.read_bytes()
    version.unlink()
    make(version, good)
    return make_ext(tmp_path / "fs", tree, options=options)


def test_version_that_is_no_plain_file(tmp_path):
    def link(path, good):
        path.with_name("V").write_bytes(good)
        path.symlink_to("V")

    def sparse(path, _):
        with open(path, "wb") as file:
            file.truncate(5000)

    def huge(path, _):
        with open(path, "wb") as file:
            file.truncate(1 << 40)

    for make, said in {
        link: NOT_THERE,
        lambda path, _: path.mkdir(): NOT_THERE,
        lambda path, _: os.mkfifo(path): NOT_THERE,
        sparse: "not in written blocks of its own",
        huge: "too long",
    }.items():
        assert said in why_not(replace_version(tmp_path, make)), make
        shutil.rmtree(tmp_path / "tree")


def test_version_in_its_inode(tmp_path):
    """A short VERSION is stored in its inode, with the feature inline_data.  It must be read."""
    short = b"storageType=DATA_NODE\nstorageID=a\ndatanodeUuid=b\nclusterID=c\n"
    image = replace_version(
        tmp_path, lambda path, _: path.write_bytes(short), "-O", "inline_data", "-I", "512"
    )
    systems, missing = found(image, DIR)
    assert (data_dirs(systems), missing) == ([("none", DIR, "a")], None)


def test_paths_through_files(tmp_path):
    tree, directory = tree_with(tmp_path / "tree")
    (tree / "file").write_text("x")
    image = make_ext(tmp_path / "fs", tree)
    for path in ("/file", "/file/data", "/dfs", DIR + "/current", "/" + "x" * 300):
        assert f"no data directory {path}: the whole disk (ext4): {NOT_THERE}" in why_not(
            image, path
        )


def test_pools_that_are_none(tmp_path):
    pools = [f"BP-{n}" for n in range(5)]
    tree, directory = tree_with(tmp_path / "tree", pools=pools)
    current = directory.path / "current"
    (current / "BP-no-version").mkdir()
    (current / "BP-file").write_text("x")
    (current / "BP-with blank").mkdir()
    (current / "bp-9").mkdir()
    ((system,), _) = found(make_ext(tmp_path / "fs", tree), DIR)
    assert system["data-dirs"][0]["pools"] == pools


def test_many_pools(tmp_path):
    """A directory with 200 pools: status shows 64, but blocks of all must be served."""
    pools = [f"BP-{n:03}" for n in range(200)]
    tree, directory = tree_with(tmp_path / "tree", pools=pools)
    blocks = [directory.add(n, 100, pool=pool) for n, pool in enumerate(pools)]
    image = make_ext(tmp_path / "fs", tree, options=("-N", "4096"))
    ((system,), _) = found(image, DIR)
    shown = system["data-dirs"][0]["pools"]
    assert len(shown) == 64 and set(shown) <= set(pools)
    with blockctl(dn1=DataDirs(image, [DIR])) as control:
        for block in blocks:
            handle = control.open(block)
            assert handle.read_all() == block.content()
            handle.close()


def test_as_many_directories_as_may_be_named(tmp_path):
    paths = [f"/d{n}" for n in range(64)]
    for n, path in enumerate(paths):
        DataDirectory(tmp_path / "tree" / path[1:], storage=f"DS-{n}", pools=())
    systems, missing = found(make_ext(tmp_path / "fs", tmp_path / "tree"), *paths)
    assert missing is None
    expected = [("none", path, f"DS-{n}") for n, path in enumerate(paths)]
    assert data_dirs(systems) == expected


def gpt(path, places, volume):
    """Makes a disk with a GPT of partitions at these places: (first sector, number of sectors).
    `volume` is written to the start of each."""
    sectors = max(first + count for first, count in places) + 2048
    entries = b"".join(
        uuid.UUID("0fc63daf-8483-4772-8e79-3d69d8477de4").bytes_le
        + uuid.UUID(int=n + 1).bytes_le
        + struct.pack("<QQQ72s", first, first + count - 1, 0, b"")
        for n, (first, count) in enumerate(places)
    ).ljust(128 * 128, b"\0")

    def header(checksum):
        return struct.pack(
            "<8sIIIIQQQQ16sQIII", b"EFI PART", 1 << 16, 92, checksum, 0, 1, sectors - 1, 34,
            sectors - 34, uuid.UUID(int=99).bytes_le, 2, 128, 128, zlib.crc32(entries),
        )  # fmt: skip

    mbr = bytearray(512)
    mbr[446:462] = struct.pack("<8BII", 0, 0, 2, 0, 0xEE, 255, 255, 255, 1, sectors - 1)
    mbr[510:] = b"\x55\xaa"
    with open(path, "wb") as disk:
        disk.truncate(sectors * 512)
        disk.write(mbr + header(zlib.crc32(header(0))).ljust(512, b"\0") + entries)
        for first in sorted({first for first, _ in places}):
            disk.seek(first * 512)
            disk.write(volume)


@pytest.fixture
def small(tmp_path):
    """(a block, a small file system with its data directory)"""
    tree, directory = tree_with(tmp_path / "tree")
    block = directory.add(7, 1000)
    return block, make_ext(tmp_path / "fs", tree, mib=1).read_bytes()


def test_more_partitions_than_are_looked_into(tmp_path, small):
    block, volume = small
    image = tmp_path / "disk"
    sectors = len(volume) // 512
    gpt(image, [(2048 + n * sectors, sectors) for n in range(128)], volume)
    systems, missing = found(image, DIR)
    assert [system["partition"] for system in systems] == [f"gpt:{n + 1}" for n in range(64)]
    assert missing is None
    with blockctl(dn1=DataDirs(image, [DIR])) as control:
        assert control.open(block).read_all() == block.content()


def test_partitions_that_share_bytes(tmp_path, small):
    """Partitions over the same sectors must be refused, others on the disk must be served."""
    block, volume = small
    image = tmp_path / "disk"
    sectors = len(volume) // 512
    last = 2048 + 4 * sectors
    gpt(image, [(2048, sectors), (2048, 2 * sectors), (last, sectors)], volume)
    systems, missing = found(image, DIR, "/none")
    assert [system["partition"] for system in systems] == ["gpt:3"]
    for one, other in ((1, 2), (2, 1)):
        said = f"partition gpt:{one} cannot be read: it shares bytes with partition gpt:{other}"
        assert said in missing.replace(f" of {image}", "")
    with blockctl(dn1=DataDirs(image, [DIR])) as control:
        assert control.open(block).read_all() == block.content()


@pytest.mark.thorough
def test_damage_anywhere(tmp_path):
    """Random damage to metadata.  Each look must end, with file systems or with a reason; after the
    repair the directory must be found."""
    tree, directory = tree_with(tmp_path / "tree")
    directory.add(7, 1000)
    pristine = make_ext(tmp_path / "fs", tree, mib=2, options=("-b", "1024")).read_bytes()
    chance = random.Random(20261121)
    used = [at for at in range(0, len(pristine), 1024) if any(pristine[at : at + 1024])]
    image = tmp_path / "disk"
    image.write_bytes(pristine)
    with blockctl(dn1=DataDirs(image, [DIR])) as control:
        for _ in range(150):
            spoilt = bytearray(pristine)
            for _ in range(chance.choice([1, 3, 30])):
                at = chance.choice(used) + chance.randrange(1024)
                spoilt[at] = chance.randrange(256)
            image.write_bytes(spoilt)
            control.look()
            (status,) = control.status()
            assert status["filesystems"] or status["missing"]
        image.write_bytes(pristine)
        control.look()
        (status,) = control.status()
        assert data_dirs(status["filesystems"]) == [("none", DIR, "DS-1")]


@pytest.fixture(scope="module")
def provisioned(tmp_path_factory):
    """(images, paths, layout): two images of three file systems each, their data directories, and
    vread-provision's layout of them.  The appliance starts once for both builds."""
    pools = ("BP-1-127.0.0.1-1", "BP-2-10.0.0.1-1700000000000")
    places = {"gpt": ["/dfs/1", "/dfs/2", "/srv/dn"], "dos": ["/data/1", "/data/2", "/srv/data"]}
    images, layout = [], tmp_path_factory.mktemp("layout") / "layout.json"
    for label, paths in places.items():
        folder = tmp_path_factory.mktemp(label)
        volumes = [make_swap(folder / "swap")]
        for n, kind in enumerate(("ext4", "ext3", "ext2")):
            options = {"storage": f"DS-{label}-{n}", "pools": pools[: n + 1]}
            tree, _ = tree_with(folder / f"{n}", paths[n], **options)
            volumes.append(make_ext(folder / kind, tree, kind))
        images.append(partitioned(folder / "disk", label, *volumes))
    command = [built("vread-provision"), "--quiet", "--output", layout, *images]
    subprocess.run(command, check=True, timeout=900)
    return images, [*places["gpt"], *places["dos"]], json.loads(layout.read_text())


@pytest.mark.appliance
@pytest.mark.timeout(3600)
@pytest.mark.slow
def test_same_as_libguestfs_says(provisioned):
    """vreadd's own look must find the same layout as vread-provision.  The test takes more than a
    minute: libguestfs boots a kernel in an emulator, and mounts six file systems there."""
    images, paths, layout = provisioned
    systems, missing = found(images, *paths)
    assert missing is None and len(systems) == 6
    assert systems == layout["filesystems"]
