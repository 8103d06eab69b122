# SPDX-License-Identifier: GPL-2.0-or-later
"""vRead's packages, and what they do once they are installed in a Debian with systemd.

    packages = by_name(folder)
    install(root, packages.values())
    read_block(root, image)

The packages serve one datanode, whose image is a file, on a local socket.  test_packages.py and
test_debian_upgrade.py of tests/packages call this.
"""

import subprocess

from tests.support.daemon import SIZES, Image
from tests.support.debian_packages import BOOKWORM, TRIXIE
from tests.support.hdfs_dir import POOL
from tests.support.waiting import eventually

PACKAGES = [
    "libvread-dev",
    "libvread1",
    "vread-backend",
    "vread-bench",
    "vread-frontend-dkms",
    "vread-hdfs",
    "vread-tools",
]
SUFFIXES = {BOOKWORM: "deb12u1", TRIXIE: "deb13u1"}
KERNELS = {BOOKWORM: "6.1.", TRIXIE: "6.12."}
BLOCK_ID = next(iter(SIZES))
SERVED = f"{POOL}/blk_{BLOCK_ID}_"
CONFIG = """
[xen]
enabled = no
[local]
socket = /run/vread/local.sock
allow-datanodes = dn1
[datanode dn1]
image = /srv/dn.img
data-dirs = /dfs/data
"""


def by_name(folder):
    """{name: path} of the packages in a folder, without those of debug symbols."""
    found = {path.name.split("_")[0]: path for path in sorted(folder.glob("*.deb"))}
    return {name: path for name, path in found.items() if not name.endswith("-dbgsym")}


def field(package, *name):
    """A field of a package's control data, or without a name all of them."""
    command = ["dpkg-deb", "--field", package, *name]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def released(packages):
    """The version of the programs: that of the packages without the release of Debian."""
    return field(packages["vread-tools"], "Version").partition("+")[0]


def put_image(root, folder):
    """A datanode's image, which is put where CONFIG has it."""
    image = Image(folder)
    subprocess.run(["cp", image.path, root.file("/srv/dn.img")], check=True)
    root.file("/srv/dn.img").chmod(0o600)
    return image


def main_pid(root):
    return root.run("systemctl", "show", "-P", "MainPID", "vreadd").strip()


def told(root):
    """What systemd and vreadd say of the service."""
    return root.run("systemctl", "status", "--no-pager", "--lines=100", "vreadd", check=False)


def read_block(root, image):
    """The block's bytes, which the installed vread reads from the installed vreadd."""
    block = next(block for block in image.blocks if block.id == BLOCK_ID)
    name = f"{SERVED}{block.genstamp}@{block.storage}"
    endpoint = ["vread", "--endpoint", "/run/vread/local.sock"]
    eventually(
        lambda: "finalized" in root.run(*endpoint, "stat", name, check=False),
        what=lambda: told(root),
    )
    return root.output(*endpoint, "cat", name)


def module_states(root):
    return root.run("dkms", "status", "vread").splitlines()


def unit_states(root):
    """{unit: "enabled" or another state} of the packages' units."""
    # Without a pattern: if no unit matches it, Debian 13's systemctl ends with an error.
    listed = root.run("systemctl", "list-unit-files", "--no-legend").splitlines()
    return {words[0]: words[1] for words in map(str.split, listed) if "vread" in words[0]}


def left_of(root):
    """Paths on the disk that have vRead's name, and units and modules of that name."""
    volatile = ("/dev", "/proc", "/run", "/srv", "/sys", "/tmp")
    paths = {path for path in root.files(*volatile) if "vread" in path}
    return paths | set(unit_states(root)) | set(module_states(root))
