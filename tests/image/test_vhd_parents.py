# SPDX-License-Identifier: GPL-2.0-or-later
"""Differencing VHDs: what a child has not written is read from its parent."""

import os
import random
import subprocess

import pytest

from tests.support.formats import ImageControl, ImageError, run
from tests.support.vhd import ID, SECTOR, child, footer_of, mac_url, windows_path

MIB = 1 << 20
SIZE = 6 * MIB
pytestmark = pytest.mark.usefixtures("both_builds")


@pytest.fixture
def parent(tmp_path):
    """A dynamic VHD with data and holes, and its content."""
    raw = tmp_path / "disk.raw"
    with open(raw, "wb") as disk:
        disk.write(random.Random(1).randbytes(MIB))
        disk.seek(3 * MIB)
        disk.write(random.Random(2).randbytes(2 * MIB))
        disk.truncate(SIZE)
    path = tmp_path / "parent.vhd"
    run("qemu-img", "convert", "-f", "raw", "-O", "vpc", "-o", "force_size=on", raw, path)
    return path, raw.read_bytes()


def changes(seed, count=500):
    """Sectors, alone and in rows."""
    chance = random.Random(seed)
    found = {}
    while len(found) < count:
        first = chance.randrange(SIZE // SECTOR - 20)
        for sector in range(first, first + chance.choice([1, 1, 20])):
            found[sector] = chance.randbytes(SECTOR)
    return found


def changed(content, sectors):
    content = bytearray(content)
    for sector, data in sectors.items():
        content[sector * SECTOR : (sector + 1) * SECTOR] = data
    return bytes(content)


def check(path, expected, folder):
    with ImageControl(f"vhd:{path}") as image:
        assert image.size == len(expected)
        image.copy(folder / "copy")
        assert (folder / "copy").read_bytes() == expected
        chance = random.Random(7)
        for _ in range(200):
            offset = chance.randrange(image.size)
            length = min(chance.choice([1, 511, 4096, 70_000]), image.size - offset)
            assert image.read(offset, length) == expected[offset : offset + length]


def by_libvhdi(*paths):
    """What libvhdi reads.  paths: the child, its parent, and so on."""
    program = """
import sys, pyvhdi
files = []
for path in sys.argv[1:]:
    files.append(pyvhdi.file())
    files[-1].open(path)
for above, below in zip(files[-2::-1], files[:0:-1]):
    above.set_parent(below)
sys.stdout.buffer.write(files[0].read_buffer_at_offset(files[0].get_media_size(), 0))
"""
    words = ["/usr/bin/python3", "-c", program, *map(str, paths)]
    return subprocess.run(words, check=True, capture_output=True).stdout


@pytest.mark.parametrize("name", [mac_url, windows_path], ids=["url", "windows"])
def test_a_child_and_its_parent(parent, tmp_path, name):
    path, content = parent
    sectors = changes(1)
    top = child(tmp_path / "child.vhd", path, sectors, [name(f"./{path.name}")])
    check(top, changed(content, sectors), tmp_path)


def test_what_libvhdi_reads(parent, tmp_path):
    """In rows of eight sectors: libvhdi 20210425 takes a byte of the bitmap as a whole."""
    path, content = parent
    chance = random.Random(1)
    rows = chance.sample(range(SIZE // SECTOR // 8), 100)
    sectors = {8 * row + n: chance.randbytes(SECTOR) for row in rows for n in range(8)}
    top = child(tmp_path / "child.vhd", path, sectors)
    assert by_libvhdi(top, path) == changed(content, sectors)
    check(top, by_libvhdi(top, path), tmp_path)


def test_a_chain(parent, tmp_path):
    below, expected = parent
    paths = [below]
    for number in range(4):
        sectors = changes(number, 200)
        path = tmp_path / f"layer{number}.vhd"
        paths.insert(0, child(path, paths[0], sectors, unique=b"layer number %03d" % number))
        expected = changed(expected, sectors)
    check(paths[0], expected, tmp_path)
    with ImageControl(f"vhd:{paths[0]}") as image:
        assert image.layers == 5


def test_a_fixed_parent(tmp_path):
    raw = tmp_path / "disk.raw"
    content = random.Random(3).randbytes(SIZE)
    raw.write_bytes(content)
    path = tmp_path / "parent.vhd"
    options = "subformat=fixed,force_size=on"
    run("qemu-img", "convert", "-f", "raw", "-O", "vpc", "-o", options, raw, path)
    sectors = changes(5)
    check(child(tmp_path / "child.vhd", path, sectors), changed(content, sectors), tmp_path)


def test_the_owner_writes(parent, tmp_path):
    """A sector that the child writes is read from the child from then on."""
    path, content = parent
    top = child(tmp_path / "child.vhd", path, {0: b"a" * SECTOR})
    with ImageControl(f"vhd:{top}") as image:
        assert image.read(SECTOR, SECTOR) == content[SECTOR : 2 * SECTOR]
        block = image.map(0, SECTOR)[1]
        with open(top, "r+b") as file:
            file.seek(block + SECTOR)
            file.write(b"b" * SECTOR)
            file.seek(block - SECTOR)  # the bitmap
            file.write(b"\xc0")
        assert image.read(0, 3 * SECTOR) == changed(content, {0: b"a" * 512, 1: b"b" * 512})[:1536]


def refused(path, *options, **keys):
    with pytest.raises(ImageError) as caught:
        ImageControl(f"vhd:{path}", *options, **keys)
    return caught.value.text


def test_another_parent_of_this_name(parent, tmp_path):
    path, _ = parent
    top = child(tmp_path / "child.vhd", path, {}, parent_id=bytes(16))
    said = refused(top)
    assert "parent.vhd" in said and "their unique ids differ" in said


def test_a_parent_that_is_no_vhd(parent, tmp_path):
    path, _ = parent
    top = child(tmp_path / "child.vhd", path, {})
    path.write_bytes(bytes(MIB))
    assert "not a VHD file" in refused(top)


def test_a_parent_that_is_missing(parent, tmp_path):
    path, _ = parent
    top = child(tmp_path / "child.vhd", path, {})
    path.unlink()
    assert "parent.vhd" in refused(top)


def test_a_parent_elsewhere(parent, tmp_path):
    """Below another folder it is opened only if the operator allows the folder."""
    path, content = parent
    folder = tmp_path / "children"
    folder.mkdir()
    top = child(folder / "child.vhd", path, {}, [mac_url(f"../{path.name}")])
    assert str(path) in refused(top).replace("children/../", "")
    with ImageControl(f"vhd:{top}", folder=tmp_path) as image:
        assert image.read(0, MIB) == content[:MIB]


def test_its_own_parent(parent, tmp_path):
    path, _ = parent
    top = child(tmp_path / "child.vhd", path, {}, [mac_url("./child.vhd")])
    assert "its own backing file" in refused(top)


@pytest.mark.parametrize(
    "locators",
    [
        [],
        [(b"W2ku", "C:\\parent.vhd".encode("utf-16-le"))],
        [(b"MacX", b"http://parent.vhd")],
        [(b"MacX", b"file://")],
        [(b"MacX", b"file://./parent.vhd\0x")],
        [(b"W2ru", ".\\pärent.vhd".encode("utf-16-le"))],
        [(b"W2ru", b".\0p")],
        [(b"MacX", b"file://" + b"x" * 1018)],
    ],
    ids=["none", "absolute", "http", "empty", "zero", "umlaut", "odd", "long"],
)
def test_parents_without_a_usable_name(parent, tmp_path, locators):
    path, _ = parent
    top = child(tmp_path / "child.vhd", path, {}, locators)
    assert "does not name its parent" in refused(top)


def test_a_name_outside_the_file(parent, tmp_path):
    path, _ = parent
    top = child(tmp_path / "child.vhd", path, {})
    with open(top, "r+b") as file:
        head = bytearray(os.pread(file.fileno(), 1024, 512))
        head[576 + 16 : 576 + 24] = (2**62).to_bytes(8, "big")
        head[36:40] = bytes(4)
        head[36:40] = (~sum(head) & 0xFFFFFFFF).to_bytes(4, "big")
        os.pwrite(file.fileno(), head, 512)
    assert "lies outside the file" in refused(top)


def test_a_parent_that_is_made_anew(parent, tmp_path):
    """The child was opened with another parent, so all reads fail from then on."""
    path, content = parent
    top = child(tmp_path / "child.vhd", path, {})
    with ImageControl(f"vhd:{top}") as image:
        assert image.read(0, MIB) == content[:MIB]
        with open(path, "r+b") as file:  # the copy of the footer
            foot = bytearray(footer_of(path))
            foot[ID] = b"another disk now"
            foot[64:68] = bytes(4)
            foot[64:68] = (~sum(foot) & 0xFFFFFFFF).to_bytes(4, "big")
            file.write(foot)
        os.utime(top)  # or the parent would be the newer file
        with pytest.raises(ImageError) as caught:
            image.read(0, MIB)
        assert caught.value.name == "EIO"
        assert not image.same()
