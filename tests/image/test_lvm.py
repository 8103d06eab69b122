# SPDX-License-Identifier: GPL-2.0-or-later
"""Data directories on logical volumes, made by LVM's own commands.  Their bytes must be found.
Volumes that cannot be read, damaged metadata and changes of groups must be handled and
reported."""

import random
import shutil
import subprocess

import pytest

from tests.support.disk import BlockError, blockctl, layout_found
from tests.support.hdfs_dir import DataDirectory
from tests.support.lvm_metadata import Metadata
from tests.support.owner import needs_root
from tests.support.volumes import MIB, make_ext
from tools.images import Physical, VolumeGroup, make_disk
from tools.vreadd import DataDirs

pytestmark = [needs_root, pytest.mark.spread, pytest.mark.usefixtures("both_builds")]

DIR = "/dfs/data"


class Content:
    """A data directory with blocks, and file systems made of it."""

    def __init__(self, folder, storage="DS-1"):
        self.folder = folder
        self.directory = DataDirectory(folder / "tree" / DIR[1:], storage=storage)
        self.blocks = [self.directory.add(100 + n, 500_000 * n + n) for n in range(8)]

    def file_system(self, mib=24, options=()):
        return make_ext(self.folder / "fs", self.folder / "tree", mib=mib, options=options)


@pytest.fixture
def content(tmp_path):
    return Content(tmp_path)


def disks(folder, count, mib=48):
    return [make_disk(folder / f"disk{n}", mib) for n in range(count)]


def read_all(control, blocks):
    for block in blocks:
        assert control.open(block).read_all() == block.content()


def status_of(*images, paths=(DIR,)):
    with blockctl(dn1=DataDirs(images, paths)) as control:
        (status,) = control.status()
    return status


def why_not(*images):
    status = status_of(*images)
    assert status["filesystems"] == []
    return status["missing"]


def put(group, content, name="data", extents=24, *options):
    group.create(name, extents, *options)
    group.write(name, content.file_system(extents))


def serve(content, group, images):
    """The only volume must be found where `lvs` says, and all its blocks must be right."""
    with blockctl(dn1=DataDirs(images, [DIR])) as control:
        (status,) = control.status()
        read_all(control, content.blocks)
    (system,) = status["filesystems"]
    assert "missing" not in status
    assert system["volume"] == f"{group.name}/data"
    assert system["segments"] == group.segments("data")
    assert system["type"] == "ext4" and system["state"] == "clean"
    assert [entry["storage-id"] for entry in system["data-dirs"]] == ["DS-1"]
    return system


# ---- kinds of volumes -------------------------------------------------------------------------


def test_linear_over_several_segments(tmp_path, content):
    (disk,) = disks(tmp_path, 1)
    with VolumeGroup("vg", [Physical(disk)]) as group:
        group.create("data", 9)
        group.create("other", 3)
        group.extend("data", 8)
        group.create("another", 1)
        group.extend("data", 7)
        group.write("data", content.file_system(24))
        system = serve(content, group, [disk])
    assert [segment["length"] // MIB for segment in system["segments"]] == [9, 8, 7]


@pytest.mark.thorough
@pytest.mark.parametrize(("stripes", "kib"), [(2, 4), (2, 64), (3, 512)])
def test_striped(tmp_path, content, stripes, kib):
    images = disks(tmp_path, stripes)
    with VolumeGroup("vg", [Physical(disk) for disk in images]) as group:
        put(group, content, "data", 24, "-i", stripes, "-I", f"{kib}k")
        system = serve(content, group, images)
    (segment,) = system["segments"]
    assert [stripe["image"] for stripe in segment["stripes"]] == list(range(stripes))
    assert segment["stripe-size"] == kib << 10


@pytest.mark.thorough
def test_linear_then_striped_on_partitions(tmp_path, content):
    """A volume over two physical volumes on one disk and a third on another, with unusual
    names."""
    images = disks(tmp_path, 2, 80)
    script = f"label: gpt\nstart={1 * 2048}, size={30 * 2048}\nstart={32 * 2048}\n"
    subprocess.run(["/sbin/sfdisk", "-q", images[0]], input=script.encode(), check=True)
    script = f"label: dos\nstart={3 * 2048}, type=5\nstart={4 * 2048}, size={60 * 2048}\n"
    subprocess.run(["/sbin/sfdisk", "-q", images[1]], input=script.encode(), check=True)
    places = [
        Physical(images[0], 1 * MIB, 30 * MIB),
        Physical(images[0], 32 * MIB, 40 * MIB),
        Physical(images[1], 4 * MIB, 60 * MIB),
    ]
    with VolumeGroup("vg-0.a+b_", places) as group:
        group.create("data", 10, "--alloc", "anywhere")
        group.extend("data", 14, "-i", 2, "-I", "16k")
        group.write("data", content.file_system(24))
        system = serve(content, group, images)
    assert [len(segment["stripes"]) for segment in system["segments"]] == [1, 2]


@pytest.mark.thorough
def test_metadata_at_both_ends_and_on_one_disk_only(tmp_path, content):
    images = disks(tmp_path, 2)
    with VolumeGroup("vg", [Physical(images[0])], pvcreate=["--metadatacopies", "2"]) as group:
        group.physical.append(Physical(images[1]))
        other = VolumeGroup("vg", [Physical(images[1])], make=False)
        with other:
            group.devices.append(other.devices.pop())
            group.run("pvcreate", "--metadatacopies", "0", group.devices[1])
            group.run("vgextend", "vg", group.devices[1])
            put(group, content, "data", 24, "-i", 2)
            serve(content, group, images)


@pytest.mark.thorough
def test_several_volumes_and_a_partition(tmp_path):
    """All volumes and plain file systems on the disks must be searched."""
    contents = []
    for n in range(3):
        (tmp_path / f"{n}").mkdir()
        contents.append(Content(tmp_path / f"{n}", storage=f"DS-{n}"))
    plain = contents[2].file_system()
    images = [*disks(tmp_path, 1, 64), plain]
    with VolumeGroup("vg", [Physical(images[0])]) as group:
        put(group, contents[0], "one")
        put(group, contents[1], "two")
    status = status_of(*images)
    found = {
        (system.get("volume"), system["data-dirs"][0]["storage-id"])
        for system in status["filesystems"]
    }
    assert found == {("vg/one", "DS-0"), ("vg/two", "DS-1"), (None, "DS-2")}
    assert "missing" not in status


@pytest.mark.thorough
def test_metadata_that_wraps(tmp_path, content):
    (disk,) = disks(tmp_path, 1)
    small = ["--metadatasize", "32k", "--dataalignment", "4k"]
    with VolumeGroup("vg", [Physical(disk)], pvcreate=small) as group:
        put(group, content)
        metadata, wrapped = Metadata(disk), 0
        for n in range(60):
            group.run("vgchange", f"--{'add' if n % 2 == 0 else 'del'}tag", "x" * 1000, "vg")
            if metadata.wraps():
                wrapped += 1
                serve(content, group, [disk])
            if wrapped == 2:
                return
    raise AssertionError("the metadata never wrapped")


# ---- changes ----------------------------------------------------------------------------------


def grow(folder, file_system, mib):
    bigger = shutil.copy(file_system, folder / "bigger")
    subprocess.run(["/sbin/resize2fs", "-f", bigger, f"{mib}M"], check=True, capture_output=True)
    return bigger


@pytest.mark.thorough
def test_extended_while_served(tmp_path, content):
    """A volume is extended to a disk that was not used before.  The next look must find the new
    segment; old handles must be refused."""
    images = disks(tmp_path, 2)
    physical = [Physical(disk) for disk in images]
    with VolumeGroup("vg", physical) as group:
        group.create("data", 24)
        system = content.file_system(24)
        group.write("data", system)
        with blockctl(dn1=DataDirs(images, [DIR])) as control:
            handles = [control.open(block) for block in content.blocks]
            group.run("lvextend", "-l", "+40", "vg/data", group.devices[1])
            group.write("data", grow(tmp_path, system, 64))
            control.look()
            ((found,),) = [status["filesystems"] for status in control.status()]
            assert found["segments"] == group.segments("data")
            assert len(found["segments"]) == 2
            read_all(control, content.blocks)
            for handle in handles[1:]:  # the first block is empty
                with pytest.raises(BlockError, match="EAGAIN"):
                    handle.read_all()


def refused_layout(by_layout):
    with pytest.raises(BlockError) as caught, blockctl(dn1=by_layout):
        pass
    return str(caught.value)


@pytest.mark.thorough
def test_layout_file(tmp_path, content):
    images = disks(tmp_path, 2)
    with VolumeGroup("vg", [Physical(disk) for disk in images]) as group:
        put(group, content, "data", 24, "-i", 2)
        by_layout = layout_found(tmp_path / "layout.json", images, [DIR])
        with blockctl(dn1=by_layout) as control:
            read_all(control, content.blocks)
        group.create("pad", 2)
        group.extend("data", 4, "-i", 2)
        said = refused_layout(by_layout)
        assert "is stale: logical volume vg/data lies elsewhere now" in said
        assert "run vread-provision again" in said
        group.run("lvrename", "vg/data", "vg/other")
        assert "logical volume vg/data does not exist any more" in refused_layout(by_layout)
        group.run("lvrename", "vg/other", "vg/data")
        group.run("vgexport", "vg")
        said = refused_layout(by_layout)
        assert "logical volume vg/data cannot be read: its volume group is exported" in said


# ---- what cannot be read ----------------------------------------------------------------------


@pytest.fixture
def linear(tmp_path, content):
    """A group of two disks, with one volume on the first."""
    images = disks(tmp_path, 2)
    with VolumeGroup("vg", [Physical(disk) for disk in images]) as group:
        put(group, content)
    return images


@pytest.mark.thorough
def test_physical_volume_missing(tmp_path, content):
    """A physical volume is missing.  Volumes on the other must be served, and the missing one be
    reported."""
    images = disks(tmp_path, 2)
    other = tmp_path / "other"
    other.mkdir()
    second = Content(other, storage="DS-2")
    with VolumeGroup("vg", [Physical(disk) for disk in images]) as group:
        put(group, content, "data", 24)
        put(group, second, "both", 24, "-i", 2)
    assert len(status_of(*images)["filesystems"]) == 2
    uuid = Metadata(images[1]).uuid
    gone = tmp_path / "gone"
    for others in ([], [gone]):
        status = status_of(images[0], *others, paths=(DIR, "/none"))
        assert [system["volume"] for system in status["filesystems"]] == ["vg/data"]
        assert (
            f"logical volume vg/both cannot be read: physical volume {uuid} of its group is on "
            "none of the disks"
        ) in status["missing"]
        assert (f"image {gone}: No such file" in status["missing"]) == bool(others)
    with blockctl(dn1=DataDirs([images[0], gone], [DIR])) as control:
        read_all(control, content.blocks)
        shutil.copy(images[1], gone)
        control.look()
        (status,) = control.status()
        assert len(status["filesystems"]) == 2 and "missing" not in status
        read_all(control, second.blocks)


def test_disk_that_cannot_be_used(tmp_path, content):
    """One disk is blank or missing; the other must be served, as HDFS goes on without a disk."""
    plain, blank = content.file_system(), make_disk(tmp_path / "blank", 8)
    status = status_of(blank, plain)
    assert status["state"] == "served"
    assert status["missing"].startswith(f"image {blank} is not a disk: ")
    assert status["missing"].endswith("encrypted as a whole)")
    with blockctl(dn1=DataDirs([blank, plain, tmp_path / "none"], [DIR])) as control:
        read_all(control, content.blocks)
        assert f"image {tmp_path}/none: No such file" in control.status()[0]["missing"]
    assert f"image {tmp_path}/none: No such file" in why_not(blank, tmp_path / "none")


@pytest.mark.thorough
def test_two_groups_of_one_name(tmp_path, content):
    images = disks(tmp_path, 2)
    for disk in images:
        with VolumeGroup("vg", [Physical(disk)]) as group:
            put(group, content)
    said = "logical volume vg/data cannot be read: there are two volume groups of that name"
    assert said in why_not(*images)
    with blockctl(dn1=DataDirs(images[:1], [DIR])) as control:
        read_all(control, content.blocks)


def test_a_copy_of_a_disk(tmp_path, linear):
    copy = shutil.copy(linear[0], tmp_path / "copy")
    assert "there are two physical volumes with the UUID" in why_not(*linear, copy)


@pytest.mark.thorough
def test_disk_that_was_away(tmp_path, content, linear):
    """A disk comes back with old metadata, in which the other disk is still in its group.  The new
    metadata must count."""
    old = shutil.copy(linear[0], tmp_path / "old")
    with VolumeGroup("vg", [Physical(disk) for disk in linear], make=False) as group:
        group.run("lvremove", "--yes", "vg/data")
        group.run("vgreduce", "vg", group.devices[0])
        put(group, content, "new")
    assert [s["volume"] for s in status_of(*linear)["filesystems"]] == ["vg/new"]
    assert [s["volume"] for s in status_of(old, linear[1])["filesystems"]] == ["vg/new"]


CHANGES = {
    "type": ((b'"striped"', b'"thin"'), "it is of type thin"),
    "status": ((b'"VISIBLE"]', b'"VISIBLE", "PVMOVE"]'), "it has the status PVMOVE"),
    "stripe on a volume": (
        (b'\n"pv0", 0', b'\n"pvmove0", 0'),
        "lies on pvmove0, which is not a phys",
    ),
    "behind the end": (
        (b"extent_count = 24", b"extent_count = 48"),
        "lies outside its physical vol",
    ),
    "far behind": (
        (b"extent_count = 24", b"extent_count = 18014398509481984"),
        "invalid start, length",
    ),
    "start": ((b"start_extent = 0", b"start_extent = 1"), "invalid start, length"),
    "no stripes": ((b"stripe_count = 1", b"stripe_count = 0"), "invalid start, length"),
    "many stripes": ((b"stripe_count = 1", b"stripe_count = 24"), "invalid start, length"),
    "stripes missing": (
        (b"stripe_count = 1", b"stripe_count = 2\nstripe_size = 8"),
        "list of stripes is invalid",
    ),
    "count": (
        (b"segment_count = 1", b"segment_count = 2"),
        "fewer segments than its segment_count",
    ),
    "more": ((b"segment_count = 1", b"segment_count = 99999"), "more than 4096"),
    "pe_start": ((b"pe_start = 2048", b"pe_start = 92048"), "lies outside its physical volume"),
    "overflow": ((b"pe_start = 2048", b"pe_start = 18446744073709551615"), "lies outside its phys"),
    "missing flag": ((b"flags = []\ndev_size", b'flags = ["MISSING"]\ndev_size'), "as missing"),
    "partial": ((b'"RESIZEABLE"', b'"PARTIAL"'), "its volume group is partial"),
}


def told(linear, changes):
    """Makes each change to the metadata's text, and yields what status then reports missing."""
    good = Metadata(linear[0]).text().rstrip(b"\0")
    with blockctl(dn1=DataDirs(linear, [DIR])) as control:
        for change in changes:
            text = change(good)
            for disk in linear:
                Metadata(disk).replace(lambda _, text=text: text)
            control.look()
            control.look()  # a missing volume is believed only after two looks
            (status,) = control.status()
            assert status["filesystems"] == []
            yield status["missing"]


@pytest.mark.thorough
def test_reasons(linear):
    changes = [lambda text, c=change: text.replace(*c) for change, _ in CHANGES.values()]
    text = Metadata(linear[0]).text()
    for (name, ((old, _), said)), why in zip(CHANGES.items(), told(linear, changes), strict=True):
        assert old in text, name
        assert "logical volume vg/data cannot be read: " in why and said in why, name


SNAPSHOT = b"""
snapshot0 { id = "x" status = ["READ"] segment_count = 1
 segment1 { start_extent = 0 extent_count = 24 type = "snapshot" chunk_size = 8
 origin = "data" %s = "cow" } } }
"""


@pytest.mark.parametrize(
    ("role", "said"), [(b"cow_store", None), (b"merging_store", "a snapshot is being merged")]
)
def test_snapshots(linear, content, role, said):
    """An origin must be read unless a snapshot is being merged into it.  Snapshots must be
    refused."""
    cow = b'cow { id = "y" status = ["VISIBLE"] segment_count = 1 }\n'

    def add(text):
        end = text.rindex(b"}", 0, text.rindex(b"}", 0, text.rindex(b"# Generated")))
        return text[:end] + cow + SNAPSHOT % role + text[end + 1 :]

    for disk in linear:
        Metadata(disk).replace(add)
    status = status_of(*linear, paths=(DIR, "/none"))
    assert "logical volume vg/cow cannot be read: it is of type snapshot" in status["missing"]
    assert len(status["filesystems"]) == (said is None)
    assert said is None or said in status["missing"]


def section(text, name):
    """The section of that name, with its braces."""
    start = text.index(name + b" {")
    end, depth = text.index(b"{", start) + 1, 1
    while depth:
        depth += {ord("{"): 1, ord("}"): -1}.get(text[end], 0)
        end += 1
    return text[start:end]


def test_volumes_over_the_same_extents(linear, content):
    """Two volumes share extents, or one has extents twice.  None of them may be searched: else a
    guest makes each look read one file system 256 times.  Repaired, the volume is served."""
    good = Metadata(linear[0]).text().rstrip(b"\0")
    data = section(good, b"data")
    half = section(data, b"segment1").replace(b"extent_count = 24", b"extent_count = 12")
    twice = data.replace(b"segment_count = 1", b"segment_count = 2").replace(
        section(data, b"segment1"),
        half
        + half.replace(b"segment1", b"segment2").replace(b"start_extent = 0", b"start_extent = 12"),
    )
    twins = data + data.replace(b"data {", b"twin {").replace(b'id = "', b'id = "x', 1)
    shares = "logical volume vg/%s cannot be read: it shares bytes with logical volume vg/%s"
    expected = {
        twins: [shares % ("data", "twin"), shares % ("twin", "data")],
        twice: ["logical volume vg/data cannot be read: it has the same bytes twice"],
    }
    changes = [lambda text, new=new: text.replace(data, new) for new in expected]
    for said, why in zip(expected.values(), told(linear, changes), strict=True):
        assert all(text in why for text in said), why
    for disk in linear:
        Metadata(disk).replace(lambda _: good)
    with blockctl(dn1=DataDirs(linear, [DIR])) as control:
        read_all(control, content.blocks)


# ---- damage -----------------------------------------------------------------------------------


@pytest.mark.thorough
def test_one_copy_of_the_metadata_is_enough(linear, content):
    """One of two metadata copies is old or damaged.  The good copy must count.  With both unusable,
    the reason must be reported."""
    first, second = (Metadata(disk) for disk in linear)
    before = second.text()
    with VolumeGroup("vg", [Physical(disk) for disk in linear], make=False) as group:
        group.create("later", 1)
        group.run("lvrename", "vg/data", "vg/renamed")
    second.replace(lambda _: before.rstrip(b"\0"))
    for damage in (lambda: None, lambda: second.replace(lambda text: text, damage=True)):
        damage()
        with blockctl(dn1=DataDirs(linear, [DIR])) as control:
            (status,) = control.status()
            assert [system["volume"] for system in status["filesystems"]] == ["vg/renamed"]
            read_all(control, content.blocks)
    first.replace(lambda text: text, damage=True)
    assert "the whole disk of" in why_not(*linear)
    assert "cannot be read: its metadata has a wrong checksum" in why_not(*linear)


@pytest.mark.thorough
def test_damaged_areas(linear):
    def said():
        return why_not(*linear)

    for disk in linear:
        metadata = Metadata(disk)
        good = metadata.header()
        metadata.flip(200)
        if disk == linear[0]:
            continue
        assert "the header of its metadata area has a wrong checksum" in said()
        metadata.flip(200)
        for place in ((0x7FFFFFFFFFFFFFFF, 100), (512, 1 << 40), (100, 100), (512, 0)):
            metadata.point_to(*place, crc=0)
            assert "its metadata has an invalid offset or length" in said()
        metadata.point_to(600, 100, crc=1)
        assert "its metadata has a wrong checksum" in said()
        metadata.point_to(0, 0, crc=0)
        assert "is a physical volume of an unknown volume group" in said()
        assert good != metadata.header()


NONSENSE = {
    b"": "does not describe a volume group",
    b"vg {": "a section is not closed",
    b"vg { } }": "a section ends that was not opened",
    b"vg " * 3: "a name is followed by neither",
    b"vg { id = }": "a value is missing",
    b'vg { id = "': "a string is not terminated",
    b"vg { id = [ 1, [ 2 ] ] }": "a list contains a list",
    b"vg { id = [ 1 2 ] }": "a list is not closed",
    b"vg { = 1 }": "a name is missing",
    b"vg " + b"{ a " * 200: "nested too deep",
    b"vg { seqno = 1 }": "does not describe a volume group",
    b"a = 1\n" * 140_000: "too many entries",
}


@pytest.mark.thorough
def test_nonsense(linear):
    changes = [lambda _, text=text: text for text in NONSENSE]
    for (text, said), why in zip(NONSENSE.items(), told(linear, changes), strict=True):
        assert said in why, text[:40]


@pytest.mark.thorough
def test_anything(linear, content):
    """Random changes of the metadata's text.  vreadd's code must survive, and read the volume again
    after the repair."""
    chance = random.Random(20261121)
    good = [Metadata(disk).text().rstrip(b"\0") for disk in linear]
    words = good[0].split()
    with blockctl(dn1=DataDirs(linear, [DIR])) as control:
        for _ in range(150):
            text = bytearray(good[0])
            for _ in range(chance.randrange(1, 4)):
                at, word = chance.randrange(len(text)), chance.choice(words)
                end = at + chance.choice([0, 1, len(word), 200])
                text[at:end] = chance.choice([word, word * 3, b"18446744073709551615", b""])
            Metadata(linear[0]).replace(lambda _, text=text: bytes(text))
            control.look()
        for disk, text in zip(linear, good, strict=True):
            Metadata(disk).replace(lambda _, text=text: text)
        control.look()
        read_all(control, content.blocks)
