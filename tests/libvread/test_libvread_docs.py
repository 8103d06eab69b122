# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the files that are shipped with the library: man page, header, pkg-config file."""

import re
import subprocess

import pytest

from tests.libvread import vreadlib
from tests.libvread.conftest import BUILD

FOLDER = BUILD.parent / "hdfs-native/libvread"
PAGE = (FOLDER / "libvread.3").read_text()


def test_man_page_covers_every_call_and_error():
    header = (FOLDER / "vread.h").read_text()
    declared = set(re.findall(r"^(?!typedef|static)[a-z].*?\b(vread_[a-z_]+)\(", header, re.M))
    assert declared == set(vreadlib.PROTOTYPES)
    inline = set(re.findall(r"^static inline int (vread_[a-z_]+)\(", header, re.M))
    assert {f"{name}_sized" for name in inline} == {n for n in declared if n.endswith("_sized")}
    for name in declared | inline:
        assert re.search(rf"^\.Nm {name}\b", PAGE, re.M), name
        assert re.search(rf"^\.F[no] \"?{name}\b", PAGE, re.M), name
    errors = re.findall(
        r"^ \*   (E[A-Z]+) ", (FOLDER / "../../xenstore-schema/vreadif.h").read_text(), re.M
    )
    assert len(errors) > 15
    for name in set(errors) - {"ESRCH"}:
        assert f".It Er -{name}\n" in PAGE, name


def test_every_member_is_in_the_man_page():
    for structure in ("vread_options", "vread_block", "vread_stat", "vread_completion"):
        header = (FOLDER / "vread.h").read_text()
        body = re.search(rf"struct {structure} {{(.*?)^}}", header, re.S | re.M)[1]
        body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        for name in re.findall(r"(\w+);", body):
            assert name in ("slot", "reserved") or f"Va {name}" in PAGE, name


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The program of the man page's example, built as a user would build it."""
    text = re.search(r"^\.Bd -literal.*?\n(.*?)^\.Ed", PAGE, re.S | re.M)[1]
    folder = tmp_path_factory.mktemp("example")
    source = text.replace("\\e", "\\").replace("BP-1-10.0.0.1-1700000000000", "BP-1-127.0.0.1-1")
    (folder / "example.c").write_text(source)
    library = BUILD / "release/libvread.so.1"
    command = ["gcc", "-Wall", "-Wextra", "-Werror", f"-I{FOLDER}", "-o", folder / "example"]
    subprocess.run([*command, folder / "example.c", library], check=True)
    return folder / "example"


def test_example(example, vreadd, served):
    env = {"VREAD_ENDPOINT": vreadd.endpoint, "LD_LIBRARY_PATH": str(BUILD / "release")}
    env |= vreadlib.clock.environment
    done = subprocess.run([example], env=env, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == served[1]["large"].content()
    env["VREAD_ENDPOINT"] = "/nowhere"
    done = subprocess.run([example], env=env, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"connect: ")


@pytest.mark.parametrize("compiler", [["gcc", "-std=c99", "-pedantic"], ["g++", "-std=c++11"]])
def test_header_compiles_anywhere(compiler, tmp_path):
    language = "c" if compiler[0] == "gcc" else "c++"
    words = [*compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{FOLDER}"]
    text = '#include "vread.h"\n#include "vread.h"\n'
    subprocess.run([*words, "-x", language, "-"], input=text, text=True, check=True)


def test_pkg_config(tmp_path):
    text = (FOLDER / "vread.pc.in").read_text()
    for name, value in (("PREFIX", "/usr"), ("LIBDIR", "/usr/lib/here"), ("VERSION", "1.2.3")):
        text = text.replace(f"@{name}@", value)
    assert "@" not in text
    (tmp_path / "vread.pc").write_text(text)
    env = {"PKG_CONFIG_PATH": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["pkg-config", "--libs", "--modversion", "vread"], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "1.2.3" in done.stdout
