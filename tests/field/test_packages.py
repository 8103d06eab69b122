# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports about packages: users and groups that are there already, modules that DKMS builds for
another kernel than the one that is installed.  The rows are in README.md."""

import os
import re
import subprocess

import pytest

from tests.support.daemon import Daemon, Image
from tools.vreadd import REPOSITORY

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")

# A system of its own as far as the scripts of packages change it: /etc, /var/lib/vread and /run.
SYSTEM = """
mount --make-rprivate / && mount -t tmpfs tmpfs "$1" && mkdir "$1/upper" "$1/work" &&
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/upper,workdir=$1/work" /etc &&
mkdir -p "$1/lib" && mount -t tmpfs tmpfs /run && shift && set -e
"""
BEFORE = {
    "nothing": ":",
    "the group": "addgroup --quiet {name}",
    "a system group": "addgroup --quiet --system {name}",
    "user and group": "adduser --quiet --system --group --no-create-home {name}",
    "an installation before": "sh -e {script} configure ''",
}


@needs_root
@pytest.mark.parametrize(
    "package,name,before",
    [("vread-backend", "vreadd", before) for before in BEFORE]
    + [("vread-frontend-dkms", "vread", before) for before in BEFORE if "user" not in before],
)
def test_a_package_where_its_group_exists(package, name, before, tmp_path):
    """The operator, or an image that was made beforehand, has made the group."""
    script = REPOSITORY / f"debian/{package}.postinst"
    prepare = BEFORE[before].format(name=name, script=script)
    steps = f"{SYSTEM}{prepare}\nsh -e {script} configure ''\ngetent group {name}\nid {name} || :"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", steps, "sh", tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"^{name}:x:\d+:", done.stdout, re.M)
    if package == "vread-backend":
        assert re.search(rf"uid=\d+\({name}\) gid=\d+\({name}\)", done.stdout), done.stdout


@needs_root
@pytest.mark.parametrize("how", ["remove", "upgrade", "purge"])
def test_the_keys_of_an_authority_outlive_the_package(how, tmp_path):
    """What a removal takes is what can be made again, and only a purge takes that."""
    script = REPOSITORY / "debian/vread-backend.postrm"
    steps = f"""{SYSTEM}
        mkdir -p /etc/vread/peers /var/lib/vread/layouts && echo key >/etc/vread/peers/ca.key
        echo layout >/var/lib/vread/layouts/dn1.json && sh -e {script} {how}
        cat /etc/vread/peers/ca.key; cat /var/lib/vread/layouts/dn1.json || :"""
    state = f"mkdir -p /var/lib && mount -t tmpfs tmpfs /var/lib && {steps}"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", state, "sh", tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["key"] + ["layout"] * (how != "purge")


def test_state_of_a_later_release_is_kept(tmp_path):
    """After a downgrade: what this release does not understand is neither replaced nor believed.
    Tokens are required, and no storage that two datanodes show is served."""
    record, tokens = tmp_path / "storages", tmp_path / "tokens/dn1.json"
    tokens.parent.mkdir()
    record.write_text("vread-storages 12 1\nDS-1 dn9 since=2030\n")
    tokens.write_text('{"version": 12}\n')
    before = record.read_bytes(), tokens.read_bytes()
    daemon = Daemon(tmp_path, Image(tmp_path))
    status = daemon.status()
    assert daemon.stop() == 0
    assert (record.read_bytes(), tokens.read_bytes()) == before
    problem = status["storage_record"]["problem"]
    assert "it is of a later release of vRead: expected" in problem
    assert 'a version from 1 to 3, not "vread-storages 12 1"' in problem
    assert status["datanodes"][0]["tokens"]["required"] is True


def sources(folder):
    """What DKMS builds."""
    subprocess.run(
        [REPOSITORY / "linux-frontend/build.sh", "--sources", folder],
        check=True,
        capture_output=True,
    )
    return {path.name: path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_the_module_is_built_for_the_kernel_that_comes(tmp_path):
    """And not for the one that runs, whose headers an upgrade may have removed."""
    files = sources(tmp_path / "vread")
    conf = files["dkms.conf"]
    for line in re.findall(r"^(?:MAKE\[0\]|CLEAN)=(.*)$", conf, re.M):
        assert "${kernel_source_dir}" in line
    for name, text in files.items():
        assert "uname -r" not in text and "/lib/modules/$(" not in text, name


def test_a_warning_of_a_later_compiler_breaks_no_upgrade(tmp_path):
    """A module that does not compile leaves the kernel's own packages unconfigured.  Warnings are
    errors where vRead is made, and not where DKMS builds."""
    files = sources(tmp_path / "vread")
    for name in ("dkms.conf", "Kbuild"):
        assert "Werror" not in files[name] and "W=1" not in files[name]
