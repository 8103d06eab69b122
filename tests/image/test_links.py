# SPDX-License-Identifier: GPL-2.0-or-later
"""Data directories behind symbolic links.  Inside one file system they must be followed as the
guest's kernel would.  Where a link leads elsewhere, the message must name link and target."""

import subprocess

import pytest

from tests.image.test_discover import DIR, data_dirs, found, tree_with, why_not
from tests.support.disk import blockctl
from tests.support.owner import Owner, fsync, needs_root
from tests.support.volumes import make_ext
from tests.support.xfs_owner import XfsOwner
from tools.vreadd import DataDirs

pytestmark = pytest.mark.usefixtures("both_builds")
LONG = "very-long-name/" * 20  # a target that does not fit into the inode

# {link: target}, in a file system with a data directory at /dfs/data.
LINKS = {
    "one": "dfs/data",
    "absolute": "/dfs/data",
    "first": "second",
    "second": "third",
    "third": "/one",
    "deep/down": "../dfs/./data",
    "out": "../../../dfs/data",
    "folder": "dfs",
    "long": LONG + "../" * 20 + "dfs/data",
    "slashes": "//dfs///data/",
}


def add_links(root, links):
    (root / LONG).mkdir(parents=True)
    for link, target in links.items():
        (root / link).parent.mkdir(exist_ok=True)
        (root / link).symlink_to(target)


def paths_of(links):
    return [f"/{link}" + ("/data" if link == "folder" else "") for link in links]


@pytest.mark.parametrize(
    ("kind", "options"), [("ext4", ()), ("ext4", ("-O", "inline_data", "-I", "512")), ("ext2", ())]
)
def test_followed_in_ext(tmp_path, kind, options):
    tree, directory = tree_with(tmp_path / "tree")
    block = directory.add(7, 300_000)
    add_links(tree, LINKS)
    image = make_ext(tmp_path / "fs", tree, kind, options=options)
    for path in paths_of(LINKS):
        systems, missing = found(image, path)
        assert (data_dirs(systems), missing) == ([("none", DIR, "DS-1")], None), path
    with blockctl(dn1=DataDirs(image, ["/long"])) as control:
        assert control.open(block).read_all() == block.content()


@needs_root
@pytest.mark.parametrize("make", [Owner, XfsOwner])
def test_followed_while_mounted(tmp_path, make):
    """Links that were just made, so that they are in the journal only."""
    with make(tmp_path) as owner:
        block = owner.write(1, b"x" * 100_000)
        owner.fsync(block)
        (owner.root / "dfs").mkdir()
        (owner.root / "dfs/data").symlink_to("/data")
        add_links(owner.root, LINKS)
        fsync(owner.root)
        systems, missing = found(owner.path, *paths_of(LINKS))
        assert (data_dirs(systems), missing) == ([("none", "/data", "DS-1")], None)
        with blockctl(dn1=DataDirs(owner.path, ["/long"])) as control:
            assert control.open(block).read_all() == block.content


@needs_root
@pytest.mark.thorough
@pytest.mark.parametrize("variant", ["1k", "large-sectors", "16k"])
def test_long_links_of_xfs(tmp_path, variant):
    """A target of up to 1023 bytes takes several blocks if these are small."""
    with XfsOwner(tmp_path, variant) as owner:
        for length in (100, 336, 337, 700, 967, 968, 1023):
            name = f"l{length}"
            (owner.root / name).symlink_to("/" * (length - 4) + "data")
        owner.unmount()
        for length in (100, 336, 337, 700, 967, 968, 1023):
            systems, missing = found(owner.path, f"/l{length}")
            assert (data_dirs(systems), missing) == ([("none", "/data", "DS-1")], None), length


def test_a_link_and_its_target(tmp_path):
    """Both may be named; there is one directory."""
    tree, _ = tree_with(tmp_path / "tree")
    (tree / "link").symlink_to("dfs/data")
    systems, missing = found(make_ext(tmp_path / "fs", tree), "/link", DIR)
    assert (data_dirs(systems), missing) == ([("none", DIR, "DS-1")], None)


def test_current_behind_a_link(tmp_path):
    tree, directory = tree_with(tmp_path / "tree", "/real")
    block = directory.add(7, 1000)
    (tree / "dfs").mkdir()
    (tree / "dfs/current").symlink_to("../real/current")
    image = make_ext(tmp_path / "fs", tree)
    systems, missing = found(image, "/dfs")
    assert (data_dirs(systems), missing) == ([("none", "/real", "DS-1")], None)
    with blockctl(dn1=DataDirs(image, ["/dfs"])) as control:
        assert control.open(block).read_all() == block.content()


# {link: (target, what is said)}
ASTRAY = {
    "disk": ("/mnt/disk1/dfs", "/disk is a symbolic link to /mnt/disk1/dfs, which has no file"),
    "self": ("self", "/self is one of too many symbolic links"),
    "a": ("b/b/b/b/b/b/b/b", "is one of too many symbolic links"),
    "nowhere": ("none", "/nowhere is a symbolic link to none, which has no file"),
    "file": ("VERSION", "/file is a symbolic link to VERSION, which has no file"),
}


@pytest.mark.parametrize("link", ASTRAY)
def test_astray(tmp_path, link):
    target, said = ASTRAY[link]
    tree, _ = tree_with(tmp_path / "tree")
    (tree / "VERSION").write_text("x")
    (tree / "b").symlink_to("c/c/c/c/c/c/c/c")
    (tree / "c").symlink_to(".")
    (tree / link).symlink_to(target)
    missing = why_not(make_ext(tmp_path / "fs", tree), f"/{link}/x" if link == "a" else f"/{link}")
    assert said in missing
    assert "formatted" not in missing


def test_to_another_disk(tmp_path):
    """The link is on the system's disk, and the directory on a disk of its own."""
    tree = tmp_path / "root"
    tree.mkdir()
    (tree / "hadoop").symlink_to("/mnt/disk1/hadoop")
    system = make_ext(tmp_path / "system", tree)
    disk, _ = tree_with(tmp_path / "disk", "/hadoop")
    data = make_ext(tmp_path / "data", disk)
    systems, missing = found([system, data], "/hadoop")
    assert (data_dirs(systems), missing) == ([("none", "/hadoop", "DS-1")], None)
    tree, _ = tree_with(tmp_path / "other", "/dn")
    _, missing = found([system, make_ext(tmp_path / "data", tree)], "/hadoop")
    assert "/hadoop is a symbolic link to /mnt/disk1/hadoop" in missing
    assert "name its path inside that disk's file system" in missing


def test_a_link_that_changes(tmp_path):
    """The directory is moved behind its link.  The next look must follow the link anew."""
    tree, directory = tree_with(tmp_path / "tree", "/old")
    block = directory.add(7, 1000)
    (tree / "link").symlink_to("old")
    image = make_ext(tmp_path / "fs", tree)
    with blockctl(dn1=DataDirs(image, ["/link"])) as control:
        assert control.open(block).read_all() == block.content()
        (tree / "link").unlink()
        (tree / "old").rename(tree / "new")
        (tree / "link").symlink_to("new")
        image.write_bytes(make_ext(tmp_path / "moved", tree).read_bytes())
        control.look()
        assert control.open(block).read_all() == block.content()
        (status,) = control.status()
        assert data_dirs(status["filesystems"]) == [("none", "/new", "DS-1")]


def test_damaged_links(tmp_path):
    """A guest may write any length and any place into a link's inode."""
    tree, _ = tree_with(tmp_path / "tree")
    (tree / "link").symlink_to("x" * 100)
    image = make_ext(tmp_path / "fs", tree, options=("-O", "^metadata_csum"))
    pristine = image.read_bytes()
    for field, value in {
        "size": 5000,
        "block[5]": 0xFFFFFFF0,
        "links_count": 0,
    }.items():
        image.write_bytes(pristine)
        command = f"set_inode_field /link {field} {value}"
        subprocess.run(
            ["/sbin/debugfs", "-w", "-R", command, image], check=True, capture_output=True
        )
        assert "cannot be read" in why_not(image, "/link"), field
