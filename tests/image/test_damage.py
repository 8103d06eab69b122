# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged and changing blocks: each kind of damage must give its error, and no wrong byte may get
out."""

import contextlib

import pytest

from tests.support.disk import BlockError, Disk
from tests.support.hdfs_dir import NULL, DataDirectory

MIB = 1 << 20
ID = 1073741825


@pytest.fixture
def directory(tmp_path):
    return DataDirectory(tmp_path / "data")


@pytest.fixture
def make(tmp_path, directory):
    """make(length, change=None): writes a block, calls change(block), then makes a disk with the
    block.  Returns (block, disk)."""

    def build(length=2 * MIB + 100, change=None, **options):
        block = directory.add(ID, length, **options)
        if change:
            change(block)
        return block, Disk(tmp_path, [directory])

    return build


@contextlib.contextmanager
def fails(name):
    with pytest.raises(BlockError) as caught:
        yield
    assert caught.value.name == name
    assert caught.value.exposed == 0, "bytes reached the destination"


@pytest.mark.parametrize("offset", [0, 511, 512, MIB - 1, MIB, 2 * MIB + 99])
def test_flipped_data_byte(make, offset):
    block, disk = make()
    disk.flip(disk.inside(block.path), offset)
    first, last = offset - offset % 512, min(offset - offset % 512 + 512, block.length)
    with disk.blockctl() as control:
        handle = control.open(block)
        with fails("EBADMSG"):
            handle.read(offset, 1)
        with fails("EBADMSG"):
            handle.read(first, last - first)
        assert handle.read(0, first) == block.content()[:first]
        assert handle.read(last, 4 * MIB) == block.content()[last:]


def test_bytes_before_a_bad_chunk_may_come_the_bad_one_never(make):
    block, disk = make(length=3 * MIB)
    disk.flip(disk.inside(block.path), 2 * MIB + 10)
    with disk.blockctl() as control:
        handle = control.open(block)
        with pytest.raises(BlockError) as caught:
            handle.read(0, 3 * MIB)
        assert caught.value.name == "EBADMSG"
        assert caught.value.exposed <= 2 * MIB


@pytest.mark.parametrize("chunk_number", [0, 1, 4096])
def test_flipped_checksum(make, chunk_number):
    block, disk = make()
    disk.flip(disk.meta_of(block), 7 + 4 * chunk_number)
    with disk.blockctl() as control:
        handle = control.open(block)
        with fails("EBADMSG"):
            handle.read(512 * chunk_number, 1)


def cut(file, length):
    with open(file, "r+b") as opened:
        opened.truncate(length)


@pytest.mark.parametrize(
    "change",
    [
        lambda block: block.meta.unlink(),
        lambda block: cut(block.meta, 0),
        lambda block: cut(block.meta, 6),
        lambda block: cut(block.meta, 7),
        lambda block: cut(block.meta, block.meta.stat().st_size - 1),
        lambda block: block.meta.write_bytes(b"\0\2" + block.meta.read_bytes()[2:]),
        lambda block: block.meta.write_bytes(b"\0\1\3" + block.meta.read_bytes()[3:]),
        lambda block: block.meta.write_bytes(b"\0\1\2\0\0\0\0" + block.meta.read_bytes()[7:]),
    ],
    ids=["missing", "empty", "half-header", "header-only", "short", "version", "type", "chunk-0"],
)
def test_unusable_meta(make, change):
    block, disk = make(change=change)
    with disk.blockctl() as control:
        with fails("EILSEQ"):
            control.open(block)
        (entry,) = control.list()
        assert entry["status"] == "EILSEQ" and ".meta" in f"its .meta is {entry['problem']}"


def test_block_without_checksums(make):
    block, disk = make(kind=NULL)
    with disk.blockctl() as control, fails("EOPNOTSUPP"):
        control.open(block)


def test_meta_of_another_genstamp(make):
    block, disk = make(genstamp=1005)
    with disk.blockctl() as control:
        with fails("EEXIST"):
            control.open(block, genstamp=1004)
        with fails("EEXIST"):
            control.open(block, genstamp=1006)
        assert control.open(block).read_all() == block.content()


def test_meta_whose_name_only_begins_alike(make):
    block, disk = make(change=lambda b: b.meta.rename(f"{b.meta}.tmp"))
    with disk.blockctl() as control, fails("EILSEQ"):
        control.open(block)


def test_shorter_than_the_visible_length(make):
    block, disk = make(change=lambda b: cut(b.data, b.length - 1))
    with disk.blockctl() as control:
        with fails("ERANGE"):
            control.open(block, block.length)
        handle = control.open(block, block.length - 200)
        assert handle.read_all() == block.content()[: block.length - 200]


def test_finalized_block_longer_than_its_meta_covers(make):
    def append(block):
        with open(block.data, "ab") as data:
            data.write(b"x" * 1000)

    block, disk = make(change=append)
    with disk.blockctl() as control, fails("EILSEQ"):
        control.open(block, block.length)


def test_block_being_written(make):
    """A block in rbw/ has more data than checksums.  Only the part with checksums may be read; an
    open with a longer visible length must fail."""

    def append(block):
        with open(block.data, "ab") as data:
            data.write(b"x" * 1000)

    block, disk = make(length=MIB, change=append, finalized=False)
    with disk.blockctl() as control:
        handle = control.open(block, block.length)
        assert not handle.finalized
        assert handle.read_all() == block.content()
        with fails("EILSEQ"):
            control.open(block, block.length + 1)


def test_appended_block_is_found_under_its_new_stamp(tmp_path, directory):
    """A block is in finalized/ with the old stamp and in rbw/ with the new one; each must be found
    by its stamp.  An append moves a block, and a stale view may show both for a moment."""
    old = directory.add(ID, 5000, genstamp=1001)
    new = directory.add(ID, 6000, genstamp=1002, finalized=False)
    disk = Disk(tmp_path, [directory])
    with disk.blockctl() as control:
        assert control.open(old).read_all() == old.content()
        assert control.open(new).read_all() == new.content()
        with fails("EEXIST"):
            control.open(old, genstamp=1003)


def punch(first, last):
    return lambda path: [f"punch {path} {first} {last}"]


def unwritten(first, last):
    return lambda path: [f"punch {path} {first} {last}", f"fallocate {path} {first} {last}"]


@pytest.mark.parametrize("damage", [punch, unwritten])
@pytest.mark.parametrize(("first", "last"), [(0, 0), (100, 101), (512, 512)])
def test_hole_or_unwritten_extent(make, damage, first, last):
    """Nobody has the file system mounted, so the zeros are all there is of those bytes."""
    block, disk = make()
    disk.debugfs(*damage(first, last)(disk.inside(block.path)))
    with disk.blockctl() as control:
        handle = control.open(block)
        assert handle.length == block.length
        with fails("EBADMSG"):
            handle.read(first * 4096, 1)
        assert handle.read(0, first * 4096) == block.content()[: first * 4096]
        rest = handle.read((last + 1) * 4096, 70_000)
        assert rest == block.content()[(last + 1) * 4096 :][:70_000]


def test_hole_in_meta(make):
    block, disk = make()
    disk.debugfs(f"punch {disk.meta_of(block)} 1 1")
    with disk.blockctl() as control:
        handle = control.open(block)
        assert handle.read(0, MIB // 4) == block.content()[: MIB // 4]
        with fails("EBADMSG"):
            handle.read(MIB * 3 // 4, 1)
        assert handle.read(5 * MIB // 4, 500) == block.content()[5 * MIB // 4 :][:500]


def test_without_an_extent(make):
    def make_sparse(block):
        with open(block.data, "r+b") as data:
            data.truncate(0)
            data.truncate(block.length)

    block, disk = make(change=make_sparse)
    with disk.blockctl() as control, fails("EBADMSG"):
        control.open(block).read_all()


FLAGS = {"encrypted": 0x800, "compressed": 0x200, "verity": 0x100000}
INLINE = 0x10000000


@pytest.mark.parametrize("kind", FLAGS)
def test_data_not_plainly_in_blocks(make, kind):
    block, disk = make()
    path = disk.inside(block.path)
    disk.debugfs(f"set_inode_field {path} flags {0x80000 | FLAGS[kind]:#x}")
    with disk.blockctl() as control, fails("ENODATA"):
        control.open(block)


def test_inline_data(tmp_path, directory):
    block = directory.add(ID, 40)
    disk = Disk(tmp_path, [directory], features="inline_data")
    with disk.blockctl() as control:
        assert control.open(block).read(0, 40) == block.content()


def test_extents_said_to_be_inline_data(make):
    block, disk = make()
    path = disk.inside(block.path)
    disk.debugfs(f"set_inode_field {path} flags {INLINE:#x}")
    with disk.blockctl() as control, fails("EIO"):
        control.open(block)


@pytest.mark.parametrize("kind", ["symlink", "directory"])
def test_not_a_regular_file(make, kind):
    def replace(block):
        block.data.unlink()
        if kind == "symlink":
            block.data.symlink_to("/etc/passwd")
        else:
            block.data.mkdir()

    block, disk = make(change=replace)
    with disk.blockctl() as control, fails("ENOENT"):
        control.open(block)


def test_folder_that_is_a_symlink_is_not_followed(make, directory):
    block, disk = make()
    folder = disk.inside(block.path.rsplit("/", 1)[0])
    disk.debugfs(f"symlink {folder[:-1]}9 {folder}")
    with disk.blockctl() as control:
        assert control.open(block).read_all() == block.content()
        with fails("ENOENT"):
            control.open(block, id=ID + (9 << 8))


# ---- changes between two steps of one reader


def test_data_damaged_after_it_was_read(make):
    block, disk = make()
    with disk.blockctl() as control:
        handle = control.open(block)
        assert handle.read(0, MIB) == block.content()[:MIB]
        disk.flip(disk.inside(block.path), 1000)
        with fails("EBADMSG"):
            handle.read(0, MIB)
        again = control.open(block)
        with fails("EBADMSG"):
            again.read(0, MIB)


@pytest.mark.parametrize("which", ["data", "meta"])
def test_inode_changed_under_an_open_handle(make, which):
    block, disk = make()
    path = disk.inside(block.path) if which == "data" else disk.meta_of(block)
    with disk.blockctl() as control:
        handle = control.open(block)
        assert handle.read(0, 10) == block.content()[:10]
        disk.debugfs(f"set_inode_field {path} mtime 20300101000000")
        assert handle.stat() == block.length  # found again
        assert handle.read_all() == block.content()
        assert control.open(block).read_all() == block.content()


def test_deleted_under_an_open_handle(make):
    block, disk = make()
    with disk.blockctl() as control:
        handle = control.open(block)
        path = disk.inside(block.path)
        disk.debugfs(f"rm {path}", f"rm {disk.meta_of(block)}")
        with fails("EAGAIN"):
            handle.read(0, 10)
        with fails("ENOENT"):
            control.open(block)


def test_truncated_under_an_open_handle(make):
    block, disk = make()
    with disk.blockctl() as control:
        handle = control.open(block)
        disk.debugfs(f"set_inode_field {disk.inside(block.path)} size 1000")
        with fails("EAGAIN"):
            handle.read(0, 10)
        with fails("ERANGE"):
            control.open(block, 1001)


def test_image_cut_under_an_open_handle(make):
    block, disk = make()
    with disk.blockctl() as control:
        handle = control.open(block)
        cut(disk.path, disk.image.offset + 4096)
        with fails("EIO"):
            handle.read(0, 10)
        with fails("EIO"):
            control.open(block)
