# SPDX-License-Identifier: GPL-2.0-or-later
"""Images that cannot be served, and layouts that no longer fit their image: each must be refused
with its reason."""

import os
import shutil
import subprocess
import uuid

import pytest

from tests.support.disk import BlockError, Disk, built
from tests.support.hdfs_dir import DataDirectory

MIB = 1 << 20
LUKS = ["/sbin/cryptsetup", "luksFormat", "-q", "--pbkdf-force-iterations", "1000"]
LUKS += ["--pbkdf", "pbkdf2", "--key-file", "-"]


@pytest.fixture(params=["gpt", "mbr", "none"])
def table(request):
    return request.param


@pytest.fixture
def disk(tmp_path, table):
    directory = DataDirectory(tmp_path / "data")
    directory.add(7, 100_000)
    return Disk(tmp_path, [directory], table=table)


def refusal(disk):
    with pytest.raises(BlockError) as caught, disk.blockctl():
        pass
    name, text = caught.value.name.strip().split(": ", 1)
    assert str(disk.path) in text or str(disk.layout) in text
    assert "\n" not in text
    return name, text


def wipe(disk, offset, length):
    with open(disk.path, "r+b") as image:
        image.seek(offset)
        image.write(bytes(length))


def encrypt(path, *options):
    subprocess.run([*LUKS, *options, str(path)], input=b"secret", check=True, capture_output=True)


def test_missing(disk):
    disk.path.unlink()
    assert refusal(disk) == (
        "ENOENT",
        f"image {disk.path}: No such file or directory; check the path",
    )


def test_directory(disk):
    disk.path.unlink()
    disk.path.mkdir()
    name, text = refusal(disk)
    assert name == "EISDIR" and "is a directory" in text


def test_empty(disk):
    os.truncate(disk.path, 0)
    assert refusal(disk) == ("ENODATA", f"image {disk.path} is empty (0 bytes)")


def test_truncated(disk):
    size = disk.path.stat().st_size
    os.truncate(disk.path, size - MIB)
    name, text = refusal(disk)
    assert name == "ESTALE" and f"{size} bytes" in text and "truncated" in text
    disk.document["images"][0]["size"] = size - MIB
    disk.document["filesystems"][0]["length"] -= MIB
    disk.write_layout()
    name, text = refusal(disk)
    assert "truncated" in text, text


def test_not_a_disk(disk):
    disk.path.write_bytes(os.urandom(4096) * (disk.path.stat().st_size // 4096))
    name, text = refusal(disk)
    assert name == "ENODATA" and "is not a disk" in text


def test_container_format(disk):
    size = disk.path.stat().st_size
    with open(disk.path, "r+b") as image:
        image.write(b"QFI\xfb\0\0\0\3" + bytes(16))
    name, text = refusal(disk)
    assert name == "EMEDIUMTYPE" and "qcow2" in text and "qemu-img convert -O raw" in text
    assert disk.path.stat().st_size == size


def test_encrypted_since(disk, table, tmp_path):
    """The layout's disk or partition has become a LUKS volume.  It must be refused as encrypted."""
    alone = tmp_path / "luks"
    with open(alone, "wb") as volume:
        volume.truncate(20 * MIB)
    encrypt(alone, "--type", "luks2")
    with open(disk.path, "r+b") as image:
        image.seek(disk.image.offset)
        image.write(alone.read_bytes()[: 16 * MIB])
    name, text = refusal(disk)
    assert name == "ESTALE" and "encrypted (crypto_LUKS)" in text


def test_reformatted(disk):
    new = str(uuid.uuid4())
    subprocess.run(
        ["/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-U", new, "-E", f"offset={disk.image.offset}"]
        + [disk.path, f"{disk.image.length // 1024}k"],
        check=True, capture_output=True,
    )  # fmt: skip
    name, text = refusal(disk)
    assert name == "ESTALE"
    assert disk.image.uuid in text and new in text and "vread-provision again" in text


def test_no_file_system_any_more(disk, table):
    wipe(disk, disk.image.offset, 8192)
    name, text = refusal(disk)
    if table == "none":
        assert name == "ENODATA" and "is not a disk" in text
    else:
        assert name == "ESTALE" and "file system" in text and "missing" in text


@pytest.mark.parametrize("table", ["gpt", "mbr"], indirect=True)
def test_repartitioned(disk, table):
    label = {"gpt": "gpt", "mbr": "dos"}[table]
    script = f"label: {label}\nstart=2048, size=4096\nstart=20480\n"
    subprocess.run(
        ["/sbin/sfdisk", "-q", disk.path], input=script.encode(), check=True, capture_output=True
    )
    name, text = refusal(disk)
    assert name == "ESTALE" and f"{table}:2 start" in text and "vread-provision again" in text


@pytest.mark.parametrize("table", ["gpt", "mbr"], indirect=True)
def test_partition_gone(disk, table):
    subprocess.run(
        ["/sbin/sfdisk", "-q", "--delete", disk.path, "2"], check=True, capture_output=True
    )
    name, text = refusal(disk)
    assert name == "ESTALE" and f"no partition {table}:2 any more" in text


def test_superblock_destroyed(disk):
    disk.change(disk.image.offset + 1024 + 0x18, lambda byte: 0xFF)  # block size
    name, text = refusal(disk)
    assert name in ("EIO", "ESTALE", "ENODATA"), text


def test_layout_of_another_image(tmp_path, disk, table):
    other = tmp_path / "other"
    other.mkdir()
    directory = DataDirectory(other / "data")
    directory.add(9, 50_000)
    stranger = Disk(other, [directory], table=table)
    shutil.copy(stranger.layout, disk.layout)
    disk.layout.write_text(stranger.layout.read_text())
    name, text = refusal(disk)
    assert name == "ESTALE" and "stale" in text


def test_layout_missing_or_not_json(disk):
    disk.layout.write_text('{"layout-version": 2,}')
    name, text = refusal(disk)
    assert name == "EINVAL" and f"layout {disk.layout}: line 1" in text
    disk.layout.unlink()
    name, text = refusal(disk)
    assert name == "ENOENT" and "vread-provision --output" in text


def test_datanode_named_twice(disk):
    argument = f"dn1={disk.path}:{disk.layout}"
    done = subprocess.run(
        [built("blockctl"), argument, argument], input="", capture_output=True, text=True
    )
    assert done.returncode == 1 and "datanode dn1 is named twice" in done.stderr
