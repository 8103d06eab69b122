# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of the guest's kernel modules call each other in one direction only.

LOWEST_FIRST lists the parts of each module, which lie in one folder of linux-frontend/.  A part is
a .c file, its header, or both.  A file includes its own header and headers of earlier parts, and
no others; in the folder of a transport also headers of core/.  A header declares only what the .c
file of its part defines, and a .c file declares nothing.  So a part can call earlier parts, and no
later one, and no transport calls the other.
"""

import re
from pathlib import Path

import pytest

FRONTEND = Path(__file__).resolve().parents[2] / "linux-frontend"

LOWEST_FIRST = {
    "core": (
        "check pool share attach trace ring params wait device link request file chardev " "connect"
    ),
    "xen": "grant suspend xenbus",
    "ivshmem": "pci",
}

INCLUSION = re.compile(r'^#include "([\w./-]+)"', re.M)
# A function or variable that other files can see.  clang-format indents all others.
GLOBAL = re.compile(
    r"^(?!static\b|typedef\b)(?P<extern>extern )?\w[\w\s*]*?[\s*](?P<name>\w+)"
    r"(?P<function>\([^;{}]*\))?(?P<end>;|\[| =|\n\{)",
    re.M,
)


def declared(text):
    return {
        g["name"]
        for g in GLOBAL.finditer(text)
        if g["extern"] or (g["function"] and g["end"] == ";")
    }


def defined(text):
    return {g["name"] for g in GLOBAL.finditer(text)} - declared(text)


def mistakes(folder, order):
    """Yields a line for each file that does not follow the order."""
    for path in sorted(folder.glob("*.[ch]")):
        here, text = path.stem, path.read_text()
        if here not in order:
            yield f"{path.name} has no place in the order"
            continue
        for header in INCLUSION.findall(text):
            there = Path(header)
            beside = (folder / header).is_file()
            if beside and there.stem not in order[: order.index(here) + 1]:
                yield f"{path.name} includes {header}, which is not below it"
            if there.parent.name and (folder.name == "core" or there.parent.name != "core"):
                yield f"{path.name} includes {header}: only core/ is for others"
        source = path.with_suffix(".c")
        own = defined(source.read_text()) if path.suffix == ".h" and source.is_file() else set()
        for name in sorted(declared(text) - own):
            yield f"{path.name} declares {name}: only a header of the file that defines it may"
    for name in order:
        if not list(folder.glob(f"{name}.[ch]")):
            yield f"{name} has a place in the order, and no file"


@pytest.mark.parametrize("folder", LOWEST_FIRST)
def test_the_files_call_each_other_in_one_direction(folder):
    assert list(mistakes(FRONTEND / folder, LOWEST_FIRST[folder].split())) == []


def test_every_folder_has_an_order():
    assert {path.parent.name for path in FRONTEND.glob("*/*.c")} == set(LOWEST_FIRST)


def test_declarations_are_found():
    """Else nothing would be compared."""
    for module, name in ("chardev", "vread_fops"), ("link", "vread_link_up"):
        assert name in declared((FRONTEND / "core" / f"{module}.h").read_text())
        assert name in defined((FRONTEND / "core" / f"{module}.c").read_text())


FILES = {
    "compat.h": "static inline int compat(void)\n{\n\treturn 0;\n}\n",
    "ring.h": "struct ring;\n\nint ring_put(struct ring *r,\n\t     int n);\nextern int rings;\n",
    "ring.c": '#include <linux/errno.h>\n#include "compat.h"\n#include "ring.h"\n\n'
    "int rings = 1;\n\nstatic int put(void)\n{\n\treturn 0;\n}\n\n"
    "int ring_put(struct ring *r,\n\t     int n)\n{\n\treturn put();\n}\n",
    "link.h": '#include "ring.h"\n\nvoid link_up(void);\n',
    "link.c": '#include "link.h"\n\nvoid link_up(void)\n{\n\tring_put(NULL, rings);\n}\n',
}
ORDER = ["compat", "ring", "link"]


@pytest.fixture
def frontend(tmp_path):
    """A module that follows its own order."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_what_is_allowed(frontend):
    assert list(mistakes(frontend, ORDER)) == []


@pytest.mark.parametrize(
    ("file", "added", "said"),
    [
        ("ring.c", '#include "link.h"\n', "ring.c includes link.h"),
        ("ring.h", '#include "link.h"\n', "ring.h includes link.h"),
        ("ring.c", '#include "link.c"\n', "ring.c includes link.c"),
        ("new.c", '#include "ring.h"\n', "new.c has no place in the order"),
        ("ring.h", "void link_up(void);\n", "ring.h declares link_up: "),
        ("ring.h", "extern struct link *first[];\n", "ring.h declares first: "),
        ("ring.h", "int put(void);\n", "ring.h declares put: "),
        ("ring.c", "void link_up(void);\n", "ring.c declares link_up: "),
        ("link.c", '#include "ivshmem/pci.h"\n', "link.c includes ivshmem/pci.h: "),
    ],
)
def test_what_is_not_is_told(frontend, file, added, said):
    (frontend / file).write_text(FILES.get(file, "") + added)
    (found,) = mistakes(frontend, ORDER)
    assert said in found


def test_a_place_without_a_file_is_told(frontend):
    (found,) = mistakes(frontend, [*ORDER, "main"])
    assert found == "main has a place in the order, and no file"
