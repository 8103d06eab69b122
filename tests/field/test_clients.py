# SPDX-License-Identifier: GPL-2.0-or-later
"""What users of HDFS clients reported: peculiar answers of the NameNode, blocks that are being
written, and readers that are used in unusual ways.  There is no HDFS: programs are told where
blocks are."""

import os
import subprocess
import zlib
from pathlib import Path

import pytest

from tests.support.hdfs_dir import DataDirectory
from tests.support.java_classes import compiled_java
from tests.support.tiers import slow
from tests.support.waiting import eventually
from tools.hdfs import DEFAULT_VERSION, hadoop_class_path
from tools.images import make_datanode_image, write_layout
from tools.vreadd import Vreadd

pytestmark = pytest.mark.hadoop

REPOSITORY = Path(__file__).parents[2]
JAR = REPOSITORY / "build/java/vread-hdfs.jar"
SOURCES = REPOSITORY / "tests/field/java"
GROUP = -64  # the id of a group of erasure-coded blocks
CHUNK = 512


@pytest.fixture(scope="module")
def class_path():
    path = f"{JAR}:{hadoop_class_path()}/*"
    version = f"{DEFAULT_VERSION} {os.stat(JAR).st_mtime_ns}"
    return f"{compiled_java(SOURCES, lambda: path, 'field', version)}:{path}"


@pytest.fixture
def directory(tmp_path):
    return DataDirectory(tmp_path / "data", storage="DS-1")


@pytest.fixture
def serve(directory, tmp_path):
    """serve(): a vreadd of the directory as it is now."""

    def serving():
        image = make_datanode_image([directory.path], tmp_path / "dn.raw")
        write_layout(image, tmp_path / "layout.json")
        return Vreadd({"dn1": (image.path, tmp_path / "layout.json")})

    return serving


def words(class_path, program, *arguments):
    return ["java", "-cp", class_path, f"io.vread.{program}", *map(str, arguments)]


@pytest.fixture
def located(serve, class_path):
    """located(block, visible=, storages=, indices=): what FieldLocations prints."""

    def reading(block, visible=None, storages=("DS-1",), indices=()):
        lists = [visible or [block.length], storages, *([indices] if indices else [])]
        arguments = [block.pool, block.id, block.genstamp, block.length]
        arguments += [",".join(map(str, each)) for each in lists]
        with serve() as daemon:
            program = "hdfs.locations.FieldLocations"
            command = words(class_path, program, daemon.endpoint, *arguments)
            done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return reading


def length_and_crc(content):
    return f"{len(content)} {zlib.crc32(content)}"


# ---- peculiar answers of the NameNode --------------------------------------------


@pytest.mark.parametrize("block_id", [-9, *slow(-16, -6123456789012345678)])
def test_negative_id_of_a_block_that_is_not_striped(directory, located, block_id):
    """Blocks that HDFS 1 wrote have random ids, also negative ones as erasure-coded blocks have."""
    block = directory.add(block_id, 100_000)
    assert located(block) == [length_and_crc(block.content())]


def test_two_replicas_of_an_internal_block(directory, located):
    """An internal block of a group is on two storages for a while: any of them is read."""
    block = directory.add(GROUP + 1, 100_000)
    places = {"storages": ["DS-7", "DS-8", "DS-1"], "indices": [0, 1, 1]}
    assert located(block, **places) == [length_and_crc(block.content())]


def test_fewer_locations_than_indices(directory, located):
    """The NameNode leaves out the locations of stale datanodes, but not their indices."""
    block = directory.add(GROUP + 1, 100_000)
    places = {"storages": ["DS-7", "DS-1"], "indices": [0, 1, 2]}
    assert located(block, **places) == [length_and_crc(block.content())]
    without = directory.add(GROUP + 2, 100_000)
    assert located(without, **places) == ["refused [no-locations]"]


# ---- blocks that are being written -----------------------------------------------


def test_visible_length_that_grows(directory, located):
    block = directory.add(5, 100_000, finalized=False)
    visible = [10_000, 50_000, 100_000]
    assert located(block, visible) == [length_and_crc(block.content()[:n]) for n in visible]


def test_bytes_that_are_there_before_their_checksums(directory, located):
    """The data of a block being written is ahead of its .meta file: what the reader may see is read
    all the same."""
    block = directory.add(5, 200 * CHUNK, finalized=False)
    with open(block.data, "ab") as data:
        data.write(bytes(30_000))
    visible = [10_000, block.length]
    assert located(block, visible) == [length_and_crc(block.content()[:n]) for n in visible]


# ---- readers that are used in unusual ways ---------------------------------------


@pytest.fixture
def block(directory):
    return directory.add(1073741825, 1_000_003)


def reader(class_path, daemon, what, block):
    name = [block.pool, block.id, block.genstamp, block.storage, block.length]
    return words(class_path, "field.FieldReader", what, daemon.endpoint, *name)


@pytest.fixture
def read(serve, class_path, block):
    """read(what): the lines that FieldReader prints."""

    def reading(what):
        with serve() as daemon:
            command = reader(class_path, daemon, what, block)
            done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return reading


def test_buffers_with_positions_and_limits(read, block):
    """Slices of direct and of heap buffers: no byte beside position and limit changes."""
    assert read("buffers") == [f"{zlib.crc32(block.content())} false"]


def test_both_ends_of_a_block(read):
    beyond = ["1", "-1", "-1", "-1", "-1"]
    arrays = ["IndexOutOfBoundsException"] * 4
    assert read("edges") == [*beyond, "0 0", *arrays, "ReadOnlyBufferException"]


def test_closed_twice(read, block):
    """What is closed twice is given back once: its neighbours read on."""
    refused = ["IOException", "InvalidEncryptionKeyException"]
    assert read("closed") == [*refused, "100000", str(zlib.crc32(block.content()))]


@pytest.mark.thorough
def test_readers_that_are_never_closed(serve, class_path, block):
    """A hundred readers are left to the garbage collector, which has them closed."""
    with serve() as daemon:
        command = reader(class_path, daemon, "abandoned", block)
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as program:
            assert program.stdout.readline() == "100\n"

            def open_blocks():
                program.stdin.write("\n")
                program.stdin.flush()
                assert program.stdout.readline() == f"{zlib.crc32(block.content())}\n"
                return sum(
                    device["counters"]["open_handles"]
                    for device in daemon.status()["devices"]
                    if "counters" in device  # a connection that comes or goes has none
                )

            # The block is read all the time, and so is kept open once or twice.
            eventually(lambda: open_blocks() in (1, 2), what="the readers are closed")
            program.stdin.close()
