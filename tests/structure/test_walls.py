# SPDX-License-Identifier: GPL-2.0-or-later
"""Which folders of the backend may include each other, and from which folders programs are linked.

Each folder of xen-backend/ has an entry in the table below.  A folder includes headers of the
folders that its entry lists, and no others.  The wall is between vreadd and vread-parser: code that
interprets what a guest wrote is in parser/, and runs confined.
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
    "layout": "base disk",
    "policy": "base",
    "parser-protocol": "base disk",
    "parser": "base disk layout parser-protocol",
    "datanode": "base disk layout parser-protocol policy",
    "read": "base datanode disk layout parser-protocol policy",
    "peer": "base datanode policy read",
    "ring": "base peer policy port read",
    "port": "base disk policy",
    "control": "base datanode disk layout peer policy port read ring",
    "provision": "base disk layout parser",
    VREADD: "base control",
}
# The folders from which each program is linked.
LINKED = {
    "vreadd": set(MAY_INCLUDE) - {"parser", "provision"},
    "vread-parser": {"base", "disk", "layout", "parser", "parser-protocol"},
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


def linked(program):
    """The folders of the backend with code in the program, by its debugging information."""
    command = ["readelf", "--debug-dump=info", "--dwarf-depth=1", program]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {
        folder(path) for path in re.findall(r"DW_AT_name .*: xen-backend/(\S+\.c)$", told, re.M)
    }


@pytest.mark.parametrize("variant", ["release", "asan"])
@pytest.mark.parametrize("program", LINKED)
def test_programs_have_no_code_from_behind_the_wall(variant, program):
    found = linked(REPOSITORY / "build" / variant / program)
    assert found and found <= LINKED[program]
