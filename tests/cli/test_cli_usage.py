# SPDX-License-Identifier: GPL-2.0-or-later
"""Wrong command lines of vread and xl-vread must give exit code 2, nothing on standard output, and
a text that says what is wrong.  Also help and version."""

import subprocess

import pytest

from tests.cli.conftest import VREAD, XL_VREAD

COMMANDS = {
    "vread": "stat cat publish doctor version help".split(),
    "xl-vread": (
        "init create check attach detach list reboot restore migrate receive watch status top "
        "trace metrics config reload doctor datanode inspect blocks xenstore version help"
    ).split(),
}

WRONG = {
    "vread": [
        (["nonsense"], "nonsense: no such command"),
        (["status"], "status: no such command; xl-vread has the commands for dom0"),
        (["--endpoint"], "expected --endpoint PATH"),
        (["--endpointx", "cat"], "expected --endpoint PATH"),
        (["version", "x"], "x: unexpected argument"),
        (["help", "nonsense"], "nonsense: no such command"),
        (["help", "cat", "stat"], "stat: unexpected argument"),
        (["doctor", "x"], "x: unexpected argument"),
        (["doctor", "--root", "x"], "--root x: expected an absolute path"),
        (["doctor", "--fast"], "unrecognized option '--fast'"),
        (["stat"], "no block given"),
        (["stat", "blk_1_1"], "blk_1_1: expected a block pool id"),
        (["stat", "--timeout", "0", "p/blk_1_1"], "--timeout 0: expected milliseconds"),
        (["cat"], "no block given"),
        (["publish"], "expected an event: finalized, append, truncate or delete"),
        (
            ["publish", "deleted", "p/blk_1_1@DS-1"],
            "deleted: expected finalized, append, truncate or",
        ),
        (["publish", "delete"], "no block given"),
        (["publish", "delete", "p/blk_1_1"], "p/blk_1_1: expected @STORAGE"),
        (["publish", "delete", "p/blk_1_1@DS-1", "p/blk_2_1"], "p/blk_2_1: expected @STORAGE"),
        (["publish", "delete", "p/blk_1@DS-1"], "expected a block id"),
        (["cat", "p/blk_1"], "expected a block id"),
        (["cat", "p/blk_1_x"], "expected a generation stamp"),
        (["cat", "p/blk_1_1:x"], "expected a length"),
        (["cat", "--timeout", "-5", "p/blk_1_1"], "--timeout -5: expected milliseconds"),
        (["cat", "--timeout", "1s", "p/blk_1_1"], "--timeout 1s: expected milliseconds"),
        (["cat", "--offset", "1k", "p/blk_1_1"], "--offset 1k: expected bytes"),
        (["cat", "--length", "", "p/blk_1_1"], "--length : expected bytes"),
        (["cat", "--offset", "1", "p/blk_1_1", "p/blk_2_1"], "expected one block, not 2"),
    ],
    "xl-vread": [
        (["cat"], "cat: no such command; vread has the commands for guests"),
        (["status", "x"], "x: unexpected argument"),
        (["status", "--jsno"], "unrecognized option '--jsno'"),
        (["status", "--socket"], "option '--socket' requires an argument"),
        (["top", "x"], "x: unexpected argument"),
        (["top", "-d", "0"], "--delay 0: expected seconds, from 0.1 to 3600"),
        (["top", "-d", "2s"], "--delay 2s: expected seconds, from 0.1 to 3600"),
        (["top", "-n", "0"], "--rounds 0: expected a number, at least 1"),
        (["trace", "x"], "x: unexpected argument"),
        (["trace", "-n", "0"], "--count 0: expected a number from 1 to 1000000"),
        (["trace", "--seconds", "x"], "--seconds x: expected a number from 1 to 3600"),
        (["metrics", "x"], "x: unexpected argument"),
        (["metrics", "--output"], "option '--output' requires an argument"),
        (["doctor", "x"], "x: unexpected argument"),
        (["doctor", "--root", "x"], "--root x: expected an absolute path"),
        (["doctor", "--fast"], "unrecognized option '--fast'"),
        (["inspect"], "expected one image, not 0"),
        (["inspect", "a", "b"], "expected one image, not 2"),
        (["inspect", "--fast", "a"], "unrecognized option '--fast'"),
        (["inspect", *["--backing-folder", "/srv"] * 65, "a"], "expected at most 64"),
        (["blocks", "--backing-folder", "/srv"], "--backing-folder: expected --image, too"),
        (["blocks", "--backing-folder", "srv"], "--backing-folder srv: expected an absolute path"),
        (["blocks", "x"], "x: unexpected argument"),
        (["blocks", "--image", "x"], "--image: expected either --layout or --data-dir"),
        (["blocks", "--image", "x", "--layout", "y", "--data-dir", "/z"], "either --layout or"),
        (["blocks", "--layout", "x"], "--layout and --data-dir: expected --image"),
        (["blocks", "--data-dir", "/x"], "--layout and --data-dir: expected --image"),
        (["blocks", "--data-dir", "x"], "--data-dir x: expected an absolute path without .."),
        (["blocks", "--data-dir", "/a/.."], "--data-dir /a/..: expected an absolute path"),
        (["blocks", *["--data-dir", "/a"] * 65], "--data-dir: expected at most 64"),
        (["blocks", "--image", "x", "--layout", "y", "--config", "z"], "expected only one of them"),
        (["datanode"], "expected: move STORAGE HOST, or give STORAGE DATANODE"),
        (["datanode", "copy", "a", "b"], "expected: move STORAGE HOST, or give STORAGE DATANODE"),
        (
            ["datanode", "move", "a"],
            "move: expected a storage's id and a host's name, or - for none",
        ),
        (["reload", "x"], "x: unexpected argument"),
        (["reload", "--socket"], "option '--socket' requires an argument"),
        (["config"], "expected: check [FILE]"),
        (["config", "chekc"], "expected: check [FILE]"),
        (["config", "check", "a", "b"], "b: one FILE at most"),
        (["config", "check", "--jsno"], "unrecognized option '--jsno'"),
        (["attach"], 'expected a domain and a device as in vread = [ "..." ], not 0 arguments'),
        (["attach", "1"], "not 1 arguments"),
        (["attach", "1", "id=256,datanodes=a"], "id=256: expected a number from 0 to 255"),
        (["attach", "1", "role=server,datanodes=a"], "role=server: expected client or datanode"),
        (["attach", "1", "datanodes=a  b"], "datanodes=a  b, pools=*: "),
        (["attach", "1", "datanodes=a,pools=b  c"], "datanodes=a, pools=b  c: "),
        (["attach", "--wait", "soon", "1", "datanodes=a"], "--wait soon: expected a number"),
        (["attach", "--id", "1", "1", "datanodes=a"], "unrecognized option '--id'"),
        (["detach"], "expected one domain, not 0"),
        (["detach", "1", "--wait", "-1"], "--wait -1: expected a number"),
        (["detach", "1", "--temporary"], "unrecognized option '--temporary'"),
    ],
}


@pytest.fixture(params=["vread", "xl-vread"])
def program(request):
    return request.param


@pytest.fixture
def run(vread, xl_vread):
    return lambda program, *words: {"vread": vread, "xl-vread": xl_vread}[program](*words)


def each(table):
    """The program and one entry of its table, for each entry."""
    return [(program, entry) for program, entries in table.items() for entry in entries]


@pytest.mark.parametrize(("program", "wrong"), each(WRONG), ids=lambda value: str(value)[:60])
def test_wrong_command_line(run, program, wrong):
    words, text = wrong
    done = run(program, *words)
    error = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b""), error
    assert text in error
    assert f"Try '{program} help" in error
    assert error.startswith(program)


def test_nothing_at_all(run, program):
    done = run(program)
    assert done.returncode == 2
    assert f"usage: {program} COMMAND" in done.stdout.decode()


@pytest.mark.parametrize("words", [["help"], ["--help"], ["-h"]])
def test_help_lists_every_command(run, program, words):
    done = run(program, *words)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ")] == COMMANDS[program]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(("program", "command"), each(COMMANDS))
def test_help_of_a_command(run, program, command):
    done = run(program, "help", command)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith(f"usage: {program} {command}")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("words", [["version"], ["--version"], ["-V"]])
def test_version(run, program, words):
    done = run(program, *words)
    assert done.returncode == 0
    assert done.stdout.decode().split()[0] == program


@pytest.mark.parametrize("program", [VREAD, XL_VREAD], ids=lambda path: path.name)
def test_output_that_cannot_be_written(program):
    with open("/dev/full", "w") as full:
        done = subprocess.run([program, "help"], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert b"standard output: cannot write" in done.stderr
