# SPDX-License-Identifier: GPL-2.0-or-later
"""Many threads read on one connection, under ThreadSanitizer (stress.c)."""

import os
import subprocess

import pytest

from tests.libvread import vreadlib
from tests.libvread.conftest import BUILD

ROOT = BUILD.parent
INCLUDES = ["xenstore-schema", "linux-frontend/uapi", "hdfs-native/libvread"]


@pytest.fixture(scope="module")
def stress(tmp_path_factory):
    binary = tmp_path_factory.mktemp("tsan") / "stress"
    sources = [ROOT / "tests/libvread/stress.c", *(ROOT / "hdfs-native/libvread").glob("*.c")]
    # ThreadSanitizer does not know fences.  The fences order the ring, which is shared with another
    # process, and ThreadSanitizer does not see that process.
    flags = ["-std=gnu17", "-g", "-O1", "-fsanitize=thread", "-Wno-tsan", "-D_GNU_SOURCE"]
    includes = [f"-I{ROOT / folder}" for folder in INCLUDES]
    subprocess.run(["gcc", *flags, *includes, "-o", binary, *sources, "-pthread"], check=True)
    return binary


@pytest.mark.thorough
@pytest.mark.parametrize("extra", [[], ["event"], ["queues"]])
def test_no_data_race(stress, vreadd, served, tmp_path, extra):
    block = served[1]["large"]
    reference = tmp_path / "reference"
    reference.write_bytes(block.content())
    name = [block.pool, str(block.id), str(block.genstamp), block.storage]
    done = subprocess.run(
        [stress, vreadd.endpoint, *name, reference, "6", "150", *extra],
        capture_output=True,
        text=True,
        env=os.environ | vreadlib.clock.environment,
        timeout=900,
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr[:4000]
