# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs and libvread.so.1 of different releases.  A program has the structs of the vread.h that
it was compiled with; abi/ has those of releases."""

import ctypes
import errno
import re
import subprocess

import pytest

from tests.libvread import vreadlib
from tests.libvread.conftest import BUILD
from tools.vreadd import Vreadd

FOLDER = BUILD.parent / "hdfs-native/libvread"
ABI = BUILD.parent / "tests/libvread/abi"
LIBRARY = BUILD / "release/libvread.so.1"
SIZES_0_1_0 = {"options": 28, "block": 64, "stat": 28}  # without padding


def cc(*arguments):
    command = ["gcc", "-Wall", "-Wextra", "-Werror", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def run(*command, library, **arguments):
    env = {"LD_LIBRARY_PATH": str(library.parent)} | vreadlib.clock.environment
    return subprocess.run([*command], env=env, capture_output=True, timeout=60, **arguments)


@pytest.fixture(scope="module")
def library_0_1_0(tmp_path_factory):
    """What the linkers see of libvread.so.1 of release 0.1.0: its symbols."""
    folder = tmp_path_factory.mktemp("0.1.0")
    script = (FOLDER / "libvread.map").read_text()
    calls = re.findall(r"^\t(vread_\w+);", re.search(r"LIBVREAD_1 {.*?}", script, re.S)[0], re.M)
    assert len(calls) == 21
    (folder / "map").write_text("LIBVREAD_1 { global: vread_*; local: *; };")
    (folder / "calls.c").write_text("".join(f"void {call}(void) {{}}\n" for call in calls))
    library = folder / "libvread.so.1"
    done = cc(
        *("-Wno-builtin-declaration-mismatch", "-shared", "-fPIC", "-Wl,-soname,libvread.so.1"),
        *(f"-Wl,--version-script,{folder}/map", "-o", library, folder / "calls.c"),
    )
    assert done.returncode == 0, done.stderr
    return library


def build_0_1_0(folder, library):
    return cc("-I", ABI, "-o", folder / "program", ABI / "program_0_1_0.c", library)


def test_a_program_of_0_1_0(library_0_1_0, served, tmp_path):
    done = build_0_1_0(tmp_path, library_0_1_0)
    assert done.returncode == 0, done.stderr
    block = served[1]["odd"]
    named = [block.pool, str(block.id), str(block.genstamp), block.storage]
    with Vreadd(served[0], variant="asan", publish=["dn1"]) as daemon:
        done = run(tmp_path / "program", daemon.endpoint, *named, library=LIBRARY)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == block.content()


def test_the_header_of_0_1_0_does_not_link_with_this_library(tmp_path):
    """Else such a program would lose members that vread.h has had since, without a word."""
    done = build_0_1_0(tmp_path, LIBRARY)
    assert done.returncode != 0
    for call in ("connect", "open", "stat", "publish"):
        assert f"undefined reference to `vread_{call}'" in done.stderr


def test_a_program_of_today_does_not_start_with_the_library_of_0_1_0(library_0_1_0, tmp_path):
    source = tmp_path / "program.c"
    source.write_text(
        '#include "vread.h"\n'
        "int main(void) { struct vread *v; struct vread_options o = {.publisher = 1};"
        " return vread_connect(&v, &o) ? 3 : 0; }\n"
    )
    done = cc("-I", FOLDER, "-o", tmp_path / "program", source, LIBRARY)
    assert done.returncode == 0, done.stderr
    assert run(tmp_path / "program", library=LIBRARY).returncode == 3
    done = run(tmp_path / "program", library=library_0_1_0)
    assert done.returncode == 1
    assert b"version `LIBVREAD_2' not found" in done.stderr


# ---- structs of a later release -------------------------------------------------------------


class LaterOptions(vreadlib.Options):
    _fields_ = [("later", ctypes.c_uint8 * 5)]


class LaterBlock(vreadlib.Block):
    _fields_ = [("later", ctypes.c_uint64)]


class LaterStat(vreadlib.Stat):
    _fields_ = [("later", ctypes.c_uint64 * 100)]


def connect(lib, options, size=None):
    """What vread_connect() of a program with these options returns."""
    pointer = ctypes.c_void_p()
    size = ctypes.sizeof(options) if size is None else size
    r = lib.vread_connect_sized(ctypes.byref(pointer), ctypes.byref(options), size)
    assert bool(pointer) == (r == 0)
    lib.vread_disconnect(pointer)
    return -r


def later(structure, plain):
    """`plain` as the later release's struct."""
    made = structure()
    ctypes.memmove(ctypes.byref(made), ctypes.byref(plain), ctypes.sizeof(plain))
    return made


def test_options_of_a_later_release(lib, vreadd):
    plain = vreadlib.Options(endpoint=vreadd.endpoint.encode(), timeout_ms=vreadlib.TIMEOUT)
    options = later(LaterOptions, plain)
    assert connect(lib, options) == 0
    options.later[4] = 1  # the last byte
    assert connect(lib, options) == errno.E2BIG
    assert connect(lib, options, ctypes.sizeof(plain)) == 0
    assert b"too old" in lib.vread_strerror(-errno.E2BIG)


def test_options_of_another_size(lib, vreadd):
    """Members that the program does not have are 0."""
    options = vreadlib.Options(vreadd.endpoint.encode(), 0, vreadlib.TIMEOUT, 0, 1, 2)
    least = SIZES_0_1_0["options"]
    assert connect(lib, options) == errno.EINVAL  # publisher is 0 or 1
    assert connect(lib, options, least) == 0
    for size in (0, least - 1):
        assert connect(lib, options, size) == errno.EINVAL


def open_sized(connection, block, size):
    file = ctypes.c_void_p()
    pointers = (ctypes.byref(block), size, ctypes.byref(file))
    r = connection.lib.vread_open_sized(connection.pointer, *pointers)
    assert bool(file) == (r == 0)
    connection.lib.vread_close(file)
    return -r


def publish_sized(connection, block, size):
    return -connection.lib.vread_publish_sized(
        connection.pointer, ctypes.byref(block), size, vreadlib.FINALIZED, 0
    )


def test_blocks_of_other_sizes(connection, served):
    b = served[1]["odd"]
    plain = vreadlib.make_block(b.pool, b.id, b.genstamp, 0, [b.storage], None)
    made = later(LaterBlock, plain)
    size, least = ctypes.sizeof(made), SIZES_0_1_0["block"]
    refused = errno.EOPNOTSUPP  # this backend takes no events
    for call, fine in ((open_sized, 0), (publish_sized, refused)):
        made.later = made.protect = made.reserved = 0
        assert call(connection, made, size) == fine
        made.later = 1 << 63
        assert call(connection, made, size) == errno.E2BIG
        assert call(connection, made, ctypes.sizeof(plain)) == fine
        made.reserved = 1
        assert call(connection, made, ctypes.sizeof(plain)) == errno.E2BIG
        made.reserved, made.protect = 0, 77
        assert call(connection, made, ctypes.sizeof(plain)) == errno.EINVAL
        assert call(connection, made, least) == fine
        assert call(connection, made, least - 1) == errno.EINVAL


def test_stats_of_other_sizes(connection, served):
    block = served[1]["odd"]

    def stat(size):
        made = LaterStat()
        ctypes.memset(ctypes.byref(made), 0xFF, ctypes.sizeof(made))
        r = connection.lib.vread_stat_sized(f.pointer, ctypes.byref(made), size)
        return r, bytes(made)

    length, least = ctypes.sizeof(LaterStat), SIZES_0_1_0["stat"]
    with connection.open(block.pool, block.id, block.genstamp, 0, [block.storage]) as f:
        known = bytes(f.stat())
        assert stat(length) == (0, known.ljust(length, b"\0"))
        assert stat(least) == (0, known[:least].ljust(length, b"\xff"))
        assert stat(least - 1) == (-errno.EINVAL, b"\xff" * length)
