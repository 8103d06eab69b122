# SPDX-License-Identifier: GPL-2.0-or-later
"""vread publish against a real vreadd, and the events in xl-vread status."""

import pytest

from tools.vreadd import Vreadd


@pytest.fixture(scope="module")
def publishing(served):
    with Vreadd(served[0], variant="asan", publish=["dn1"]) as daemon:
        yield daemon


@pytest.fixture
def publish(vread, publishing):
    return lambda *words: vread("publish", "--endpoint", publishing.endpoint, *words)


@pytest.fixture
def cat(vread, publishing):
    endpoint = publishing.endpoint
    return lambda word: vread("cat", "--endpoint", endpoint, word)


def spec(block, storage="DS-1"):
    return f"{block.pool}/blk_{block.id}_{block.genstamp}@{storage}"


@pytest.mark.parametrize("event", ["append", "truncate", "delete"])
def test_withdraws_and_gives_back(publish, cat, served, event):
    block, other = served[1]["chunk"], served[1]["odd"]
    done = publish(event, spec(block), spec(other))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    for word in map(spec, (block, other)):
        refused = cat(word)
        assert (refused.returncode, refused.stdout) == (1, b"")
        assert b"no such block" in refused.stderr
    assert publish("finalized", spec(block), spec(other)).returncode == 0
    assert cat(spec(block)).stdout == block.content()


def test_blocks_from_a_file(publish, cat, served, tmp_path):
    block = served[1]["chunk"]
    (tmp_path / "blocks").write_text(spec(block) + "\n")
    assert publish("delete", "--blocks-from", tmp_path / "blocks").returncode == 0
    assert cat(spec(block)).returncode == 1
    assert publish("finalized", "--blocks-from", tmp_path / "blocks").returncode == 0


def test_each_is_tried(publish, cat, served):
    block = served[1]["chunk"]
    done = publish("delete", spec(block, "DS-9"), spec(block))
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"vread publish: {spec(block, 'DS-9')}: no served image")
    assert cat(spec(block)).returncode == 1
    assert publish("finalized", spec(block)).returncode == 0


def test_not_a_publisher(vread, vreadd, served):
    done = vread(*("publish", "--endpoint", vreadd.endpoint, "delete"), spec(served[1]["chunk"]))
    assert done.returncode == 1
    assert b"needs role=datanode (xl-vread attach), on the local port publish-" in done.stderr


def test_nobody_there(vread):
    done = vread("publish", "--endpoint", "/nowhere", "delete", "p/blk_1_1@DS-1")
    assert done.returncode == 3


def test_status_tells(publish, publishing, xl_vread, served):
    assert publish("delete", spec(served[1]["chunk"])).returncode == 0
    table = xl_vread("status", "--socket", publishing.control_socket).stdout.decode()
    assert publish("finalized", spec(served[1]["chunk"])).returncode == 0
    (line,) = [line for line in table.splitlines() if "published:" in line]
    assert line.endswith("withdrawn now 1")
