# SPDX-License-Identifier: GPL-2.0-or-later
"""What bash offers after a part of a command line of vRead's programs.

Every command and every option of the help texts must be offered, and nothing else.  The programs
are found by PATH, as in an installation.
"""

import os
import subprocess

import pytest

from tests.cli.conftest import BUILD
from tests.cli.test_cli_usage import COMMANDS
from tools.vreadd import REPOSITORY

COMPLETION = REPOSITORY / "tools/cli/completion.bash"
# $@: the words up to the cursor.  What bash's readline does with the function of a program.
SCRIPT = f"""
. {COMPLETION}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_vread_complete "$1" "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD - 1]}}"
for reply in "${{COMPREPLY[@]}}"; do echo "$reply"; done
"""
XL = """#!/bin/sh
echo 'Name          ID   Mem VCPUs      State   Time(s)'
echo 'Domain-0       0  1024     2     r-----      20.0'
echo 'client         3   512     1     -b----       5.0'
echo 'datanode       4   512     1     -b----       7.0'
"""


@pytest.fixture
def offered(tmp_path):
    xl = tmp_path / "xl"
    xl.write_text(XL)
    xl.chmod(0o755)
    path = f"{tmp_path}:{BUILD / 'asan'}:{os.environ['PATH']}"

    def complete(*words):
        done = subprocess.run(
            ["bash", "-c", SCRIPT, "bash", *words],
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.split()

    return complete


@pytest.mark.parametrize("program", COMMANDS)
def test_commands(offered, program):
    assert offered(program, "") == COMMANDS[program]
    assert offered(program, "help", "") == COMMANDS[program]
    assert offered(program, "nonsense") == []


def test_the_beginning_of_a_word_counts(offered):
    assert offered("xl-vread", "re") == ["reboot", "restore", "receive", "reload"]


def test_options(offered):
    assert offered("xl-vread", "attach", "-") == ["--temporary", "--wait"]
    assert offered("vread", "cat", "--e") == ["--endpoint", "--encrypt"]
    assert offered("xl-vread", "list", "-") == []
    assert "--check-config" in offered("vreadd", "--c")
    assert {"-d", "--data-dir"} <= set(offered("vread-provision", "-"))


def test_words_after_a_command(offered):
    assert offered("xl-vread", "config", "") == ["check"]
    assert sorted(offered("xl-vread", "datanode", "")) == ["give", "move"]


def test_domains(offered):
    assert offered("xl-vread", "attach", "") == ["client", "datanode"]
    assert offered("xl-vread", "detach", "c") == ["client"]
    assert offered("xl-vread", "init", "--datanode", "d") == ["datanode"]
    assert offered("xl-vread", "init", "--datanode", "datanode", "--client", "c") == ["client"]
    assert offered("xl-vread", "init", "") == []


@pytest.mark.parametrize(
    "words",
    [
        ("xl-vread", "attach", "--wait", ""),
        ("vread", "cat", "--blocks-from", "c"),
        ("vreadd", "--config", ""),
        ("xl-vread", "inspect", ""),
    ],
)
def test_paths_are_left_to_bash(offered, words):
    assert offered(*words) == []


def test_bash_asks_it_for_every_program():
    done = subprocess.run(
        ["bash", "-c", f". {COMPLETION}; complete -p"], capture_output=True, text=True, check=True
    )
    for line in done.stdout.splitlines():
        assert line.startswith("complete -o default -F _vread_complete "), line
    programs = {line.split()[-1] for line in done.stdout.splitlines()}
    assert programs == {
        "vread", "xl-vread", "vreadd", "vread-provision", "vread-peer-certificate", "vread-ivshmem",
        "vread-bench",
    }  # fmt: skip
