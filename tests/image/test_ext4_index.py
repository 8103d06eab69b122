# SPDX-License-Identifier: GPL-2.0-or-later
"""Names must be found by the hash index of a directory as they are found by a scan, and an index
that is damaged must not hide a name.  This machine's kernel and e2fsck make the directories, and
dirctl looks the names up."""

import os
import re
import struct
import subprocess
from dataclasses import dataclass

import pytest

from tests.support.disk import built
from tests.support.owner import Owner, fsync, needs_root, variants

pytestmark = [needs_root, pytest.mark.usefixtures("both_builds")]
BLOCK = 1024
SEED = "c3a1f8b0-5d2e-4b77-9d3c-0e6a4b1f2d90"
OLD = ["-O", "^64bit,^metadata_csum"]
FEW_BYTES = 8 * BLOCK  # of metadata, for a look-up by the index

# name: (arguments of mke2fs, commands of debugfs that follow)
KINDS = {
    "half-md4": ([], []),
    "legacy": ([], ["ssv def_hash_version legacy"]),
    "tea": ([], ["ssv def_hash_version tea"]),
    "unsigned-half-md4": ([], ["ssv flags 2"]),
    "unsigned-legacy": ([], ["ssv def_hash_version legacy", "ssv flags 2"]),
    "unsigned-tea": ([], ["ssv def_hash_version tea", "ssv flags 2"]),
    "no-checksums": (OLD, []),
    "block-maps": (["-O", "^extent,^64bit"], []),
    "bigalloc": (["-O", "bigalloc", "-C", "16384"], []),
}
QUICK = ("half-md4", "unsigned-tea", "no-checksums", "block-maps")
NAMES = [f"blk_{1 << 30 | n}{suffix}" for n in range(2000) for suffix in ("", "_1001.meta")]
NAMES += [f"größe-{n}" for n in range(50)]
ABSENT = [f"blk_{1 << 31 | n}" for n in range(300)] + ["größe", "x" * 255]


@dataclass(frozen=True)
class Found:
    index: str
    lookup: str
    bytes: int


def debugfs(path, *commands, write=True):
    mode = ["-w"] if write else []
    return subprocess.run(
        ["/sbin/debugfs", *mode, "-f", "-", path],
        input="".join(f"{command}\n" for command in commands),
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip


def dirctl(path, *commands):
    done = subprocess.run(
        [built("dirctl"), path], input="".join(f"{command}\n" for command in commands),
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines.pop() == "confirmed"
    return lines


def listed(path, folder="many"):
    lines = dirctl(path, f"list {folder}")
    assert lines.pop() == ""
    return dict(line.rsplit(" ", 1) for line in lines)


def find(path, names, folder="many"):
    names = list(names)
    lines = dirctl(path, *[f"find {folder} {name}" for name in names])
    found = {}
    for name, line in zip(names, lines, strict=True):
        index, lookup, size = line.split()
        found[name] = Found(index, lookup, int(size))
    return found


def check(path, names, absent=ABSENT):
    """The index must answer for every name, and as a scan does."""
    expected = listed(path)
    assert set(names) <= set(expected)
    for name, found in find(path, [*names, *absent]).items():
        inode = expected.get(name, "ENOENT")
        assert (found.index, found.lookup) == (inode, inode), name
        assert found.bytes <= FEW_BYTES, name


def owner_of(folder, options=(), commands=()):
    arguments = ["-b", str(BLOCK), "-E", f"hash_seed={SEED}", "-J", "size=4", *options]
    owner = Owner(folder, (arguments, ""), mib=64)
    if commands:
        debugfs(owner.path, *commands)
    return owner


def add(owner, names):
    """Names of a few files, because not all file systems have an inode for each."""
    folder = owner.root / "many"
    folder.mkdir(exist_ok=True)
    for n in range(10):
        (owner.root / f"file-{n}").touch()
    for n, name in enumerate(names):
        os.link(owner.root / f"file-{n % 10}", folder / name)
    fsync(folder)


def rebuild(owner):
    """e2fsck makes new indexes.  It exits 1 if it changed anything."""
    done = subprocess.run(["/sbin/e2fsck", "-fyD", owner.path], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout


def levels(owner):
    text = debugfs(owner.path, "htree /many", write=False)
    return 1 + int(text.split("Indirect levels:")[1].split()[0])


@pytest.mark.parametrize("kind", variants(KINDS, QUICK))
def test_every_name(tmp_path, kind):
    """While the names are only in the journal, after half of them were deleted, unmounted, and
    after e2fsck made the index anew."""
    with owner_of(tmp_path, *KINDS[kind]) as owner:
        add(owner, NAMES)
        check(owner.path, NAMES)
        for name in NAMES[::2]:
            (owner.root / "many" / name).unlink()
        fsync(owner.root / "many")
        check(owner.path, NAMES[1::2], [*ABSENT, *NAMES[::2]])
        owner.unmount()
        assert levels(owner) == 2
        check(owner.path, NAMES[1::2], [*ABSENT, *NAMES[::2]])
        rebuild(owner)
        check(owner.path, NAMES[1::2], [*ABSENT, *NAMES[::2]])


def test_three_levels(tmp_path):
    """With large_dir an index has one level more."""
    names = [str(n).ljust(200, "x") for n in range(40_000)]
    with owner_of(tmp_path, ["-O", "large_dir"]) as owner:
        add(owner, names)
        owner.unmount()
        assert levels(owner) == 3
        check(owner.path, names[::7])


# ---- damage ---------------------------------------------------------------------------

ROOT_INFO = 24  # in the root: reserved, hash version, length, levels, flags
ROOT_ENTRIES = 32


def blocks_of(owner):
    """The blocks of the directory, in its order."""
    return [int(word) for word in debugfs(owner.path, "blocks /many", write=False).split()
            if word.isdigit()]  # fmt: skip


class Node:
    """The root of an index, or another node."""

    def __init__(self, owner, block, entries=ROOT_ENTRIES):
        self.path, self.at, self.entries = owner.path, block * BLOCK, entries

    def put(self, offset, layout, *values):
        with open(self.path, "r+b") as image:
            image.seek(self.at + offset)
            image.write(struct.pack(f"<{layout}", *values))

    def get(self, offset, layout):
        with open(self.path, "rb") as image:
            image.seek(self.at + offset)
            return struct.unpack(f"<{layout}", image.read(struct.calcsize(f"<{layout}")))

    @property
    def limit(self):
        return self.get(self.entries, "H")[0]

    @property
    def count(self):
        return self.get(self.entries + 2, "H")[0]

    def child(self, n, block):
        self.put(self.entries + 8 * n + 4, "I", block)


def swap_hashes(node):
    first, second = node.entries + 8, node.entries + 16
    (one,), (two,) = node.get(first, "I"), node.get(second, "I")
    node.put(first, "I", two)
    node.put(second, "I", one)


# Each makes the index one that the kernel does not write.
DAMAGE = {
    "reserved": lambda root, _: root.put(ROOT_INFO, "I", 1),
    "hash-of-memory-only": lambda root, _: root.put(ROOT_INFO + 4, "B", 4),
    "siphash": lambda root, _: root.put(ROOT_INFO + 4, "B", 6),
    "length": lambda root, _: root.put(ROOT_INFO + 5, "B", 12),
    "levels": lambda root, _: root.put(ROOT_INFO + 6, "B", 2),
    "all-levels": lambda root, _: root.put(ROOT_INFO + 6, "B", 255),
    "flags": lambda root, _: root.put(ROOT_INFO + 7, "B", 1),
    "limit": lambda root, _: root.put(ROOT_ENTRIES, "H", root.limit + 1),
    "limit-and-count": lambda root, _: root.put(ROOT_ENTRIES, "HH", 0xFFFF, 0xFFFF),
    "count-none": lambda root, _: root.put(ROOT_ENTRIES + 2, "H", 0),
    "count-above-limit": lambda root, _: root.put(ROOT_ENTRIES + 2, "H", root.limit + 1),
    "child-is-root": lambda root, _: root.child(0, 0),
    "child-is-behind-the-end": lambda root, _: root.child(0, 0x0FFFFFFF),
    "child-is-a-leaf": lambda root, leaf: root.child(0, leaf),
    "node-limit": lambda root, _: first_node(root).put(8, "H", 1),
    "node-count": lambda root, _: first_node(root).put(8 + 2, "H", 0),
    "node-order": lambda root, _: swap_hashes(first_node(root)),
    "node-child-is-root": lambda root, _: all_children(first_node(root), 0),
}


def first_node(root):
    number = root.get(root.entries + 4, "I")[0]
    return Node(root.owner, blocks_of(root.owner)[number], 8)


def all_children(node, block):
    for n in range(node.count):
        node.child(n, block)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """An unmounted file system without checksums, and one with."""
    made = {}
    for name, options in (("plain", OLD), ("sums", [])):
        with owner_of(tmp_path_factory.mktemp(name), options) as owner:
            add(owner, NAMES)
        made[name] = owner
    return made


class Copy:
    """A copy of an owner's image, to be damaged."""

    def __init__(self, owner, folder):
        self.path = folder / "copy.raw"
        subprocess.run(["cp", "--sparse=always", owner.path, self.path], check=True)


def node_of(copy, number):
    node = Node(copy, blocks_of(copy)[number])
    node.owner = copy
    return node


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_index(tmp_path, plain, damage):
    """The names below the damage must be found by a scan, and those that are not there must not."""
    copy = Copy(plain["plain"], tmp_path)
    expected = listed(copy.path)
    root = node_of(copy, 0)
    a_leaf = 1  # the kernel moved the names of the first block to the second
    DAMAGE[damage](root, a_leaf)
    answers = find(copy.path, [*expected, *ABSENT])
    assert {name: found.lookup for name, found in answers.items()} == {
        **expected, **dict.fromkeys(ABSENT, "ENOENT"),
    }  # fmt: skip
    by_index = {found.index == "EIO" for found in answers.values()}
    assert True in by_index
    assert all(found.index in ("EIO", found.lookup) for found in answers.values())


def hashes(path, names):
    lines = debugfs(path, *[f"dx_hash -h half_md4 -s {SEED} {name}" for name in names], write=False)
    values = re.findall(r"^Hash of (\S+) is 0x([0-9a-f]+)", lines, re.M)
    return {name: int(value, 16) for name, value in values}


class Leaf(Node):
    def names(self):
        """name: (offset, bytes of the entry), in the order of the block"""
        found, at = {}, 0
        while at < BLOCK:
            _, length, size, _ = self.get(at, "IHBB")
            found[self.get(at + 8, f"{size}s")[0].decode()] = at, length
            at += length
        return found

    def take(self, name):
        """Removes a name; returns its inode and type."""
        at, _ = self.names()[name]
        inode, _, _, kind = self.get(at, "IHBB")
        self.put(at, "I", 0)
        return inode, kind

    def give(self, name, inode, kind):
        """Adds a name behind the last.  False: there is no room."""
        (last, (at, length)) = self.names().popitem()
        used = 8 + len(last) + 3 & ~3
        if length - used < 8 + len(name):
            return False
        self.put(at + 4, "H", used)
        self.put(at + used, f"IHBB{len(name)}s", inode, length - used, len(name), kind,
                 name.encode())  # fmt: skip
        return True


def go_on(owner, root, next_node):
    """Moves the last name of a leaf to the next leaf, as if names of its hash did not all fit into
    the first.  next_node: the next leaf is below the next node.  Returns the name."""
    blocks = blocks_of(owner)
    first, second = [
        Node(owner, blocks[root.get(root.entries + 8 * n + 4, "I")[0]], 8) for n in (0, 1)
    ]
    for n in [first.count - 1] if next_node else range(first.count - 1):
        below, k, above, entry = (second, 0, root, 1) if next_node else (first, n + 1, first, n + 1)
        one, two = [
            Leaf(owner, blocks[node.get(node.entries + 8 * i + 4, "I")[0]])
            for node, i in ((first, n), (below, k))
        ]
        known = hashes(owner.path, [name for name in one.names() if name.startswith("blk_")])
        name = max(known, key=known.get)
        if two.give(name, 1, 1):
            inode, kind = one.take(name)
            at, _ = two.names()[name]
            two.put(at, "I", inode)
            two.put(at + 7, "B", kind)
            above.put(above.entries + 8 * entry, "I", known[name] | 1)
            return name
    raise AssertionError("no leaf has room")


@pytest.mark.parametrize("next_node", [False, True], ids=["next-leaf", "next-node"])
def test_names_of_one_hash_go_on_in_the_next_leaf(tmp_path, plain, next_node):
    copy = Copy(plain["plain"], tmp_path)
    expected = listed(copy.path)
    name = go_on(copy, Node(copy, blocks_of(copy)[0]), next_node)
    done = subprocess.run(["/sbin/e2fsck", "-fn", copy.path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert listed(copy.path) == expected
    assert find(copy.path, [name])[name].index == expected[name]
    check(copy.path, expected)


def test_no_index(tmp_path):
    with owner_of(tmp_path, ["-O", "^dir_index"]) as owner:
        add(owner, NAMES)
        owner.unmount()
        expected = listed(owner.path)
        assert set(expected) == set(NAMES)
        for name, found in find(owner.path, [*NAMES[:50], *ABSENT[:50]]).items():
            assert (found.index, found.lookup) == ("EIO", expected.get(name, "ENOENT"))


@pytest.mark.parametrize("flag", [0x800, 0x40000000], ids=["encrypted", "casefolded"])
def test_names_that_are_hashed_in_another_way(tmp_path, plain, flag):
    """The index of such a directory must not be used, because names hash in another way there."""
    copy = Copy(plain["sums"], tmp_path)
    debugfs(copy.path, f"sif /many flags {0x81000 | flag:#x}")
    expected = listed(copy.path)
    for name, found in find(copy.path, [*NAMES[:50], *ABSENT[:50]]).items():
        assert (found.index, found.lookup) == ("EIO", expected.get(name, "ENOENT"))


def test_non_ascii_names_without_a_sign(tmp_path, plain):
    """If the superblock does not say whether chars are signed, the index must answer only for names
    for which it does not matter."""
    copy = Copy(plain["sums"], tmp_path)
    debugfs(copy.path, "ssv flags 0")
    expected = listed(copy.path)
    for name, found in find(copy.path, [*NAMES, *ABSENT]).items():
        inode = expected.get(name, "ENOENT")
        assert (found.index, found.lookup) == (inode if name.isascii() else "EIO", inode)


@pytest.mark.parametrize("number", [0, 1], ids=["root", "leaf"])
def test_wrong_checksum(tmp_path, plain, number):
    """No name may come out of a block whose checksum is wrong."""
    copy = Copy(plain["sums"], tmp_path)
    node = node_of(copy, number)
    at = ROOT_ENTRIES + 12  # in the root: the block of the second entry
    (byte,) = node.get(at, "B")
    node.put(at, "B", byte ^ 1)
    answers = find(copy.path, [*NAMES, *ABSENT])
    failed = {name for name, found in answers.items() if found.index == "EIO"}
    assert all(answers[name].lookup == "EIO" for name in failed)
    assert failed == set(answers) if number == 0 else 0 < len(failed) < 200


def test_dots(tmp_path, plain):
    """ "." and ".." are in the root of the index and not in a leaf."""
    owner = plain["sums"]
    inode = debugfs(owner.path, "stat /many", write=False).split("Inode: ")[1].split()[0]
    found = find(owner.path, [".", ".."])
    assert (found["."].lookup, found[".."].lookup) == (inode, "2")
