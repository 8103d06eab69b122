# SPDX-License-Identifier: GPL-2.0-or-later
"""A Debian 12 that has vRead's packages becomes a Debian 13, as Debian's release notes say it.

One repository has the packages of both releases in one pool.  The operator names Debian 13's suites
in apt's lists, then has apt upgrade the whole system.  So the packages are upgraded together with
the libraries that they need, with systemd, which runs them, and with DKMS and the kernel's headers.
The tests run in order.
"""

import hashlib
import shutil

import pytest

from tests.support.debian_packages import BOOKWORM, NO_DEBOOTSTRAP, TRIXIE, make_deb
from tests.support.debian_root import SOURCES, DebianRoot
from tests.support.installed_packages import (
    BLOCK_ID,
    CONFIG,
    KERNELS,
    PACKAGES,
    SUFFIXES,
    by_name,
    field,
    left_of,
    main_pid,
    module_states,
    put_image,
    read_block,
    released,
    unit_states,
)
from tests.support.owner import needs_root
from tools.vreadd import REPOSITORY

pytestmark = [
    pytest.mark.slow,
    needs_root,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not shutil.which("debootstrap"), reason=NO_DEBOOTSTRAP),
]

OURS = "deb [trusted=yes] file:/srv/repository {suite}/\n"
WHOLE_SYSTEM = 3000  # seconds, for apt to upgrade some hundred packages
# Nothing here must outlive a loss of power.
QUICKLY = ("-o", "Dpkg::Options::=--force-unsafe-io")


@pytest.fixture(scope="module")
def packages():
    """{suite: {name: path}}"""
    return {suite: by_name(make_deb(suite, REPOSITORY)) for suite in (BOOKWORM, TRIXIE)}


def stanza(path):
    """A package's entry in the index of a repository."""
    control = field(path)
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return f"{control}\nFilename: pool/{path.name}\nSize: {len(data)}\nSHA256: {digest}\n"


def publish(packages, folder):
    """Makes a repository: one pool, and an index for each release of Debian."""
    pool = folder / "pool"
    pool.mkdir(parents=True)
    for suite, found in packages.items():
        for path in found.values():
            shutil.copy(path, pool)
        (folder / suite).mkdir()
        (folder / suite / "Packages").write_text("\n".join(map(stanza, found.values())))


def use(root, suite):
    """Names the release in apt's lists."""
    root.file("/etc/apt/sources.list").write_text(SOURCES.format(suite=suite))
    root.file("/etc/apt/sources.list.d/ours.list").write_text(OURS.format(suite=suite))
    root.run("apt-get", "update")


def installed(root):
    """{name: version} of vRead's packages of which dpkg knows anything."""
    form = "${Package} ${Version} ${db:Status-Status}\n"
    listed = root.run("dpkg-query", "-W", "-f", form, "*vread*", check=False).splitlines()
    found = [line.split(" ") for line in listed if "vread" in line.split(" ")[0]]
    return {name: version for name, version, status in found if status != "not-installed"}


@pytest.fixture(scope="module")
def root(packages, tmp_path_factory):
    with DebianRoot(BOOKWORM, tmp_path_factory.mktemp("debian") / "root") as root:
        publish(packages, root.file("/srv/repository"))
        use(root, BOOKWORM)
        root.run("apt-get", "install", "-y", "--no-install-recommends", *QUICKLY, *PACKAGES)
        yield root


@pytest.fixture(scope="module")
def image(root, tmp_path_factory):
    return put_image(root, tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def of_operator(root, image):
    """{unit: state} after an operator has changed the configuration and two units."""
    root.file("/etc/vread/vread.conf").write_text(CONFIG)
    root.run("systemctl", "restart", "vreadd")
    root.run("systemctl", "disable", "xl-vread.service")
    root.run("systemctl", "enable", "vread-metrics.timer")
    return unit_states(root)


def test_debian_12_has_its_own(root, packages, image, of_operator):
    version = f"{released(packages[BOOKWORM])}+{SUFFIXES[BOOKWORM]}"
    assert installed(root) == dict.fromkeys(PACKAGES, version)
    assert read_block(root, image) == image.contents[BLOCK_ID]
    assert (of_operator["vreadd.service"], of_operator["xl-vread.service"]) == (
        "enabled",
        "disabled",
    )
    assert of_operator["vread-metrics.timer"] == "enabled"
    assert of_operator["vread-ivshmem.service"] == "disabled"


def test_the_system_is_upgraded(root, packages, of_operator):
    """apt asks no question about a configuration file, and takes none of the packages away.  The
    test takes minutes: apt fetches and unpacks Debian 13."""
    before = main_pid(root)
    use(root, TRIXIE)
    root.run("apt-get", "upgrade", "-y", "--without-new-pkgs", *QUICKLY, timeout=WHOLE_SYSTEM)
    root.run("apt-get", "full-upgrade", "-y", *QUICKLY, timeout=WHOLE_SYSTEM)
    assert root.file("/etc/debian_version").read_text().startswith("13.")
    assert root.run("dpkg", "--audit") == ""
    version = f"{released(packages[TRIXIE])}+{SUFFIXES[TRIXIE]}"
    assert installed(root) == dict.fromkeys(PACKAGES, version)
    needed = field(packages[TRIXIE]["vread-backend"], "Depends")
    assert needed == root.run("dpkg-query", "-W", "-f", "${Depends}", "vread-backend")
    assert main_pid(root) not in (before, "0")


def test_what_the_operator_chose_is_kept(root, of_operator):
    assert root.file("/etc/vread/vread.conf").read_text() == CONFIG
    assert [path.name for path in root.file("/etc/vread").glob("*.dpkg-*")] == []
    assert unit_states(root) == of_operator
    assert root.run("systemctl", "is-active", "vreadd").strip() == "active"


def test_the_new_programs_serve(root, packages, image):
    version = released(packages[TRIXIE])
    assert root.run("vread", "version").split() == ["vread", version]
    assert read_block(root, image) == image.contents[BLOCK_ID]
    ready = [line for line in module_states(root) if line.endswith(": installed")]
    assert any(line.startswith(f"vread/{version}, {KERNELS[TRIXIE]}") for line in ready), ready


def test_purge_leaves_nothing(root):
    assert {"/etc/vread/vread.conf", "vreadd.service"} <= left_of(root)
    root.run("apt-get", "purge", "-y", *PACKAGES)
    root.run("systemctl", "daemon-reload")
    assert installed(root) == {}
    assert left_of(root) == set()
