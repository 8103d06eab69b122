# SPDX-License-Identifier: GPL-2.0-or-later
"""Which folders of the backend may include each other, what the command for guests may include, and
from which folders programs are linked.

Each folder of xen-backend/ has an entry in the table below.  A folder includes headers of the
folders that its entry lists, and no others.  The wall is between vreadd and vread-parser: code that
interprets what a guest wrote is in parser/, and runs confined.  So does the code that judges block
tokens by their keys, in key-agent/.

Another wall is between dom0 and guests: `vread`, the command for guests, has no code of the backend
and needs none of its libraries.
"""

import re
import subprocess
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BACKEND = REPOSITORY / "xen-backend"
VREADD = "vreadd.c"  # the main program, which lies beside the folders

MAY_INCLUDE = {
    "base": "",
    "disk": "base",
    "keys": "base disk",
    "layout": "base disk",
    "policy": "base",
    "parser-protocol": "base disk",
    "parser": "base disk layout parser-protocol",
    "datanode": "base disk layout parser-protocol policy",
    "read": "base datanode disk layout parser-protocol policy",
    "peer": "base datanode policy read",
    "ring": "base peer policy port read",
    "port": "base disk keys policy",
    "control": "base datanode disk keys layout peer policy port read ring",
    "provision": "base disk layout parser",
    "opener": "base disk keys",
    "ivshmem-server": "base control port",
    "key-agent": "base policy",
    VREADD: "base control",
}
# The folders of the backend from which each program is linked.
LINKED = {
    "vreadd": set(MAY_INCLUDE) - {"parser", "provision", "opener", "key-agent", "ivshmem-server"},
    "vread-opener": {"base", "disk", "keys", "opener"},
    "vread-key-agent": {"base", "key-agent"},
    # The folders below control/ have the parsers of its configuration's values.
    "vread-ivshmem": {"base", "control", "disk", "ivshmem-server", "layout", "peer", "policy"},
    "vread-parser": {"base", "disk", "layout", "parser", "parser-protocol"},
}
# The folders from which vread is linked, and the libraries that it loads.
OF_GUESTS = {"hdfs-native/libvread", "tools/cli", "tools/vread"}
LIBRARIES_OF_GUESTS = {"libc", "libexpat", "libjansson", "libxenstore"}
SANITIZERS = {"libasan", "libubsan"}  # of the variant asan
# What the code of vread may include out of the folders of others: headers of numbers and names, for
# which no code is linked.
HEADERS_OF_GUESTS = {
    "base/version.h",
    "vread-local.h",
    "vread-nodes.h",
    "vread-ring-user.h",
    "vread-spin.h",
    "vread_ioctl.h",
}
PRIVATE = re.compile(r"_private\.h|_impl\.h|/internal\.h")


def inclusions(backend):
    """(file, header) of each inclusion within the backend, both relative to its folder."""
    for source in sorted(backend.rglob("*.[ch]")):
        for header in re.findall(r'^#include "([\w-]+/[^"]+)"', source.read_text(), re.M):
            if (backend / header).is_file():
                yield source.relative_to(backend).as_posix(), header


def folder(path):
    return path.partition("/")[0]


def mistakes(backend, table):
    """Yields a line for each difference from the table."""
    used = set()
    for source, header in inclusions(backend):
        here, there = folder(source), folder(header)
        used.add((here, there))
        if here != there and there not in table.get(here, "").split():
            yield f"{source} includes {header}: {here} may include: {table.get(here, 'nothing')}"
        if here != there and PRIVATE.search(header):
            yield f"{source} includes {header}, which is private to {there}"
    for here, allowed in table.items():
        for there in allowed.split():
            if (here, there) not in used:
                yield f"{here} may include {there}, and does not: take it out of the table"


def test_folders_include_only_what_they_may():
    assert list(mistakes(BACKEND, MAY_INCLUDE)) == []


def test_no_folder_is_above_itself():
    """static_order() raises a CycleError if a folder is above itself."""
    list(TopologicalSorter({f: a.split() for f, a in MAY_INCLUDE.items()}).static_order())


@pytest.fixture
def backend(tmp_path):
    """Two folders that follow their own table."""
    for name, text in {
        "base/log.h": "",
        "ring/ring.c": '#include <errno.h>\n#include "base/log.h"\n',
        "ring/ring_private.h": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


TABLE = {"base": "", "ring": "base"}


def test_what_is_allowed(backend):
    assert list(mistakes(backend, TABLE)) == []


@pytest.mark.parametrize(
    ("source", "header", "table", "said"),
    [
        ("base/log.c", "ring/ring.h", TABLE, "base may include: "),
        ("new/new.c", "base/log.h", TABLE, "new may include: nothing"),
        ("base/log.c", "ring/ring_private.h", TABLE | {"base": "ring"}, "is private to ring"),
        ("ring/other.c", "ring/ring_private.h", TABLE | {"base": "ring"}, "and does not"),
    ],
)
def test_what_is_not_is_told(backend, source, header, table, said):
    (backend / source).parent.mkdir(exist_ok=True)
    (backend / source).write_text(f'#include "{header}"\n')
    (backend / "ring/ring.h").touch()
    (found,) = mistakes(backend, table)
    assert said in found


def readelf(program, *options):
    command = ["readelf", *options, program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def sources(program):
    """The source files with code in the program, by its debugging information."""
    told = readelf(program, "--debug-dump=info", "--dwarf-depth=1")
    return set(re.findall(r"DW_AT_name .*: (\S+\.c)$", told, re.M))


def linked(program):
    """The folders of the backend with code in the program."""
    backend = f"{BACKEND.name}/"
    return {
        folder(path.removeprefix(backend)) for path in sources(program) if path.startswith(backend)
    }


def libraries(program):
    """The libraries that the program itself names, without their versions."""
    return set(re.findall(r"\(NEEDED\).*\[(\w+)[.\w-]*\]", readelf(program, "--dynamic")))


@pytest.mark.parametrize("variant", ["release", "asan"])
@pytest.mark.parametrize("program", LINKED)
def test_programs_have_no_code_from_behind_the_wall(variant, program):
    found = linked(REPOSITORY / "build" / variant / program)
    assert found and found <= LINKED[program]


@pytest.mark.parametrize("variant", ["release", "asan"])
def test_the_command_for_guests_has_nothing_of_the_backend(variant):
    program = REPOSITORY / "build" / variant / "vread"
    assert {"/".join(path.split("/")[:2]) for path in sources(program)} == OF_GUESTS
    assert libraries(program) - SANITIZERS == LIBRARIES_OF_GUESTS


def test_the_command_for_guests_includes_nothing_of_the_backend():
    """Its own folders have the headers that it includes, but for those of HEADERS_OF_GUESTS."""
    folders = [REPOSITORY / folder for folder in OF_GUESTS]
    others = set()
    for source in (path for folder in folders for path in folder.rglob("*.[ch]")):
        searched = [source.parent, REPOSITORY / "tools", REPOSITORY / "hdfs-native/libvread"]
        for header in re.findall(r'^#include "([^"]+)"', source.read_text(), re.M):
            paths = {(place / header).resolve() for place in searched}
            if not any(p.is_file() and p.is_relative_to(f) for p in paths for f in folders):
                others.add(header)
    assert others == HEADERS_OF_GUESTS
