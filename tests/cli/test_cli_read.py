# SPDX-License-Identifier: GPL-2.0-or-later
"""vread cat and stat against a real vreadd, xl-vread blocks and inspect against images."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from tests.cli.conftest import (
    BUILD,
    VREAD,
    XL_VREAD,
    clean_environment,
    runner,
    vread_environment,
)
from tests.libvread.backend import READ, Backend
from tests.libvread.vreadlib import clock
from tests.libvread.waits import sleeps_in
from tests.support.hdfs_dir import DataDirectory
from tests.support.waiting import eventually
from tools.images import make_datanode_image

DATA_DIR = "/dfs/data"  # in the served image
NAMES = ["large", "chunk", "odd", "byte", "rbw", "crc32"]


def spec(block, length=True):
    text = f"{block.pool}/blk_{block.id}_{block.genstamp}@DS-1"
    return f"{text}:{block.length}" if length else text


@pytest.fixture
def blocks(served):
    return [served[1][name] for name in NAMES]


# ---- cat -----------------------------------------------------------------------


def test_blocks_one_after_the_other(vread, vreadd, blocks):
    done = vread("cat", "--endpoint", vreadd.endpoint, *map(spec, blocks))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"".join(block.content() for block in blocks)


def test_endpoint_before_the_command_and_from_the_environment(vread, vreadd, blocks):
    word = spec(blocks[1])
    for words, env in (
        (["--endpoint", vreadd.endpoint, "cat", word], {}),
        ([f"--endpoint={vreadd.endpoint}", "cat", word], {}),
        (["cat", word], {"VREAD_ENDPOINT": vreadd.endpoint}),
    ):
        done = vread(*words, env=env)
        assert (done.returncode, done.stdout) == (0, blocks[1].content()), done.stderr


@pytest.mark.parametrize(
    ("options", "start", "end"),
    [
        (["--offset", 5], 5, None),
        (["--length", 700_000], 0, 700_000),
        (["--offset", 1_000_001, "--length", 3], 1_000_001, 1_000_004),
        (["--offset", 9_000_000], 9_000_000, None),
        (["--offset", 9_000_001], 9_000_001, None),
        (["--length", 0], 0, 0),
        (["--offset", 8_999_990, "--length", 10**12], 8_999_990, None),
    ],
)
def test_part_of_a_block(vread, vreadd, blocks, options, start, end):
    done = vread("cat", "--endpoint", vreadd.endpoint, *options, spec(blocks[0]))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == blocks[0].content()[start:end]


def test_offset_behind_the_end(vread, vreadd, blocks):
    done = vread("cat", "--endpoint", vreadd.endpoint, "--offset", 9_000_002, spec(blocks[0]))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"--offset 9000002 is beyond its end" in done.stderr


def test_stats(vread, vreadd, blocks):
    done = vread("cat", "--stats", "--endpoint", vreadd.endpoint, spec(blocks[0]), spec(blocks[2]))
    pattern = r"vread cat: 2 blocks, (\d+) bytes, [\d.]+ s, [\d.]+ MB/s, cpu [\d.]+ s\n"
    match = re.fullmatch(pattern, done.stderr.decode())
    assert match and int(match[1]) == len(done.stdout)


def test_list_of_blocks(vread, vreadd, blocks, tmp_path):
    text = "# a comment\n\n" + "".join(f"  {spec(b)} \r\n" for b in blocks[:2])
    (tmp_path / "list").write_text(text)
    listed = ["--blocks-from", tmp_path / "list"]
    done = vread("cat", "--endpoint", vreadd.endpoint, *listed, spec(blocks[2]))
    assert done.stdout == b"".join(block.content() for block in blocks[:3])
    words = ["cat", "--endpoint", vreadd.endpoint, "--blocks-from", "-"]
    done = vread(*words, stdin=text.encode())
    assert done.stdout == b"".join(block.content() for block in blocks[:2])


def test_list_with_a_mistake(vread, tmp_path):
    path = tmp_path / "list"
    path.write_text("p/blk_1_1\n\np/blk_1\n")
    done = vread("cat", "--blocks-from", path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"{path}:3: p/blk_1: expected a block id" in done.stderr.decode()
    done = vread("cat", "--blocks-from", tmp_path / "missing")
    assert done.returncode == 1
    assert b"missing: cannot open: No such file" in done.stderr


def test_unknown_block_among_others(vread, vreadd, blocks):
    """cat must write the blocks before the unknown one and none after it, and name it."""
    unknown = f"{blocks[0].pool}/blk_77_1001@DS-1"
    words = [spec(blocks[0]), unknown, spec(blocks[1])]
    done = vread("cat", "--endpoint", vreadd.endpoint, *words)
    assert done.returncode == 1
    assert done.stdout == blocks[0].content()
    assert f"vread cat: {unknown}: no such block, or" in done.stderr.decode()


def test_other_generation_stamp(vread, vreadd, blocks):
    stale = f"{blocks[0].pool}/blk_{blocks[0].id}_1000@DS-1"
    done = vread("cat", "--endpoint", vreadd.endpoint, stale)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"another generation stamp" in done.stderr


def test_no_storage(vread, vreadd, blocks):
    unnamed = f"{blocks[0].pool}/blk_{blocks[0].id}_{blocks[0].genstamp}"
    done = vread("cat", "--endpoint", vreadd.endpoint, unnamed)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"the storages of the block's replicas must be named" in done.stderr


def test_error_in_mid_block(vread, endpoint):
    """A READ in the middle fails: cat must write all bytes before this READ, then fail."""
    content = bytes(range(256)) * 20_000

    def answer(channel, request):
        if request.op == READ and request.offset >= 2 << 20:
            channel.respond(request, -74)
        else:
            backend.answer(channel, request)

    with Backend(endpoint, {(1, 2): content}) as backend:
        backend.on_request = answer
        done = vread("cat", "--endpoint", endpoint, "p/blk_1_2")
    assert done.returncode == 1
    assert done.stdout == content[: 2 << 20]
    assert b"p/blk_1_2: data does not match its checksum" in done.stderr


def test_answers_out_of_order(vread, endpoint):
    """READs are answered in reverse order; the output must be in order.  They come by several
    queues, so the one with the block's end need not be the last."""
    content = os.urandom(5_000_000)
    came, held = [], []

    def answer(channel, request):
        if request.op != READ:
            backend.answer(channel, request)
            return
        came.append(request.length)
        held.append(request)
        if len(held) == 4 or sum(came) == len(content):
            for one in reversed(held):
                backend.answer(channel, one)
            held.clear()

    with Backend(endpoint, {(1, 2): content}) as backend:
        backend.on_request = answer
        done = vread("cat", "--endpoint", endpoint, "p/blk_1_2")
    assert (done.returncode, done.stdout) == (0, content), done.stderr


def test_backend_dies_in_the_middle(vread, endpoint):
    content = bytes(5_000_000)

    def answer(channel, request):
        if request.op == READ and request.offset >= 1 << 20:
            backend.drop(channel)
        else:
            backend.answer(channel, request)

    with Backend(endpoint, {(1, 2): content}) as backend:
        backend.on_request = answer
        done = vread("cat", "--endpoint", endpoint, "p/blk_1_2")
    assert done.returncode == 3
    assert done.stdout == content[: len(done.stdout)] and len(done.stdout) <= 1 << 20
    assert b"p/blk_1_2: no backend, or the backend has ended" in done.stderr


def test_no_backend(vread, tmp_path):
    done = vread("cat", "--endpoint", tmp_path / "nothing", "p/blk_1_1")
    assert done.returncode == 3
    assert b"nothing: no such device or socket; in a guest load xen-vreadfront (Xen)" in done.stderr
    done = vread("cat", "--endpoint", "/dev/null", "p/blk_1_1")
    assert done.returncode == 1
    assert b"/dev/null: neither a vread device nor a socket" in done.stderr


def test_reader_goes_away(vreadd, blocks):
    """The reader of the pipe ends; cat must end at once, like any other filter."""
    words = [VREAD, "cat", "--endpoint", vreadd.endpoint, *[spec(blocks[0])] * 20]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=vread_environment()) as process:
        assert process.stdout.read(1000) == blocks[0].content()[:1000]
        process.stdout.close()
        assert process.wait(60) != 0


def test_full_disk(vreadd, blocks):
    words = [VREAD, "cat", "--endpoint", vreadd.endpoint, spec(blocks[0])]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, env=vread_environment(), timeout=60
        )
    assert done.returncode == 1
    assert b"standard output: cannot write: No space left" in done.stderr


def test_slow_reader_is_waited_for(vreadd, blocks):
    """The reader of the pipe is slow; cat must not time out, and must write all bytes."""
    words = [VREAD, "cat", "--endpoint", vreadd.endpoint, "--timeout", "10000", spec(blocks[0])]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=vread_environment()) as process:
        eventually(lambda: sleeps_in(process.pid, "pipe_write"))
        clock.advance(11)
        assert process.stdout.read() == blocks[0].content()
    assert process.returncode == 0


def test_timeout(endpoint):
    with Backend(endpoint, {(1, 2): bytes(1000)}) as backend:
        asked = threading.Event()
        backend.on_request = lambda channel, request: (
            asked.set() if request.op == READ else backend.answer(channel, request)
        )
        words = [VREAD, "cat", "--endpoint", endpoint, "--timeout", "10000", "p/blk_1_2"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(words, **pipes, env=vread_environment()) as process:
            eventually(lambda: asked.is_set() and sleeps_in(process.pid, "poll"))
            clock.advance(9.999)
            assert process.poll() is None
            clock.advance(0.001)
            out, err = process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert b"p/blk_1_2: no answer in time" in err


# ---- stat ----------------------------------------------------------------------


def test_stat(vread, vreadd, blocks):
    done = vread("stat", "--endpoint", vreadd.endpoint, *map(spec, blocks))
    assert (done.returncode, done.stderr) == (0, b"")
    header, *lines = done.stdout.decode().splitlines()
    assert header.split() == ["LENGTH", "STATE", "WHERE", "BLOCK"]
    for block, line in zip(blocks, lines, strict=True):
        state = "finalized" if block.id != 1073741829 else "rbw"
        assert line.split() == [str(block.length), state, "local", spec(block)]


def test_stat_as_json(vread, vreadd, blocks):
    done = vread("stat", "--json", "--endpoint", vreadd.endpoint, spec(blocks[2], length=False))
    (entry,) = json.loads(done.stdout)
    assert entry == {
        "block": spec(blocks[2], length=False),
        "pool": blocks[2].pool,
        "id": blocks[2].id,
        "generation_stamp": 1001,
        "length": 262_145,
        "visible_length": 262_145,
        "finalized": True,
        "remote": False,
    }


def test_stat_goes_on_behind_an_error(vread, vreadd, blocks):
    words = [spec(blocks[0]), "BP-2/blk_1_1@DS-1", spec(blocks[1])]
    done = vread("stat", "--endpoint", vreadd.endpoint, *words)
    assert done.returncode == 1
    assert len(done.stdout.decode().splitlines()) == 3
    assert b"BP-2/blk_1_1@DS-1: no served image has that pool" in done.stderr


# ---- blocks --------------------------------------------------------------------


@pytest.fixture(params=["asan", pytest.param("release", marks=pytest.mark.thorough)])
def lister(request):
    """xl-vread with the parser of its build: the two parsers make different system calls."""
    return runner(BUILD / request.param / "xl-vread", clean_environment())


@pytest.fixture(params=["--layout", "--data-dir"])
def image(served, request):
    image, layout = served[0]["dn1"]
    return ["--image", image, request.param, layout if request.param == "--layout" else DATA_DIR]


def test_list_of_an_image(lister, image, blocks):
    done = lister("blocks", *image)
    assert (done.returncode, done.stderr) == (0, b"")
    header, *lines = done.stdout.decode().splitlines()
    assert header.split() == ["LENGTH", "STATE", "BLOCK"]
    expected = [
        [str(b.length), "rbw" if b.id == 1073741829 else "finalized", spec(b)] for b in blocks
    ]
    assert sorted(line.split() for line in lines) == sorted(expected)


def test_listed_blocks_are_what_cat_reads(vread, lister, vreadd, image, blocks):
    listed = lister("blocks", "--specs", *image).stdout
    done = vread("cat", "--endpoint", vreadd.endpoint, "--blocks-from", "-", stdin=listed)
    by_spec = {spec(block): block.content() for block in blocks}
    assert done.stdout == b"".join(by_spec[line] for line in listed.decode().split())
    assert len(listed.split()) == len(blocks)


def test_list_as_json_and_by_pool(lister, image, blocks):
    entries = json.loads(lister("blocks", "--json", *image).stdout)
    assert {entry["id"]: entry["length"] for entry in entries} == {b.id: b.length for b in blocks}
    assert {entry["storage"] for entry in entries} == {"DS-1"}
    assert json.loads(lister("blocks", "--json", "--pool", "BP-9", *image).stdout) == []


def test_list_of_a_configuration(lister, served, blocks, tmp_path):
    image, layout = served[0]["dn1"]
    config = tmp_path / "vread.conf"
    good = f"[datanode dn1]\nimage = {image}\nlayout = {layout}\n"
    bad = f"[datanode dn2]\nimage = {tmp_path}/missing\nlayout = {layout}\n"
    config.write_text(good.replace(f"layout = {layout}", f"data-dirs = {DATA_DIR} /not-there"))
    done = lister("blocks", "--specs", "--config", config)
    assert (done.returncode, len(done.stdout.split())) == (0, len(blocks)), done.stderr
    assert b"no data directory /not-there" in done.stderr
    config.write_text(good)
    done = lister("blocks", "--specs", "--config", config)
    assert (done.returncode, len(done.stdout.split())) == (0, len(blocks)), done.stderr
    config.write_text(bad + good)
    done = lister("blocks", "--specs", "--config", config)
    assert (done.returncode, len(done.stdout.split())) == (1, len(blocks))
    assert b"missing" in done.stderr


@pytest.mark.parametrize("variant", ["release", "asan"])
def test_folder_with_many_blocks(tmp_path, variant):
    """A folder with 200 blocks: qsort() then makes one more system call, which the parser's filter
    must allow.  It asks how much memory the machine has."""
    directory = DataDirectory(tmp_path / "data")
    blocks = [directory.add(1073741825 + n, 1 + n) for n in range(200)]
    assert len({block.data.parent for block in blocks}) == 1
    image = make_datanode_image([directory.path], tmp_path / "dn.raw").path
    words = [
        BUILD / variant / "xl-vread",
        "blocks",
        "--specs",
        "--image",
        image,
        "--data-dir",
        DATA_DIR,
    ]
    done = subprocess.run(words, capture_output=True, env=clean_environment(), timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(done.stdout.decode().split()) == sorted(map(spec, blocks))


@pytest.mark.parametrize("broken", ["image", "layout", "config"])
def test_list_of_what_is_not_there(lister, served, tmp_path, broken):
    image, layout = served[0]["dn1"]
    missing = tmp_path / "missing"
    words = {
        "image": ["--image", missing, "--layout", layout],
        "layout": ["--image", image, "--layout", missing],
        "config": ["--config", missing],
    }[broken]
    done = lister("blocks", *words)
    assert (done.returncode, done.stdout) == (1, b"")
    assert str(missing) in done.stderr.decode()


# ---- inspect -------------------------------------------------------------------


def test_inspect_runs_vread_provision_beside_it(tmp_path):
    """`xl-vread inspect` must run the vread-provision beside it with the right arguments, and
    pass on its exit code."""
    copy = tmp_path / "xl-vread"
    copy.write_bytes(XL_VREAD.read_bytes())
    copy.chmod(0o755)
    other = tmp_path / "vread-provision"
    other.write_text('#!/bin/sh\necho "$#" "$@"\nexit 7\n')
    other.chmod(0o755)
    done = subprocess.run([copy, "inspect", "an image"], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (7, b"2 --summary an image\n")


def test_inspect_without_vread_provision(tmp_path):
    copy = tmp_path / "xl-vread"
    copy.write_bytes(XL_VREAD.read_bytes())
    copy.chmod(0o755)
    done = subprocess.run(
        [copy, "inspect", "x"], capture_output=True, timeout=60, env={"PATH": str(tmp_path)}
    )
    assert done.returncode == 1
    assert b"vread-provision: cannot run (" in done.stderr


def test_two_at_once(vread, vreadd, blocks):
    """Three cats at once must each get the right bytes."""
    results = []
    words = ["cat", "--endpoint", vreadd.endpoint, spec(blocks[0])]
    threads = [threading.Thread(target=lambda: results.append(vread(*words))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [done.stdout == blocks[0].content() for done in results] == [True] * 3


# ---- who may connect ---------------------------------------------------------------


@pytest.fixture
def open_folder():
    """A folder that every user may enter."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def as_nobody(words):
    identity = {"user": "nobody", "group": "nogroup", "extra_groups": []}
    return subprocess.run([VREAD, *words], capture_output=True, text=True, **identity)


@pytest.fixture
def refused(open_folder):
    """refused(group, mode): what vread and its doctor tell the user nobody of such a socket."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    node = open_folder / "local.sock"
    listener.bind(str(node))
    listener.listen()

    def run(group, mode):
        shutil.chown(node, group=group)
        node.chmod(mode)
        words = ["cat", "--endpoint", node, "BP-1/blk_1_1"]
        done = as_nobody(words)
        assert done.returncode == 1
        doctor = [VREAD, "--endpoint", node, "doctor", "--json", "--user", "nobody"]
        found = json.loads(subprocess.run(doctor, capture_output=True).stdout)["findings"]
        (failed,) = [f for f in found if f["result"] == "failed"]
        beginning = f"vread cat: {node}: permission denied: {failed['found']}; "
        assert done.stderr == f"{beginning}{failed['remedy']}\n"
        return failed["found"], failed["remedy"]

    yield run
    listener.close()


def test_the_group_that_may_connect_is_named(refused):
    assert refused("man", 0o600) == (
        "user nobody may not read and write it (mode 0600, group man)",
        "set mode = 0660 in [local] of vread.conf, restart vreadd, and add nobody to the group: "
        "usermod -aG man nobody",
    )


def test_nobody_is_told_to_join_the_group_of_vreadd(refused):
    """Its members rule the host.  The socket of vread.conf belongs to this group."""
    found, remedy = refused("root", 0o660)
    assert found == "user nobody may not read and write it (mode 0660, group root)"
    assert "usermod" not in remedy
    assert "do not add nobody to group root" in remedy


def test_a_folder_that_the_user_may_not_enter(open_folder):
    (open_folder / "closed").mkdir(0o700)
    node = open_folder / "closed/local.sock"
    done = as_nobody(["cat", "--endpoint", node, "BP-1/blk_1_1"])
    assert done.stderr == (
        f"vread cat: {node}: permission denied: user nobody may not enter a folder above it; "
        f"namei -l {node} shows which\n"
    )
