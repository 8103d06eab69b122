# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports about images; README.md lists them."""

import json
import os
import shutil
import subprocess

import pytest

from tests.support.disk import blockctl, built
from tests.support.formats import CONVERT, ImageControl, ImageError, qemu_io, run
from tests.support.hdfs_dir import DataDirectory, meta_bytes
from tests.support.live import content, refused
from tests.support.owner import LiveBlock, Owner, needs_root
from tests.support.qemu_owner import QemuOwner
from tests.support.vhd import FOOTER_SUM, SECTOR, child, mac_url, summed, windows_path
from tools.vreadd import DataDirs

CLUSTER = 4096
AGAIN = ("EAGAIN", "EIO")  # EIO: the metadata that is looked up lies below, too


def qcow2_over(upper, base):
    disk = upper.with_suffix(".qcow2")
    run(*CONVERT, "-f", "raw", "-O", "qcow2", "-o", f"cluster_size={CLUSTER}", upper, disk)
    run("qemu-img", "rebase", "-u", "-F", "raw", "-b", base.name, disk)
    return f"qcow2:{disk}", disk, base


def vhd_over(upper, base):
    parent = base.with_suffix(".vhd")
    options = "subformat=fixed,force_size=on"
    run(*CONVERT, "-f", "raw", "-O", "vpc", "-o", options, base, parent)
    data = upper.read_bytes()
    sectors = {at // SECTOR: data[at : at + SECTOR] for at in range(0, len(data), SECTOR)}
    written = {number: sector for number, sector in sectors.items() if any(sector)}
    disk = child(upper.with_suffix(".vhd"), parent, written)
    return f"vhd:{disk}", disk, parent


@pytest.fixture(params=[qcow2_over, vhd_over], ids=["qcow2", "vhd"])
def split(tmp_path, request):
    """A disk whose metadata are in the upper file, and a block of 100,000 bytes only in the lower
    one.  Returns its spec, both files, the block, and the places of its data and .meta."""
    with Owner(tmp_path, (["-b", str(CLUSTER)], "")) as owner:
        block = owner.write(1, content(1, 100_000))
        owner.sync()
        data, sums = owner.places(block), owner.places(block, owner.meta(block))
    upper = owner.crash("upper.raw")
    with open(upper, "r+b") as file:
        for place in data | sums:
            file.seek(place * CLUSTER)
            file.write(bytes(CLUSTER))
    return *request.param(upper, owner.path), block, sorted(data), sorted(sums)


@needs_root
def test_domain_goes_on_in_the_backing_file(split):
    """As after blockcommit --pivot: the overlay stays as it was, and another block gets the place
    of a deleted one."""
    spec, _, lower, block, data, sums = split
    other = content(2, block.length)
    with blockctl(dn1=DataDirs(spec, ["/data"])) as blocks:
        handle = blocks.open(block)
        assert handle.read(0, 100) == block.content[:100]
        with open(lower, "r+b") as base:
            for places, written in ((data, other), (sums, meta_bytes(other))):
                for n, place in enumerate(places):
                    base.seek(place * CLUSTER)
                    base.write(written[n * CLUSTER : (n + 1) * CLUSTER])
        refused(handle.read_all, *AGAIN)
        refused(lambda: blocks.open(block), *AGAIN)
        blocks.look()
        blocks.look()  # what is gone is believed when seen twice
        assert "name the file that the domain uses" in blocks.status()[0]["missing"]


@needs_root
def test_base_that_was_copied_after_its_overlay(split):
    """The base is the newer file until the domain writes to its disk."""
    spec, disk, lower, block, *_ = split
    os.utime(lower)
    with blockctl(dn1=DataDirs(spec, ["/data"])) as blocks:
        assert "was written later than the disk" in blocks.status()[0]["missing"]
        os.utime(disk)
        blocks.look()
        assert blocks.open(block).read_all() == block.content


def make_disk(path, first=1):
    """Writes a raw image with a data directory.  Returns the blocks."""
    source = path.with_suffix(".source")
    directory = DataDirectory(source / "data")
    made = [directory.add(first + n, 40_000 * n + 1) for n in range(4)]
    command = ["/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-d", source, path, "24M"]
    subprocess.run(command, check=True, capture_output=True)
    return [LiveBlock(block.id, block.content()) for block in made]


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "disk.raw"
    return path, make_disk(path)


def check(spec, blocks):
    with blockctl(dn1=DataDirs(spec, ["/data"])) as control:
        for block in blocks:
            assert control.open(block).read_all() == block.content


def why_not(spec):
    with blockctl(dn1=DataDirs(spec, ["/data"])) as control:
        return control.status()[0]["missing"]


@pytest.mark.parametrize("kind", ["raw", "base"])
def test_size_is_no_multiple_of_a_sector(raw, tmp_path, kind):
    """QEMU rounds the size up: the last sector of the guest's disk ends in zeros."""
    path, blocks = raw
    os.truncate(path, path.stat().st_size - 100)
    spec = path
    if kind == "base":
        spec = tmp_path / "disk.qcow2"
        run("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", path, spec)
        spec = f"qcow2:{spec}"
    with ImageControl(spec) as image:
        assert image.size == 24 << 20
        assert image.read(image.size - 4096, 4096) == path.read_bytes()[-3996:] + bytes(100)
    check(spec, blocks)


def test_all_zero_clusters(tmp_path):
    path = tmp_path / "disk.qcow2"
    run("qemu-img", "create", "-q", "-f", "qcow2", path, "1G")
    qemu_io(path, "qcow2", "write -zu 0 1G", "write -P 7 512M 1M", "write -z 512M 64k")
    with ImageControl(f"qcow2:{path}") as image:
        for offset in (0, (1 << 29) - 4096, (1 << 30) - 32768):
            assert image.read(offset, 32768) == bytes(32768)[: (1 << 30) - offset]
        assert image.read((1 << 29) + 65536, 4096) == bytes([7]) * 4096
        assert image.read((1 << 29) + 65536 - 4096, 4096) == bytes(4096)


def test_owner_ended_with_lazy_reference_counts(raw, tmp_path):
    """The dirty bit is set, and reference counts are wrong."""
    path, blocks = raw
    disk = tmp_path / "disk.qcow2"
    options = ("-o", "lazy_refcounts=on,cluster_size=4k")
    run(*CONVERT, "-f", "raw", "-O", "qcow2", *options, path, disk)
    words = ["-c", "write -P 9 20M 2M", "-c", "flush", "-c", "abort"]
    subprocess.run(["qemu-io", "-f", "qcow2", *words, disk], capture_output=True)
    assert disk.read_bytes()[79] & 1
    check(f"qcow2:{disk}", blocks)


def test_name_of_the_base_behind_the_first_cluster(tmp_path):
    """What lies there may be the guest's own bytes."""
    disk = tmp_path / "disk.qcow2"
    (tmp_path / "base.raw").write_bytes(bytes(1 << 20))
    options = ("-o", "cluster_size=512")
    run("qemu-img", "create", "-q", "-f", "qcow2", *options, "-F", "raw", "-b", "base.raw", disk)
    with open(disk, "r+b") as file:
        file.seek(8)
        file.write((1024).to_bytes(8, "big"))
        file.seek(1024)
        file.write(b"base.raw")
    with pytest.raises(ImageError) as caught:
        ImageControl(f"qcow2:{disk}")
    assert "the name of its backing file is damaged" in caught.value.text


def test_parent_that_moved(raw, tmp_path):
    """Child and parent were moved together.  The child names the parent by an absolute path, and
    then by a relative one."""
    path, blocks = raw
    parent = tmp_path / "parent.vhd"
    run(*CONVERT, "-f", "raw", "-O", "vpc", "-o", "force_size=on", path, parent)
    gone = [windows_path("C:\\disks\\parent.vhd"), mac_url("/somewhere/else/parent.vhd")]
    locators = [*gone, windows_path(".\\parent.vhd")]
    check(f"vhd:{child(tmp_path / 'child.vhd', parent, {}, locators)}", blocks)
    nowhere = child(tmp_path / "other.vhd", parent, {}, gone)
    assert "No such file" in why_not(f"vhd:{nowhere}")


def test_zeros_over_the_parent(tmp_path):
    parent, flat = tmp_path / "parent.vhd", tmp_path / "flat.raw"
    flat.write_bytes(b"\xf6" * (4 << 20))
    run(*CONVERT, "-f", "raw", "-O", "vpc", "-o", "force_size=on", flat, parent)
    zeros = {sector: bytes(SECTOR) for sector in (0, 4096, 4097, 8191)}
    with ImageControl(f"vhd:{child(tmp_path / 'child.vhd', parent, zeros)}") as image:
        disk = image.read(0, 4 << 20)
    for sector in range((4 << 20) // SECTOR):
        expected = bytes(SECTOR) if sector in zeros else b"\xf6" * SECTOR
        assert disk[sector * SECTOR :][:SECTOR] == expected


@pytest.mark.parametrize("sectors", [-2048, 2048])
def test_geometry_says_another_size(raw, tmp_path, sectors):
    """Cylinders, heads and sectors say another size than the bytes in the footer."""
    path, blocks = raw
    disk = tmp_path / "disk.vhd"
    run(*CONVERT, "-f", "raw", "-O", "vpc", "-o", "force_size=on", path, disk)
    image = bytearray(disk.read_bytes())
    for at in (0, len(image) - SECTOR):
        footer = image[at : at + SECTOR]
        cylinders = ((24 << 20) // SECTOR + sectors) // (16 * 63)
        footer[28:32] = b"vbox"
        footer[56:60] = cylinders.to_bytes(2, "big") + bytes([16, 63])
        image[at : at + SECTOR] = summed(footer, FOOTER_SUM)
    disk.write_bytes(image)
    check(f"vhd:{disk}", blocks)


def test_room_before_the_footer(raw, tmp_path):
    """A merge left the file longer than its blocks; the footer is at its end."""
    path, blocks = raw
    disk = tmp_path / "disk.vhd"
    run(*CONVERT, "-f", "raw", "-O", "vpc", "-o", "force_size=on", path, disk)
    image = disk.read_bytes()
    disk.write_bytes(image[:-SECTOR] + bytes(3 << 20) + image[-SECTOR:])
    check(f"vhd:{disk}", blocks)


def test_link_to_another_image(tmp_path):
    """The image is a symbolic link, which a manager of virtual machines changes."""
    one, other, link = (tmp_path / name for name in ("one.raw", "other.raw", "link"))
    blocks, others = make_disk(one), make_disk(other, first=100)
    link.symlink_to(one)
    with blockctl(dn1=DataDirs(link, ["/data"])) as control:
        handle = control.open(blocks[3])
        assert handle.read_all() == blocks[3].content
        link.unlink()
        link.symlink_to(other)
        control.look()
        control.look()
        for block in others:
            assert control.open(block).read_all() == block.content
        refused(handle.read_all, "EAGAIN")


def test_deleted_under_readers(raw):
    """The domain goes on with the file that has no name any more."""
    path, blocks = raw
    with blockctl(dn1=DataDirs(path, ["/data"])) as control:
        handle = control.open(blocks[3])
        path.unlink()
        assert handle.read_all() == blocks[3].content
        control.look()
        control.look()
        assert "No such file" in control.status()[0]["missing"]


def test_holes_are_dug_under_readers(raw):
    path, blocks = raw
    with blockctl(dn1=DataDirs(path, ["/data"])) as control:
        handle = control.open(blocks[3])
        assert handle.read(0, 100) == blocks[3].content[:100]
        subprocess.run(["fallocate", "--dig-holes", path], check=True)
        assert handle.read_all() == blocks[3].content
        for block in blocks:
            assert control.open(block).read_all() == block.content


@pytest.mark.parametrize("kind", ["qcow2", "vpc"])
def test_snapshots_and_resizes_beside_readers(raw, tmp_path, kind):
    """An image's tables move while blocks are read."""
    path, blocks = raw
    disk = tmp_path / "disk"
    options = {"qcow2": "cluster_size=4k", "vpc": "force_size=on"}[kind]
    run(*CONVERT, "-f", "raw", "-O", kind, "-o", options, path, disk)
    spec = f"{'qcow2' if kind == 'qcow2' else 'vhd'}:{disk}"
    with blockctl(dn1=DataDirs(spec, ["/data"])) as control:
        for n in range(3):
            if kind == "qcow2":
                run("qemu-img", "snapshot", "-c", f"s{n}", disk)
                run("qemu-img", "resize", "-q", disk, f"{32 << n}M")
            qemu_io(disk, kind, "write -P 5 23M 64k")
            control.look()
            for block in blocks:
                assert control.open(block).read_all() == block.content


@needs_root
def test_base_that_is_touched(split):
    """A manager of images does so to mark a base as in use."""
    spec, disk, lower, block, *_ = split
    with blockctl(dn1=DataDirs(spec, ["/data"])) as blocks:
        handle = blocks.open(block)
        os.utime(lower)
        refused(handle.read_all, *AGAIN)
        blocks.look()
        os.utime(disk)  # the domain writes to its disk
        blocks.look()
        assert blocks.open(block).read_all() == block.content


@needs_root
def test_file_that_another_host_may_write(tmp_path):
    """FUSE stands for all file systems that keep pages without asking whether they are right."""
    with QemuOwner(tmp_path, "qcow2", mib=24) as owner:
        block = owner.write(1, content(1, 100_000))
        owner.fsync(block)
        with blockctl(dn1=DataDirs(owner.path, ["/data"])) as blocks:
            assert blocks.open(block).read_all() == block.content
            (image,) = blocks.status()[0]["images"]
            assert image["mode"] == "direct"
        with blockctl(dn1=DataDirs(owner.spec, ["/data"])) as blocks:
            assert blocks.open(block).read_all() == block.content
            (image,) = blocks.status()[0]["images"]
            assert image["mode"] == "buffered"


def test_user_that_may_not_read(raw):
    """As on NFS with root_squash, where no right of this host helps."""
    path, _ = raw
    for folder in (path.parent, *path.parent.parents[:3]):
        folder.chmod(0o755)
    path.chmod(0o600)
    program = path.with_name("vread-provision")
    shutil.copy(built("vread-provision"), program)
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program]
    done = subprocess.run([*command, "-q", path], capture_output=True, text=True)
    assert done.returncode == 66 and "root_squash" in done.stderr, done


def test_base_that_is_named_by_a_protocol(raw, tmp_path):
    path, blocks = raw
    disk = tmp_path / "disk.qcow2"
    run("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", path, disk)
    name = "json:" + json.dumps({"file": {"driver": "file", "filename": str(path)}})
    run("qemu-img", "rebase", "-u", "-F", "raw", "-b", name, disk)
    said = why_not(f"qcow2:{disk}")
    command = said[said.index("qemu-img rebase") :].split(".qcow2")[0] + ".qcow2"
    subprocess.run(command.replace("PATH", str(path)).split(), check=True)
    check(f"qcow2:{disk}", blocks)
