# SPDX-License-Identifier: GPL-2.0-or-later
"""The recipe for the image of a client names packages and files that are in the tree.  No image is
built: there is no container runtime where the tests run.  The slow test does what the recipe says
in a minimal Debian.
"""

import re
import shutil
import subprocess

import pytest

from tests.support.owner import needs_root
from tools import debootstrap
from tools.vreadd import REPOSITORY

RECIPE = (REPOSITORY / "tools/container/Containerfile").read_text()
# Instructions without comments, one a line.
LINES = re.sub(r"^#.*\n", "", RECIPE, flags=re.M).replace("\\\n", " ")
CONTROL = (REPOSITORY / "debian/control").read_text()


def instruction(name):
    (found,) = re.findall(rf"^{name} (.*)$", LINES, re.M)
    return found.split()


def packages():
    return set(re.findall(r"^Package: (.*)$", CONTROL, re.M))


def test_it_copies_packages_of_ours():
    *sources, target = instruction("COPY")
    names = [source.removesuffix("_*.deb") for source in sources]
    assert {f"{name}_*.deb" for name in names} == set(sources)
    assert set(names) <= packages() and "vread-hdfs" in names
    words = instruction("RUN")
    assert f"{target}*.deb" in words
    assert "build/deb" in RECIPE and "make deb" in RECIPE  # where they come from


def test_it_installs_what_the_packages_suggest():
    """The only other package is the JRE, by the name that debian/control has."""
    words = instruction("RUN")
    first = words.index("--no-install-recommends") + 1
    named = [word for word in words[first : words.index("&&", first)] if "/" not in word]
    assert named == ["default-jre-headless"]
    (section,) = re.findall(r"^Package: vread-hdfs$.*?^$", CONTROL + "\n", re.M | re.S)
    assert named[0] in re.search("^Suggests: (.*)$", section, re.M)[1].split(", ")


def test_the_base_is_the_suite_of_the_packages():
    assert instruction("FROM") == ["docker.io/library/debian:12-slim"]
    assert ") bookworm;" in (REPOSITORY / "debian/changelog").read_text()


def test_the_class_path_has_the_jar_of_the_package():
    (value,) = instruction("ENV")
    jar = value.removeprefix("HADOOP_CLASSPATH=/")
    name = jar.rpartition("/")[2]
    installed = (REPOSITORY / "debian/vread-hdfs.install").read_text().split()
    assert jar in installed
    makefile = (REPOSITORY / "Makefile").read_text()
    assert re.search(rf"\$\(PREFIX\)/share/vread build/java/{re.escape(name)}$", makefile, re.M)


def test_it_runs_as_a_user_that_it_makes():
    (user,) = instruction("USER")
    assert user != "root"
    assert re.search(rf"useradd .*\b{user}$", LINES, re.M)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@needs_root
def test_its_steps_in_a_minimal_debian(tmp_path):
    """Files are copied, RUN is run, and the user has the command, a JVM and the jar.  What a
    runtime does to a container (the device, groups, limits) is no part of it."""
    made = subprocess.run(["make", "-C", REPOSITORY, "deb"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    root = tmp_path / "root"
    root.mkdir()
    subprocess.run(["tar", "-C", root, "-xpf", debootstrap.packed("bookworm", ())], check=True)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    *sources, target = instruction("COPY")
    folder = root / target.strip("/")
    folder.mkdir()
    for source in sources:
        (package,) = (REPOSITORY / "build/deb").glob(source)
        shutil.copy(package, folder)
    debootstrap.run_in(root, "sh", "-c", " ".join(instruction("RUN")))
    assert not folder.exists()
    (user,), (environment,) = instruction("USER"), instruction("ENV")
    as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    told = "vread version && java -cp $HADOOP_CLASSPATH io.vread.Version"
    said = debootstrap.run_in(root, "env", environment, *as_user, "sh", "-c", told)
    (_, version), (_, jar), (_, of_jar), _ = (line.split() for line in said.splitlines())
    assert (jar, of_jar) == (environment.partition("=")[2], version)
    assert debootstrap.run_in(root, "stat", "-c", "%U", *instruction("WORKDIR")).strip() == user
