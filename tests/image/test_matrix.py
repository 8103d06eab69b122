# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks as operators have them: layouts x file systems x image formats.  Real tools make each from
a data directory that real HDFS daemons wrote.  Every block is compared with its file.

The table is not the full product.  It has each layout, file system and format with the simplest of
the others, and the pairs that may affect each other.
"""

import shutil
import subprocess
from types import SimpleNamespace

import pytest

from tests.support.disk import blockctl
from tests.support.owner import fsync, needs_root
from tests.support.real_hdfs import blocks_of, real_data_dirs
from tests.support.volumes import MIB, make_ext, partitioned
from tests.support.xfs_owner import make_xfs
from tools.images import Physical, VolumeGroup, file_extents, make_disk
from tools.vreadd import DataDirs

pytestmark = [needs_root, pytest.mark.hadoop]

DIR = "/mnt/disk/dfs"
SIZE = 64  # MiB, of each file system

# ---- file systems: name -> function that makes one from a tree --------------------------------

EXT = {
    "ext4": [],
    "ext4-1k": ["-b", "1024"],
    "ext4-block-maps": ["-O", "^extent,^64bit"],
    "ext4-bigalloc": ["-O", "bigalloc", "-C", "65536"],
    "ext4-inline-data": ["-O", "inline_data", "-I", "512"],
    "ext4-meta-bg": ["-b", "1024", "-O", "meta_bg,^resize_inode"],
    "ext4-no-flex-bg": ["-b", "1024", "-O", "^flex_bg"],
    "ext3": [],
    "ext2": [],
}
XFS = {"xfs": [], "xfs-1k": ["-b", "size=1024"]}
FILE_SYSTEMS = [*EXT, "ext4-fragmented", *XFS]


def mounted(path, mount_point, commands):
    """Runs shell commands with the file system mounted in a private mount namespace.  Commands must
    use "sync -f": a sync of all file systems would write back what other tests hold back."""
    mount_point.mkdir()
    script = f'set -e; mount -o loop "{path}" "{mount_point}"; {commands}; umount "{mount_point}"'
    subprocess.run(["unshare", "--mount", "sh", "-c", script], check=True)


def most_extents(volume, directory):
    """The largest number of extents of any block in the directory."""
    file_system = SimpleNamespace(path=volume, offset=0, block_size=1024)
    most = 0
    for block in blocks_of(directory):
        path = f"{DIR}/{block.path.relative_to(directory)}"
        size = block.path.stat().st_size
        most = max(most, len(file_extents(file_system, path, size)))
    return most


def fragmented(path, tree):
    """A file system whose blocks are fragmented: it was full of small files before."""
    make_ext(path, mib=SIZE, options=["-b", "1024", "-N", "8192"])
    mounted(
        path,
        path.with_suffix(".mnt"),
        f'cd "{path.with_suffix(".mnt")}"; mkdir fill; '
        "head -c 1G /dev/zero | split -a 5 -b 16k - fill/ 2>/dev/null || true; "
        f'sync -f .; rm -f fill/*[acegikmoqsuwy]; sync -f .; cp -a "{tree}/." .; sync -f .; '
        "rm -rf fill; cd /",
    )
    assert most_extents(path, tree / DIR[1:]) > 30
    return path


def file_system(kind, path, tree):
    if kind in EXT:
        return make_ext(path, tree, kind.split("-")[0], SIZE, EXT[kind])
    if kind == "ext4-fragmented":
        return fragmented(path, tree)
    make_xfs(path, XFS[kind], mib=SIZE)
    mounted(path, path.with_suffix(".mnt"), f'cp -a "{tree}/." "{path.with_suffix(".mnt")}"')
    return path


# ---- layouts: name -> function(folder, volume) -> (disks, name of the file system's place) ----


def bare(folder, volume):
    return [volume], "none"


def table(label, name):
    def lay(folder, volume):
        return [partitioned(folder / "disk", label, make_ext(folder / "system"), volume)], name

    return lay


def logical_partition(folder, volume):
    disk = make_disk(folder / "disk", SIZE + 8)
    script = "label: dos\nstart=2048, type=5\nstart=4096, type=83\n"
    subprocess.run(["/sbin/sfdisk", "-q", disk], input=script.encode(), check=True)
    subprocess.run(
        ["dd", f"if={volume}", f"of={disk}", "bs=1M", "seek=2", "conv=notrunc,sparse"],
        check=True, capture_output=True,
    )  # fmt: skip
    return [disk], "mbr:5"


def lvm_linear(folder, volume):
    """A volume of three segments on a partition.  The segments' places are not in order."""
    disk = make_disk(folder / "disk", SIZE + 40)
    subprocess.run(["/sbin/sfdisk", "-q", disk], input=b"label: gpt\nstart=16384\n", check=True)
    with VolumeGroup("vg", [Physical(disk, 8 * MIB, (SIZE + 30) * MIB)]) as group:
        group.create("gap", SIZE - 50)
        group.create("data", 20)
        group.create("next", 2)
        group.extend("data", 30)
        group.run("lvremove", "--yes", "vg/gap")
        group.run("lvextend", "-l", f"+{SIZE - 50}", "vg/data", f"{group.devices[0]}:0-{SIZE - 51}")
        assert len(group.segments("data")) == 3
        group.write("data", volume)
    return [disk], "vg/data"


def lvm_striped(folder, volume):
    disks = [make_disk(folder / f"disk{n}", SIZE // 2 + 8) for n in range(2)]
    with VolumeGroup("vg", [Physical(disk) for disk in disks]) as group:
        group.create("data", SIZE, "-i", 2, "-I", "64k")
        group.write("data", volume)
    return disks, "vg/data"


LAYOUTS = {
    "bare": bare,
    "gpt": table("gpt", "gpt:2"),
    "mbr": table("dos", "mbr:2"),
    "mbr-logical": logical_partition,
    "lvm-linear": lvm_linear,
    "lvm-striped": lvm_striped,
}

# ---- formats: name -> function(raw disk) -> image as vread.conf names it ----------------------


def convert(kind, prefix, *options):
    def make(disk):
        image = disk.with_name(f"{disk.name}.{prefix}")
        command = ["qemu-img", "convert", "-f", "raw", "-O", kind, *options]
        subprocess.run([*command, disk, image], check=True)
        return f"{prefix}:{image}"

    return make


def full(disk):
    """A raw image without holes."""
    image = disk.with_name(f"{disk.name}.full")
    subprocess.run(["cp", "--sparse=never", disk, image], check=True)
    fsync(image)
    return str(image)


def backed(disk):
    """A qcow2 with half of the disk in a backing file."""
    base = disk.with_name(f"{disk.name}.base")
    shutil.copy(disk, base)
    size = disk.stat().st_size
    with open(base, "r+b") as file:
        for start in range(0, size, 2 * MIB):
            file.seek(start)
            file.write(bytes(min(MIB, size - start)))
    image = disk.with_name(f"{disk.name}.qcow2")
    command = ["qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-F", "raw", "-B", base]
    subprocess.run([*command, disk, image], check=True)
    return f"qcow2:{image}"


FORMATS = {
    "sparse": str,
    "full": full,
    "qcow2": convert("qcow2", "qcow2"),
    "qcow2-backed": backed,
    "vhd-fixed": convert("vpc", "vhd", "-o", "subformat=fixed,force_size"),
    "vhd-dynamic": convert("vpc", "vhd", "-o", "subformat=dynamic,force_size"),
}

# ---- the table --------------------------------------------------------------------------------

CASES = [
    *[(layout, "ext4", "sparse") for layout in LAYOUTS],
    *[("gpt", kind, "sparse") for kind in FILE_SYSTEMS if kind != "ext4"],
    *[("gpt", "ext4", kind) for kind in FORMATS if kind != "sparse"],
    ("lvm-linear", "xfs", "qcow2"),
    ("lvm-linear", "ext4-1k", "vhd-dynamic"),
    ("lvm-striped", "xfs", "sparse"),
    ("lvm-striped", "ext4-block-maps", "qcow2-backed"),
    ("lvm-striped", "ext4-bigalloc", "vhd-dynamic"),
    ("bare", "xfs", "vhd-dynamic"),
    ("bare", "ext4-fragmented", "qcow2"),
    ("mbr-logical", "xfs-1k", "vhd-fixed"),
]


@pytest.fixture(scope="module")
def directories():
    return real_data_dirs()


def tree_of(folder, directory):
    shutil.copytree(directory, folder / DIR[1:])
    return folder


def read_all(control, blocks):
    assert blocks
    for block in blocks:
        handle = control.open(block)
        assert handle.finalized and handle.length == block.path.stat().st_size
        assert handle.read_all() == block.content(), block.path
        handle.close()


@pytest.mark.parametrize(("layout", "kind", "form"), CASES, ids=lambda value: value)
def test_every_block(tmp_path, directories, layout, kind, form):
    tree = tree_of(tmp_path / "tree", directories[0])
    volume = file_system(kind, tmp_path / "volume", tree)
    disks, name = LAYOUTS[layout](tmp_path, volume)
    images = [FORMATS[form](disk) for disk in disks]
    blocks = blocks_of(directories[0])
    with blockctl(dn1=DataDirs(images, [DIR])) as control:
        (status,) = control.status()
        (system,) = status["filesystems"]
        assert "missing" not in status
        assert system.get("volume", system.get("partition")) == name
        assert system["type"] == kind.split("-")[0]
        read_all(control, blocks)
        listed = {(entry["pool"], entry["id"], entry["genstamp"]) for entry in control.list()}
        assert listed == {(block.pool, block.id, block.genstamp) for block in blocks}


def test_two_disks_in_different_formats(tmp_path, directories):
    """A datanode has two storages on two disks in different formats.  Both must be served, and one
    if the other is missing."""
    images = []
    for number, (directory, kind) in enumerate(zip(directories, ("ext4", "xfs"), strict=True)):
        tree = tree_of(tmp_path / f"tree{number}", directory)
        images.append(file_system(kind, tmp_path / f"volume{number}", tree))
    specs = [FORMATS["qcow2"](images[0]), str(images[1])]
    with blockctl(dn1=DataDirs(specs, [DIR])) as control:
        (status,) = control.status()
        assert [system["image"] for system in status["filesystems"]] == [0, 1]
        assert "missing" not in status
        for directory in directories:
            read_all(control, blocks_of(directory))
    with blockctl(dn1=DataDirs([tmp_path / "none", specs[1]], [DIR])) as control:
        read_all(control, blocks_of(directories[1]))
        assert f"image {tmp_path}/none: No such file" in control.status()[0]["missing"]
