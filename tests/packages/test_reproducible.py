# SPDX-License-Identifier: GPL-2.0-or-later
"""Equal sources make equal packages, and an equal Maven repository, in whichever folder and at
whatever time they are built: users can check that the packages which they were given are made from
the sources which they see.  Packages are equal if they are built on the same release of Debian."""

import hashlib
import subprocess

import pytest

from tests.support.debian_packages import RELEASES, make_deb
from tools.vreadd import REPOSITORY

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def run(*command, folder):
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def copy_of_the_tree(folder):
    """Copies what git tracks or would track, and makes it a repository: the build asks git."""
    listed = run(
        "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder=REPOSITORY
    )
    names = [name for name in listed.split("\0") if name and (REPOSITORY / name).is_file()]
    folder.mkdir()
    subprocess.run(
        ["cp", "--parents", "--target-directory", folder, *names], cwd=REPOSITORY, check=True
    )
    run("git", "init", "-q", folder=folder)
    run("git", "add", "-A", folder=folder)


def digests(paths):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def packages_of(suite, folder):
    found = make_deb(suite, folder).iterdir()
    return digests(path for path in found if path.name.endswith((".deb", ".spdx.json")))


def maven_repository_of(folder):
    run("make", "NO_SETUP=1", "maven-repo", folder=folder)
    found = (folder / "build/maven-repo").rglob("*")
    return digests(path for path in found if path.is_file())


@pytest.mark.parametrize("suite", RELEASES)
def test_two_builds_are_equal(suite, tmp_path):
    here = packages_of(suite, REPOSITORY)
    assert len(here) > 7 and "vread.spdx.json" in here
    other = tmp_path / "a-folder-of-another-name"
    copy_of_the_tree(other)
    assert packages_of(suite, other) == here


def test_two_maven_repositories_are_equal(tmp_path):
    """Neither is the tree's own, whose objects may have been compiled in yet another folder."""
    one, other = tmp_path / "one", tmp_path / "another-folder"
    for folder in (one, other):
        copy_of_the_tree(folder)
    made = maven_repository_of(one)
    assert len(made) == 20
    assert maven_repository_of(other) == made
