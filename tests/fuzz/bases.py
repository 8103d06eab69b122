# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the images that fuzz targets change, in build/fuzz/bases, with mke2fs, debugfs and sfdisk.
The images are the same in every run.  fuzz.mk calls this program.

A journal full of transactions needs no kernel.  debugfs makes the changes in a copy, and the
differences are written into the journal of the original, as if the owner had committed them and not
yet written them to their places.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.xfs_base import UUID
from tests.support.hdfs_dir import POOL, block_content, meta_bytes
from tests.support.lvm_metadata import Metadata
from tools.images.lvm import Physical, VolumeGroup, make_disk

FOLDER = Path("build/fuzz/bases")
SECTOR = 512
LVM_AREA = 4096
ENVIRONMENT = {**os.environ, "E2FSPROGS_FAKE_TIME": "1700000000", "MKE2FS_CONFIG": "/dev/null"}
CURRENT = f"/data/current/{POOL}/current"
FEATURES = "extent,64bit,flex_bg,metadata_csum,dir_index,filetype,sparse_super,large_file"

VERSION = """\
#Sat Nov 21 07:22:00 UTC 2026
storageID=DS-1
clusterID=CID-1
cTime=0
datanodeUuid=dn-1
storageType=DATA_NODE
layoutVersion=-57
"""


def run(*command, **options):
    done = subprocess.run(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stdout.decode()}")


class Bases:
    def __init__(self, folder, scratch):
        self.folder, self.scratch = Path(folder), Path(scratch)
        self.files = 0

    def debugfs(self, image, *commands):
        script = self.scratch / "script"
        script.write_text("".join(f"{command}\n" for command in commands))
        run("/sbin/debugfs", "-w", "-f", script, image)

    def content(self, data):
        """A file with the data, for debugfs to copy."""
        self.files += 1
        path = self.scratch / f"content{self.files}"
        path.write_bytes(data)
        return path

    def mke2fs(self, name, mib, *options):
        image = self.folder / name
        image.unlink(missing_ok=True)
        run(
            "/sbin/mke2fs", "-q", "-F", "-U", UUID, "-N", "256", "-I", "256",
            "-E", f"hash_seed={UUID},lazy_itable_init=0,nodiscard", *options, image, f"{mib}M",
        )  # fmt: skip
        version = self.content(VERSION.encode())
        folders = ["/data", "/data/current", f"/data/current/{POOL}", CURRENT]
        folders += [f"{CURRENT}/{name}" for name in ("rbw", "finalized")]
        folders += [f"{CURRENT}/finalized/subdir0", f"{CURRENT}/finalized/subdir0/subdir0"]
        self.debugfs(
            image,
            *[f"mkdir {folder}" for folder in folders],
            f"write {version} /data/current/VERSION",
            f"write {version} {CURRENT}/VERSION",
            *self.block(1, 3000),
        )
        return image

    def block(self, number, length, folder="finalized/subdir0/subdir0"):
        data = block_content(number, length)
        return [
            f"write {self.content(data)} {CURRENT}/{folder}/blk_{number}",
            f"write {self.content(meta_bytes(data))} {CURRENT}/{folder}/blk_{number}_1001.meta",
        ]

    def holes(self, name, size, pieces):
        """A file of `pieces` pieces with holes between them."""
        path = self.content(b"")
        with open(path, "r+b") as file:
            for i in range(pieces):
                file.seek(2 * i * size)
                file.write(bytes([i % 255 + 1]) * size)
        return f"write {path} {CURRENT}/finalized/subdir0/subdir0/{name}"

    def commit(self, image, size, opening, transactions):
        """Each transaction: commands, and the blocks that it revokes."""
        home = image.read_bytes()
        after = self.scratch / "after"
        after.write_bytes(home)
        before, script = home, [opening]
        for commands, revoked in transactions:
            self.debugfs(after, *commands)
            now = after.read_bytes()
            blocks = {
                at // size: now[at : at + size]
                for at in range(0, len(now), size)
                if at != 1024 // size * size and now[at : at + size] != before[at : at + size]
            }
            copies = self.content(b"".join(blocks.values()))
            script.append(f"jw -b {','.join(map(str, blocks))} {copies}")
            if revoked:
                script.append(f"jw -r {','.join(map(str, revoked))}")
            before = now
        self.debugfs(image, *script, "jc")

    def live(self, name, block_size, opening, *options, mib=4):
        image = self.mke2fs(name, mib, "-b", str(block_size), *options)
        kept, gone = self.block(2, 5000), self.block(3, 2000)
        folder = f"{CURRENT}/finalized/subdir0/subdir0"
        self.commit(
            image,
            block_size,
            opening,
            [
                (kept, []),
                ([*gone, f"mkdir {CURRENT}/rbw/new"], []),
                ([f"rm {folder}/blk_3", f"rm {folder}/blk_3_1001.meta"], [900, 901]),
                (self.block(4, 700, "rbw"), [34]),
            ],
        )


def ext(bases):
    journal = f"none,has_journal,{FEATURES}"
    image = bases.mke2fs("clean-4k.img", 12, "-b", "4096", "-J", "size=4", "-O", journal)
    bases.debugfs(image, f"symlink /link {'/' * 80}")  # in a block of its own
    image = bases.mke2fs("clean-1k.img", 4, "-b", "1024", "-O", f"none,{FEATURES}")
    bases.debugfs(image, bases.holes("blk_2", 1024, 400), *bases.block(4, 100, "rbw"))
    bases.debugfs(
        image,
        "symlink /link data/..",
        "mkdir /data/many",
        *[f"write {bases.content(b'x')} /data/many/a_file_with_a_long_name_{n}" for n in range(60)],
    )
    # e2fsck decides which directories are indexed.  It exits 1 if it changed anything.
    subprocess.run(["/sbin/e2fsck", "-fyD", image], env=ENVIRONMENT, capture_output=True)
    plain = "none,filetype,sparse_super,large_file"
    image = bases.mke2fs("ext2-1k.img", 4, "-b", "1024", "-O", plain)
    bases.debugfs(image, bases.holes("blk_2", 1024, 300))
    strange = "extent,metadata_csum,meta_bg,inline_data,bigalloc,64bit,filetype"
    bases.mke2fs(
        "strange-1k.img", 8, "-b", "1024", "-C", "4096", "-g", "2048", "-O", f"none,{strange}"
    )
    bases.live("live-v3.img", 1024, "jo -c", "-J", "size=1", "-O", journal)
    bases.live("live-v2.img", 1024, "jo -c -v 2", "-J", "size=1", "-O", journal)
    bases.live("live-plain.img", 1024, "jo", "-J", "size=1", "-O", f"{plain},has_journal")
    bases.live("live-sums.img", 1024, "jo -c -v 1", "-J", "size=1", "-O",
               "none,has_journal,extent,flex_bg,filetype,sparse_super,large_file")  # fmt: skip
    bases.live("live-4k.img", 4096, "jo -c", "-J", "size=4", "-O", journal, mib=12)


def sectors(image, *ranges):
    """Lists the sectors to change, for fuzz_disk.c and fuzz_image.c: (first, count) each, from the
    end if negative."""
    total = image.stat().st_size // SECTOR
    numbers = [first % total + n for first, count in ranges for n in range(count)]
    image.with_suffix(".sectors").write_text("".join(f"{n}\n" for n in numbers))


def number(data, at, size=8):
    return int.from_bytes(data[at : at + size], "big")


def disk(image, label, lines, filesystem, at):
    """A disk of 4 MiB, partitioned by sfdisk; the partition at sector `at` has the file system."""
    image.write_bytes(bytes(4 << 20))
    script = f"label: {label}\n" + (f"label-id: {UUID}\n" if label == "gpt" else "")
    run("/sbin/sfdisk", "-q", "--no-reread", image, input=(script + lines).encode())
    with open(image, "r+b") as file:
        file.seek(at * SECTOR)
        file.write(filesystem)


def lvm(bases, filesystem):
    """A bare physical volume; a logical volume of the file system's size holds the file system."""
    image = make_disk(bases.folder / "lvm.img", 8)
    with VolumeGroup("vg", [Physical(image)]) as group:
        group.create("data", 1)
        group.create("two", 1)
        group.create("between", 1)
        group.extend("two", 1)
        group.write("data", filesystem)
    begin = Metadata(image).place()[0] // SECTOR
    sectors(image, (1, 1), *2 * [(LVM_AREA // SECTOR, 1)], (LVM_AREA // SECTOR + begin, 5))


def disks(bases):
    small = bases.mke2fs("small.img", 1, "-b", "1024", "-O", f"none,{FEATURES}")
    filesystem = small.read_bytes()
    uuids = [f"{UUID[:-1]}{n}" for n in range(3)]
    image = bases.folder / "gpt.img"
    lines = f"start=2048, size=2048, uuid={uuids[0]}\nstart=5000, size=100, uuid={uuids[1]}\n"
    disk(image, "gpt", lines, filesystem, 2048)
    sectors(image, (0, 6), (2048, 8), (-33, 3), (-1, 1))
    image = bases.folder / "mbr.img"
    lines = (
        "label-id: 0x12345678\nstart=63, size=1, type=83\nstart=64, size=7000, type=5\n"
        "start=128, size=2048, type=83\nstart=3000, size=100, type=82\n"
        "start=4000, size=64, type=83\n"
    )
    disk(image, "dos", lines, filesystem, 128)
    tables = [
        n for n in range(64, 4000) if image.read_bytes()[n * SECTOR + 510 :][:2] == b"\x55\xaa"
    ]
    sectors(image, (0, 1), *[(n, 1) for n in tables], (128, 8))
    lvm(bases, small)
    image = bases.folder / "bare.img"
    small.rename(image)
    sectors(image, (0, 16), (-1, 1))


def qcow2_sectors(image):
    """Lists the sectors of header and tables, and the first sectors of compressed clusters."""
    data = image.read_bytes()
    entries, l1 = number(data, 36, 4), number(data, 40)
    tables = [number(data, l1 + 8 * n) & (1 << 56) - 512 for n in range(entries)]
    packed = []
    for table in filter(None, tables):
        first = number(data, table)
        if first >> 62 & 1:
            packed.append((first & (1 << 54) - 1) // SECTOR)
    sectors(
        image, (0, 3), (l1 // SECTOR, 1), *[(table // SECTOR, 2) for table in filter(None, tables)],
        *[(sector, 2) for sector in packed],
    )  # fmt: skip


def images(bases):
    """Disks in the formats of image_open(); fuzz_image.c provides their backing file."""
    content = bases.content(b"".join(bytes([n + 1]) * 4096 for n in range(64)) * 2)
    size = content.stat().st_size
    kinds = {
        "qcow2-v2": ["-o", "compat=0.10,cluster_size=4096"],
        "qcow2-v3": ["-o", "compat=1.1,cluster_size=4096"],
        "qcow2-parts": ["-o", "extended_l2=on,cluster_size=16384"],
        "qcow2-zlib": ["-c", "-o", "cluster_size=4096"],
        "qcow2-zstd": ["-c", "-o", "compression_type=zstd,cluster_size=4096"],
    }
    for name, options in kinds.items():
        image = bases.folder / f"{name}.img"
        run("/usr/bin/qemu-img", "convert", "-f", "raw", "-O", "qcow2", *options, content, image)
        qcow2_sectors(image)
    for kind in ("fixed", "dynamic"):
        image = bases.folder / f"vhd-{kind}.img"
        options = ["-o", f"subformat={kind},force_size=on"]
        run("/usr/bin/qemu-img", "convert", "-f", "raw", "-O", "vpc", *options, content, image)
        sectors(image, (0, 5), (-1, 1))
    image = bases.folder / "qcow2-over.img"
    run("/usr/bin/qemu-img", "create", "-q", "-f", "qcow2", "-o", "cluster_size=4096", image,
        str(size))  # fmt: skip
    run("/usr/bin/qemu-io", "-c", "write -P 7 8192 12288", "-c", "write -z 65536 65536", image)
    backing = ["-b", "/proc/self/fd/900", "-F", "raw"]
    run("/usr/bin/qemu-img", "rebase", "-u", "-f", "qcow2", *backing, image)
    qcow2_sectors(image)


def xfs(bases):
    """Only the kernel can write the log of an XFS, so a program mounts it."""
    kinds = {"xfs-4k.img": [], "xfs-1k.img": ["-b", "size=1024", "-n", "size=4096"]}
    for name, options in kinds.items():
        program = [sys.executable, "-m", "tests.fuzz.xfs_base"]
        run("/usr/bin/unshare", "-m", *program, bases.folder / name, *options)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        bases = Bases(FOLDER, scratch)
        ext(bases)
        disks(bases)
        images(bases)
        xfs(bases)


if __name__ == "__main__":
    main()
