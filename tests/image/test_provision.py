# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-provision must find, through libguestfs, what is known to be on the disks.  It must refuse
disks that are not a datanode's with the reason, if possible before the appliance starts."""

import json
import os
import subprocess

import pytest

from tests.support.disk import ByLayout, Disk, blockctl, built
from tests.support.hdfs_dir import DataDirectory
from tests.support.owner import needs_root
from tests.support.volumes import make_ext, partitioned
from tools.images import Physical, VolumeGroup, layout_of, make_datanode_image, make_disk
from tools.vreadd import DataDirs

MIB = 1 << 20
USAGE, DATA, NO_INPUT, UNAVAILABLE, CANNOT_CREATE = 64, 65, 66, 69, 73
LUKS = ["/sbin/cryptsetup", "luksFormat", "-q", "--type", "luks1", "--key-file", "-"]
LUKS += ["--pbkdf-force-iterations", "1000"]


def provision(*arguments, **environment):
    return subprocess.run(
        [built("vread-provision"), *arguments],
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env=os.environ | environment, timeout=900,
    )  # fmt: skip


def refused(status, said, *arguments):
    done = provision(*arguments, LIBGUESTFS_HV="/bin/false")  # refused without the appliance
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("vread-provision: ")
    assert said in done.stderr, done.stderr


def encrypted(path):
    path.write_bytes(bytes(8 * MIB))
    subprocess.run([*LUKS, path], input=b"secret", check=True, capture_output=True)
    return path


def test_help_and_version():
    done = provision("--help")
    assert done.returncode == 0 and "Usage: vread-provision" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    done = provision("--version")
    assert done.returncode == 0 and done.stdout.startswith("vread-provision ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no image: expected"),
        (["a.raw"] * 65, "too many images"),
        (["--data-dir", "dfs/data", "a.raw"], "--data-dir: expected an absolute path"),
        (["--data-dir", "/dfs/../data", "a.raw"], "--data-dir: expected an absolute path"),
        (["--backing-folder", "srv", "a.raw"], "--backing-folder: expected an absolute path"),
        (["--backing-folder", "/", "a.raw"], "--backing-folder: expected an absolute path"),
        (["-b", "/srv"] * 65 + ["a.raw"], "--backing-folder: given more than 64 times"),
        (["--datanode", "a/b", "a.raw"], "--datanode: expected a name"),
        (["--datanode", "", "a.raw"], "--datanode: expected a name"),
    ],
)
def test_command_line(arguments, said):
    refused(USAGE, said, *arguments)


def test_unknown_option():
    done = provision("--outptu", "x", "a.raw")
    assert done.returncode == USAGE
    assert "--outptu" in done.stderr and "Try: vread-provision --help" in done.stderr


def test_no_image(tmp_path):
    refused(NO_INPUT, f"image {tmp_path}/none: No such file", tmp_path / "none")
    refused(DATA, "is a directory", tmp_path)
    refused(DATA, "neither a regular file nor a block device", "/dev/zero")
    empty = tmp_path / "empty"
    empty.touch()
    refused(DATA, "is empty (0 bytes)", empty)


def test_not_a_disk(tmp_path):
    noise = tmp_path / "noise"
    noise.write_bytes(os.urandom(4 * MIB))
    refused(DATA, "is not a disk", noise)
    short = tmp_path / "short"
    short.write_bytes(b"\x55\xaa")
    refused(DATA, "is not a disk", short)


@pytest.mark.parametrize("kind", ["qcow2", "vpc", "vmdk", "vhdx"])
def test_other_formats(tmp_path, kind):
    image = tmp_path / f"disk.{kind}"
    subprocess.run(["qemu-img", "create", "-q", "-f", kind, image, "8M"], check=True)
    refused(DATA, "convert the image: qemu-img convert -O raw", image)


@pytest.mark.parametrize("table", ["gpt", "mbr", "none"])
def test_truncated(tmp_path, table):
    directory = DataDirectory(tmp_path / "data")
    image = make_datanode_image([directory.path], tmp_path / "disk.raw", table=table)
    os.truncate(image.path, image.offset + image.length // 2)
    refused(DATA, "truncated", image.path)


def test_encrypted_disk(tmp_path):
    refused(DATA, "everything on it is encrypted", encrypted(tmp_path / "disk.raw"))


@pytest.mark.parametrize("label", ["gpt", "dos"])
def test_encrypted_partition(tmp_path, label):
    disk = partitioned(tmp_path / "disk.raw", label, encrypted(tmp_path / "luks"))
    refused(DATA, "everything on it is encrypted", disk)


def test_layout_that_cannot_be_written(tmp_path):
    directory = DataDirectory(tmp_path / "data")
    image = make_datanode_image([directory.path], tmp_path / "disk.raw")
    (tmp_path / "file").touch()
    layout = tmp_path / "file" / "layout.json"
    said = f"layout {layout} cannot be written: Not a directory"
    refused(CANNOT_CREATE, said, "--output", layout, image.path)


def test_appliance_that_does_not_start(tmp_path):
    directory = DataDirectory(tmp_path / "data")
    image = make_datanode_image([directory.path], tmp_path / "disk.raw")
    done = provision(image.path, LIBGUESTFS_HV="/bin/false")
    assert done.returncode == UNAVAILABLE and done.stdout == ""
    assert "libguestfs's appliance did not start: " in done.stderr
    assert "libguestfs-test-tool" in done.stderr


def two_directories(folder, storage, first_id=11):
    """([two data directories], [a block of each])"""
    first = DataDirectory(
        folder / "d1", pools=["BP-1-127.0.0.1-1", "BP-2-x"], storage=f"{storage}-1"
    )
    second = DataDirectory(folder / "d2", pools=["BP-1-127.0.0.1-1"], storage=f"{storage}-2")
    blocks = [first.add(first_id, 40_000), second.add(first_id + 1, 50_000)]
    (first.path / "current" / "BP-no-pool").mkdir()
    return [first, second], blocks


@pytest.mark.appliance
@pytest.mark.timeout(3600)
def test_finds_what_is_known_to_be_there(tmp_path):
    """A datanode has a disk for each kind of partition table; the layout must have exactly what was
    made.  The test takes more than a minute: the appliance is a kernel in an emulator, which starts
    once for all three disks."""
    images, blocks, known = [], [], []
    for number, table in enumerate(("gpt", "mbr", "none")):
        directories, added = two_directories(tmp_path / table, f"DS-{table}", 10 * number + 11)
        blocks += added
        path = f"/mnt/{table}/dfs"
        options = {"table": table, "path_in_fs": path}
        images.append(Disk(tmp_path / table, directories, **options))
        (system,) = images[-1].document["filesystems"]
        for directory in system["data-dirs"]:
            pools = dict(zip(directory["pools"], directory["namespace-ids"], strict=True))
            pools.pop("BP-no-pool", None)  # only the first directory has it
            directory |= {"pools": list(pools), "namespace-ids": list(pools.values())}
        known.append(system | {"image": number})
    paths = [image.path for image in images]
    made = tmp_path / "new" / "folder" / "layout.json"
    done = provision("--output", made, *paths)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "found data directory /mnt/gpt/dfs1" in done.stderr
    found = json.loads(made.read_text())
    for system in found["filesystems"]:
        system["data-dirs"].sort(key=lambda entry: entry["path"])
    sizes = [{"size": path.stat().st_size} for path in paths]
    assert found == {"layout-version": 2, "images": sizes, "filesystems": known}
    assert made.stat().st_mode & 0o777 == 0o644
    assert [entry.name for entry in made.parent.iterdir()] == ["layout.json"]
    with blockctl(dn1=ByLayout(paths, made)) as control:
        for block in blocks:
            assert control.open(block).read_all() == block.content()


@pytest.mark.slow
@pytest.mark.appliance
@pytest.mark.timeout(3600)
def test_summary_of_a_mixed_disk(tmp_path):
    """The summary of a disk with several kinds of partitions must say what each is, and whether
    vRead can read it."""
    directories, _ = two_directories(tmp_path / "sources", "DS")
    swap = tmp_path / "swap"
    swap.write_bytes(bytes(4 * MIB))
    subprocess.run(["/sbin/mkswap", "-q", swap], check=True, capture_output=True)
    alone = make_datanode_image(
        [directories[0].path], tmp_path / "alone.raw", table="none", path_in_fs="/d"
    )
    disk = partitioned(
        tmp_path / "disk.raw", "gpt",
        swap, encrypted(tmp_path / "luks"), tmp_path / "alone.raw", make_ext(tmp_path / "other"),
    )  # fmt: skip
    layout = tmp_path / "layout.json"
    done = provision("--summary", "--quiet", "--output", layout, disk)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0].startswith(f"{disk}: ") and lines[0].endswith("raw, GPT")
    assert any(line.startswith("gpt:1 4.0 MiB at 1.0 MiB swap") for line in lines)
    assert any(line.startswith("gpt:2 8.0 MiB at 6.0 MiB crypto_LUKS") for line in lines)
    assert any(line.startswith("is encrypted by its guest (LUKS)") for line in lines)
    assert any("gpt:3" in line and f"ext4 {alone.uuid}" in line for line in lines)
    assert "data directory /d" in lines
    assert "storage id DS-1" in lines and "block pools BP-1-127.0.0.1-1" in lines
    assert "no data directory of a datanode" in lines
    assert lines[-1] == "1 data directory vRead can read"
    (found,) = json.loads(layout.read_text())["filesystems"]
    (known,) = layout_of(alone)["filesystems"]
    assert found["partition"] == "gpt:3" and found["offset"] == 15 * MIB
    assert {found[key] == known[key] for key in ("length", "type", "uuid")} == {True}


def converted(path, kind, spec):
    """Converts the disk to another format.  Returns the image as vread.conf names it."""
    image = path.with_suffix(f".{spec}")
    command = ["qemu-img", "convert", "-f", "raw", "-O", kind, path, image]
    subprocess.run(command, check=True)
    path.unlink()
    return f"{spec}:{image}"


@needs_root
@pytest.mark.appliance
@pytest.mark.timeout(3600)
@pytest.mark.slow
def test_several_disks_with_lvm_in_other_formats(tmp_path):
    """Three disks in different formats, with a volume over two and a file system on the third.  The
    layout must equal what vreadd itself finds and where the kernel places the volume."""
    directories = [DataDirectory(tmp_path / f"t{n}" / "dfs", storage=f"DS-{n}") for n in range(2)]
    blocks = [directory.add(10 + n, 900_000) for n, directory in enumerate(directories)]
    first, second = (make_disk(tmp_path / f"disk{n}.raw", 64) for n in range(2))
    subprocess.run(["/sbin/sfdisk", "-q", first], input=b"label: gpt\nstart=8192\n", check=True)
    physical = [Physical(first, 4 * MIB, 56 * MIB), Physical(second)]
    with VolumeGroup("vg-0", physical) as group:
        group.create("da-ta", 10)
        group.create("btrfs", 1)
        group.extend("da-ta", 14, "-i", 2, "-I", "16k")
        group.write("da-ta", make_ext(tmp_path / "fs0", tmp_path / "t0", mib=24))
        segments = group.segments("da-ta")
    third = make_ext(tmp_path / "disk2.raw", tmp_path / "t1", mib=24)
    images = [str(first), converted(second, "qcow2", "qcow2"), converted(third, "vpc", "vhd")]
    layout = tmp_path / "layout.json"
    done = provision("--summary", "--datanode", "dn1", "--output", layout, *images)
    assert done.returncode == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0] == f"{first}: 64 MiB, raw, GPT"
    assert lines[-1] == "2 data directories vRead can read"
    assert any(line.startswith("lvm:vg-0/da-ta 24 MiB ext4") for line in lines)
    assert "[datanode dn1]\n" + "".join(f"image = {image}\n" for image in images) in done.stderr
    found = json.loads(layout.read_text())
    logical = next(system for system in found["filesystems"] if "volume" in system)
    assert logical["volume"] == "vg-0/da-ta" and logical["segments"] == segments
    with blockctl(dn1=DataDirs(images, ["/dfs"])) as control:
        (status,) = control.status()
    assert [{**system, "state": "clean"} for system in found["filesystems"]] == status[
        "filesystems"
    ]
    with blockctl(dn1=ByLayout(images, layout)) as control:
        for block in blocks:
            assert control.open(block).read_all() == block.content()


@pytest.mark.appliance
@pytest.mark.timeout(3600)
@pytest.mark.slow
def test_no_data_directory(tmp_path):
    """Directories that only resemble data directories, also if --data-dir names them, must be
    refused."""
    tree = tmp_path / "tree"
    name_node = DataDirectory(tree / "name")
    version = name_node.path / "current" / "VERSION"
    version.write_text(version.read_text().replace("DATA_NODE", "NAME_NODE"))
    broken = DataDirectory(tree / "broken")
    version = broken.path / "current" / "VERSION"
    version.write_text(version.read_text().replace("storageID=DS-1", "storageID="))
    image = make_ext(tmp_path / "disk.raw", tree)
    layout = tmp_path / "layout.json"
    done = provision("--output", layout, "--data-dir", "/name", "--data-dir", "/broken", image)
    assert done.returncode == DATA
    assert "/broken/current/VERSION is skipped: storageID is missing or empty" in done.stderr
    assert f"image {image}: no datanode's data directory where --data-dir says" in done.stderr
    assert "no data directory of a datanode" in done.stderr
    assert not layout.exists()
