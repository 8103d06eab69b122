# SPDX-License-Identifier: GPL-2.0-or-later
"""Wrong command lines must give exit code 2, nothing on standard output, and a text that says what
is wrong.  Also help and version."""

import subprocess

import pytest

from tests.cli.conftest import VREAD

COMMANDS = [
    "status",
    "top",
    "metrics",
    "doctor",
    "inspect",
    "blocks",
    "stat",
    "cat",
    "publish",
    "datanode",
]
COMMANDS += ["attach", "detach", "config", "reload", "version", "help"]

WRONG = [
    (["nonsense"], "nonsense: no such command"),
    (["--endpoint"], "expected --endpoint PATH"),
    (["--endpointx", "cat"], "expected --endpoint PATH"),
    (["version", "x"], "x: unexpected argument"),
    (["help", "nonsense"], "nonsense: no such command"),
    (["help", "cat", "stat"], "stat: unexpected argument"),
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
    (["doctor", "--role", "dom1"], "--role dom1: expected dom0 or domU"),
    (["doctor", "--root", "x"], "--root x: expected an absolute path"),
    (["doctor", "--fast"], "unrecognized option '--fast'"),
    (["inspect"], "expected one image, not 0"),
    (["inspect", "a", "b"], "expected one image, not 2"),
    (["inspect", "--fast", "a"], "unrecognized option '--fast'"),
    (["blocks", "x"], "x: unexpected argument"),
    (["blocks", "--image", "x"], "--image goes with either --layout or --data-dir"),
    (["blocks", "--image", "x", "--layout", "y", "--data-dir", "/z"], "either --layout or"),
    (["blocks", "--layout", "x"], "--layout and --data-dir say what is in an --image"),
    (["blocks", "--data-dir", "/x"], "--layout and --data-dir say what is in an --image"),
    (["blocks", "--data-dir", "x"], "--data-dir x: expected an absolute path without .."),
    (["blocks", "--data-dir", "/a/.."], "--data-dir /a/..: expected an absolute path"),
    (["blocks", *["--data-dir", "/a"] * 65], "--data-dir: expected at most 64"),
    (["blocks", "--image", "x", "--layout", "y", "--config", "z"], "not both"),
    (["stat"], "no block given"),
    (["stat", "blk_1_1"], "blk_1_1: expected a block pool id"),
    (["stat", "--timeout", "0", "p/blk_1_1"], "--timeout 0: expected milliseconds"),
    (["cat"], "no block given"),
    (["datanode"], "expected: move STORAGE HOST"),
    (["datanode", "copy", "a", "b"], "expected: move STORAGE HOST"),
    (["datanode", "move", "a"], "move: expected a storage's id and a host's name, or - for none"),
    (["publish"], "expected an event: finalized, append, truncate or delete"),
    (["publish", "deleted", "p/blk_1_1@DS-1"], "deleted: expected finalized, append, truncate or"),
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
    (["cat", "--offset", "1", "p/blk_1_1", "p/blk_2_1"], "go with one block, not 2"),
    (["attach"], "expected one domain id, not 0"),
    (["attach", "1", "2"], "expected one domain id, not 2"),
    (["attach", "dom"], "domain id dom: expected a number from 0 to 32751"),
    (["attach", "32752"], "domain id 32752: expected a number"),
    (["attach", "-1"], "invalid option -- '1'"),
    (["attach", "1", "--id", "256"], "--id 256: expected a number from 0 to 255"),
    (["attach", "1", "--role", "server"], "--role server: expected client or datanode"),
    (["attach", "1", "--allow-datanodes", "a  b"], "--allow-datanodes 'a  b'"),
    (["attach", "1", "--allow-pools", " "], "--allow-pools ' '"),
    (["attach", "1", "--wait", "soon"], "--wait soon: expected a number"),
    (["detach"], "expected one domain id, not 0"),
    (["detach", "1", "--wait", "-1"], "--wait -1: expected a number"),
    (["reload", "x"], "x: unexpected argument"),
    (["reload", "--socket"], "option '--socket' requires an argument"),
    (["config"], "expected: check [FILE]"),
    (["config", "chekc"], "expected: check [FILE]"),
    (["config", "check", "a", "b"], "b: one FILE at most"),
    (["config", "check", "--jsno"], "unrecognized option '--jsno'"),
    (["detach", "1", "--role", "client"], "unrecognized option '--role'"),
]


@pytest.mark.parametrize(("words", "text"), WRONG, ids=lambda value: " ".join(value)[:40])
def test_wrong_command_line(vread, words, text):
    done = vread(*words)
    error = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b""), error
    assert text in error
    assert "Try 'vread help" in error
    assert error.startswith("vread")


def test_nothing_at_all(vread):
    done = vread()
    assert done.returncode == 2
    assert b"usage: vread COMMAND" in done.stdout


@pytest.mark.parametrize("words", [["help"], ["--help"], ["-h"]])
def test_help_lists_every_command(vread, words):
    done = vread(*words)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    for command in COMMANDS:
        assert any(line.split()[:1] == [command] for line in lines), command
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(vread, command):
    done = vread("help", command)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith(f"usage: vread {command}")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("words", [["version"], ["--version"], ["-V"]])
def test_version(vread, words):
    done = vread(*words)
    assert done.returncode == 0
    assert done.stdout.decode().split()[0] == "vread"


def test_output_that_cannot_be_written(vread):
    with open("/dev/full", "w") as full:
        done = subprocess.run([VREAD, "help"], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert b"standard output: cannot write" in done.stderr
