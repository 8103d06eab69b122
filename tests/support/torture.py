# SPDX-License-Identifier: GPL-2.0-or-later
"""Tortures of vRead under real HDFS (tests/hdfs/java, torture), for tests/hdfs and tests/xen: their
files and properties, and the check of their answers."""

from pathlib import Path

SOURCES = Path(__file__).parents[1] / "hdfs" / "java" / "io" / "vread" / "check"
PROGRAM = "io.vread.check.torture.Program"
CLIENT_PROPERTIES = {
    # An open stream looks up blocks that it does not know by the file's name, whichever file has
    # that name by then.
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
    """The sources of the torture as a separate program."""
    return [
        *(SOURCES / "torture").glob("*.java"),
        SOURCES / "Args.java",
        SOURCES / "Awaiting.java",
        SOURCES / "Statistics.java",
    ]


def check_sound(answer, changes=1):
    """Asserts that no byte was wrong, no read failed, and the torture did its work."""
    told = answer["complaints"]
    assert not {name: told[name] for name in NEVER if name in told}
    done = {name: answer.get(name, 0) for name in CHANGES}
    assert min(done.values()) >= changes, done
    assert answer["vread_bytes"] > answer["bytes"] // 4
