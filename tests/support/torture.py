# SPDX-License-Identifier: GPL-2.0-or-later
"""Tortures under real HDFS (tests/hdfs/java, torture), wherever they run: what they need, and what
their answers must say."""

from pathlib import Path

SOURCES = Path(__file__).parents[1] / "hdfs" / "java" / "io" / "vread" / "check"
PROGRAM = "io.vread.check.torture.Program"
CLIENT_PROPERTIES = {
    # Blocks behind those an open stream knows would be looked up by the file's name, whoever has
    # that by then.
    "dfs.client.read.prefetch.size": str(1 << 30),
    # On a busy machine the datanode may be late with its report of a block.
    "dfs.client.block.write.locateFollowingBlock.retries": "12",
}
CHANGES = (
    "created",
    "replaced",
    "appended",
    "truncated_within_block",
    "truncated_between_blocks",
    "renamed",
    "deleted",
)
NEVER = ("wrong", "unexpected_failures", "owner_failures")


def program_sources():
    """Of the torture as a program of its own."""
    return [
        *(SOURCES / "torture").glob("*.java"),
        SOURCES / "Args.java",
        SOURCES / "Statistics.java",
    ]


def check_sound(answer, changes=1):
    """No wrong byte and no failed read; and it did what it is for."""
    told = answer["complaints"]
    assert not {name: told[name] for name in NEVER if name in told}
    done = {name: answer.get(name, 0) for name in CHANGES}
    assert min(done.values()) >= changes, done
    assert answer["vread_bytes"] > answer["bytes"] // 4
