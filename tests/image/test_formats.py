# SPDX-License-Identifier: GPL-2.0-or-later
"""Images in every format, made and written by QEMU: reads must give the bytes that QEMU reads."""

import os
import random
import subprocess

import pytest

from tests.support.disk import BlockError, Disk, blockctl
from tests.support.formats import (
    COPIES,
    FORMATS,
    ImageControl,
    ImageError,
    as_raw,
    overlay,
    qemu_io,
    run,
)
from tests.support.hdfs_dir import DataDirectory
from tools.vreadd import DataDirs

pytestmark = pytest.mark.usefixtures("both_builds")

MIB = 1 << 20
SIZE = 12 * MIB


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """A raw disk with noise, text, allocated zeros and holes."""
    path = tmp_path_factory.mktemp("raw") / "disk.raw"
    with open(path, "wb") as disk:
        disk.write(random.Random(1).randbytes(2 * MIB + 777))
        disk.write(b"a line of text\n" * 100_000)
        disk.seek(5 * MIB)
        disk.write(bytes(MIB) + random.Random(2).randbytes(100_000))
        disk.seek(9 * MIB + 4096)
        disk.write(random.Random(3).randbytes(300_000))
        disk.truncate(SIZE)
    return path


def same_bytes(one, other):
    subprocess.run(["cmp", str(one), str(other)], check=True)


@pytest.mark.parametrize("name", FORMATS)
def test_whole_disk(name, raw, tmp_path):
    """The whole disk is read by six threads in aligned pieces, and at random places by one."""
    kind, prefix, make = FORMATS[name]
    path = make(tmp_path, raw)
    expected = as_raw(path, kind)
    chance = random.Random(name)
    with ImageControl(f"{prefix}:{path}") as image, open(expected, "rb") as disk:
        assert (image.size, image.format) == (expected.stat().st_size, prefix)
        image.copy(tmp_path / "copy")
        same_bytes(tmp_path / "copy", expected)
        for _ in range(200):
            offset = chance.randrange(image.size)
            length = min(chance.choice([1, 511, 4096, 70_000]), image.size - offset)
            assert image.read(offset, length) == os.pread(disk.fileno(), length, offset)


@pytest.mark.parametrize("name", ["raw", "qcow2-on-compressed", "qcow2-512", "vhd-dynamic"])
def test_past_the_page_cache(name, raw, tmp_path):
    kind, prefix, make = FORMATS[name]
    path = make(tmp_path, raw)
    try:
        image = ImageControl(f"{prefix}:{path}", direct=True)
    except ImageError as error:
        assert "O_DIRECT" in error.text
        pytest.skip("no O_DIRECT on this file system")
    with image:
        image.copy(tmp_path / "copy")
        same_bytes(tmp_path / "copy", as_raw(path, kind))


@pytest.mark.parametrize("name", COPIES)
def test_blocks_of_a_data_directory(name, tmp_path):
    directory = DataDirectory(tmp_path / "data")
    written = [directory.add(n, size) for n, size in enumerate((1, 70_000, 3_000_001), 1)]
    disk = Disk(tmp_path, [directory], table="gpt")
    prefix, make = COPIES[name]
    path = make(tmp_path, disk.path)
    with blockctl(dn1=DataDirs(f"{prefix}:{path}", ["/dfs/data"])) as blocks:
        for block in written:
            assert blocks.open(block).read_all() == block.content()
        (status,) = blocks.status()[0]["images"]
        assert (status["image"], status["format"]) == (f"{prefix}:{path}", prefix)


# ---- where it lies -----------------------------------------------------------------------


def test_long_runs(raw, tmp_path):
    """Adjacent clusters must be mapped as one run, and so must a range of holes."""
    path = tmp_path / "disk.qcow2"
    run("qemu-img", "create", "-q", "-f", "qcow2", path, "1G")
    qemu_io(path, "qcow2", "write -P 1 0 40M")
    with ImageControl(f"qcow2:{path}") as image:
        where, _, length = image.map(0, 1 << 30)
        assert (where, length >= 30 * MIB) == (str(path), True)
        where, _, length = image.map(40 * MIB, 900 * MIB)
        assert (where, length) == ("zero", 900 * MIB)


def test_where_a_chain_has_it(raw, tmp_path):
    path = FORMATS["qcow2-chain"][2](tmp_path, raw)
    with ImageControl(f"qcow2:{path}") as image:
        assert image.layers == 5
        assert image.map(23 * MIB, 4096)[0] == "zero"
        assert image.map(6 * MIB, 512)[0] == str(tmp_path / "base.raw")


# ---- refused -------------------------------------------------------------------------------


def refusal(spec):
    with pytest.raises(ImageError) as caught, ImageControl(spec):
        pass
    return caught.value.name, caught.value.text


def test_backing_format_not_said(raw, tmp_path):
    """An overlay does not name the format of its base; it must be refused.  The guest of a raw base
    could write a qcow2 header into the base."""
    base = FORMATS["raw"][2](tmp_path, raw)
    path = overlay(tmp_path / "overlay.qcow2", base, "raw")
    data = bytearray(path.read_bytes())
    at = data.index(bytes.fromhex("e2792aca"))
    data[at : at + 4] = b"none"
    path.write_bytes(data)
    name, text = refusal(f"qcow2:{path}")
    command = text[text.index("qemu-img rebase") :]
    assert name == "EMEDIUMTYPE" and "the format of its backing file" in text
    subprocess.run(command.split(), check=True)
    with ImageControl(f"qcow2:{path}") as image:
        assert image.read(0, 100) == raw.read_bytes()[:100]


def test_base_of_a_guest_that_names_a_file(raw, tmp_path):
    """A guest writes a qcow2 header that names another file into its raw disk.  The disk, also as a
    raw base, must still be read as raw."""
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret" * 10_000)
    forged = overlay(tmp_path / "forged", secret, "raw")
    run("truncate", "-s", "1M", forged)
    over = overlay(tmp_path / "over.qcow2", forged, "raw")
    for spec in (f"raw:{forged}", str(forged), f"qcow2:{over}"):
        with ImageControl(spec) as image:
            assert image.read(0, 4096) == forged.read_bytes()[:4096]
            assert b"secret" * 10 not in image.read(0, MIB)


@pytest.mark.parametrize(
    "kind, options, said",
    [
        ("qcow2", ["-o", "data_file=/DIR/data,data_file_raw=on"], "external data file"),
        (
            "qcow2",
            [
                "--object",
                "secret,id=s,data=x",
                "-o",
                "encrypt.format=aes,encrypt.key-secret=s",
            ],
            "encrypted",
        ),
        ("qcow2", ["-o", "extended_l2=on"], "subclusters"),
        ("vmdk", [], "not a qcow2 file"),
    ],
)
def test_not_read(kind, options, said, tmp_path):
    path = tmp_path / "disk"
    options = [option.replace("/DIR", str(tmp_path)) for option in options]
    run("qemu-img", "create", "-q", "-f", kind, *options, path, "8M")
    name, text = refusal(f"qcow2:{path}")
    assert name == "EMEDIUMTYPE" and said in text and str(path) in text


def test_format_not_said(raw, tmp_path):
    """A qcow2 file is configured as raw; the status must say so."""
    path = FORMATS["qcow2"][2](tmp_path, raw)
    with blockctl(dn1=DataDirs(path, ["/dfs/data"])) as blocks:
        missing = blocks.status()[0]["missing"]
    assert "looks like a qcow2 file but is configured as raw" in missing


def test_unknown_format(tmp_path):
    name, text = refusal(f"qcow3:{tmp_path}/disk")
    assert name == "EINVAL" and "raw, qcow2" in text


def test_truncated(raw, tmp_path):
    path = FORMATS["qcow2"][2](tmp_path, raw)
    expected = raw.read_bytes()
    os.truncate(path, path.stat().st_size // 2 // 65536 * 65536)
    wrong = 0
    with ImageControl(f"qcow2:{path}") as image:
        for offset in range(0, SIZE, 65536):
            try:
                assert image.read(offset, 65536) == expected[offset : offset + 65536]
            except ImageError as error:
                assert error.name == "EIO"
                wrong += 1
    assert wrong > 10


def test_damaged_block(tmp_path):
    """A byte of a block in a qcow2 file is damaged; its read must fail with EBADMSG."""
    directory = DataDirectory(tmp_path / "data")
    block = directory.add(1, 200_000)
    disk = Disk(tmp_path, [directory], table="gpt")
    path = FORMATS["qcow2"][2](tmp_path, disk.path)
    offset = disk.physical(disk.inside(block.path), 150_000)
    with ImageControl(f"qcow2:{path}") as image:
        where, at, _ = image.map(offset, 1)
    with open(where, "r+b") as file:
        byte = os.pread(file.fileno(), 1, at)[0]
        os.pwrite(file.fileno(), bytes([byte ^ 1]), at)
    with blockctl(dn1=DataDirs(f"qcow2:{path}", ["/dfs/data"])) as blocks:
        handle = blocks.open(block)
        assert handle.read(0, 65536) == block.content()[:65536]
        with pytest.raises(BlockError) as caught:
            handle.read(140_000, 20_000)
        assert (caught.value.name, caught.value.exposed) == ("EBADMSG", 0)
