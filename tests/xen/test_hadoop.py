# SPDX-License-Identifier: GPL-2.0-or-later
"""Stock Hadoop on real Xen, with vRead by configuration.  The client domU's bytes must be right and
come by vRead while files change, vreadd dies, and the datanode's domU ends and comes back.

The datanode's disk is mounted in its domU all the time and never frozen.  The host is restored from
a state with NameNode, DataNode and client up.  Making that state, once, takes minutes.

`make test` runs the main path alone.  What else happens to files and to vreadd, tests/hdfs shows
with stock Hadoop natively, and tests/xen/shared with a real device.
"""

import hashlib
import json
import re

import pytest

from tests.support.waiting import eventually
from tools.lab import hadoop, hadoop_state
from tools.lab.source import noise

pytestmark = [pytest.mark.xen, pytest.mark.hadoop, pytest.mark.timeout(1800)]

MIB = 1 << 20
BLOCK_MIB = 4
FILE_MIB = 12
PART = 5 * MIB + 1234  # ends within a block and within a chunk
STATISTICS = "/run/statistics.json"
READER = hadoop.READER | {hadoop.STATISTICS: STATISTICS}
LAG = 300.0
NOTHING = {"vread": {"bytes": 0}, "hdfs": {"bytes": 0}}
EMPTY = hashlib.sha256().hexdigest()


@pytest.fixture(scope="module")
def content():
    return noise(FILE_MIB).path.read_bytes()


@pytest.fixture(scope="module")
def hdfs(start_host, product_files):
    dom0_files, guest_files = product_files
    host = start_host(
        "hadoop",
        **hadoop_state.arguments(FILE_MIB),
        files=dom0_files,
        guest_files=guest_files,
    )
    backend = hadoop.backend(host)
    backend.start()
    hdfs = hadoop.Hdfs(host, backend, block_mib=BLOCK_MIB)
    hdfs.start()
    hdfs.client.run(f"dd if=/dev/xvdk of=/run/whole bs=1M count={FILE_MIB}").check()
    hdfs.client.run(f"head -c {PART} /run/whole >/run/part").check()
    return hdfs


@pytest.fixture(scope="module")
def shell(hdfs):
    with hdfs.shell() as shell:
        yield shell


class Reads:
    """`hdfs dfs -cat` with vRead.  Checks the bytes, and which way they came."""

    def __init__(self, hdfs, shell):
        self._hdfs, self._shell = hdfs, shell
        self._bytes = 0

    def start(self, *paths):
        self._shell.start("-cat " + " ".join(paths), READER)

    def finish(self, expected):
        answer = self._shell.hear()
        assert answer["status"] == 0, self._shell.complaints
        assert answer["sha256"] == sha256(expected)
        self._bytes = answer["read"]

    def check(self, path, expected):
        self.start(path)
        self.finish(expected)

    def check_by_vread(self, path, expected):
        """As check().  The DataNode must not serve a byte, and the plug-in must count all bytes."""
        served, before = self._hdfs.bytes_served(), self.statistics()
        self.check(path, expected)
        after = self.statistics()
        assert self._hdfs.bytes_served() == served, after
        assert after["vread"]["bytes"] - before["vread"]["bytes"] == len(expected), after

    def statistics(self):
        """The plug-in's statistics, once they count the last read.  They are written every
        second."""

        def caught_up():
            found = self._statistics()
            return found if found["hdfs"]["bytes"] == self._bytes else None

        return eventually(caught_up, LAG, f"statistics of {self._bytes} bytes")

    def until_by_vread(self, path, expected):
        """Reads until all bytes come by vRead.  The plug-in does not try a failed backend for a
        while, by the guest's clock."""

        def all_of_it():
            before = self.statistics()["vread"]["bytes"]
            self.check(path, expected)
            return self.statistics()["vread"]["bytes"] - before == len(expected)

        eventually(all_of_it, LAG, f"{path} by vRead")

    def _statistics(self):
        kept = self._hdfs.client.run(["cat", STATISTICS])
        return json.loads(kept.stdout) if kept.rc == 0 else NOTHING


@pytest.fixture(scope="module")
def reads(hdfs, shell):
    return Reads(hdfs, shell)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def change(hdfs, shell):
    """change(arguments, blocks): runs `hdfs dfs` and returns a function, which waits until the
    `blocks` blocks that the command made or changed are published."""

    def run(arguments, blocks=0):
        before = hdfs.published()
        assert shell.run(arguments)["status"] == 0, shell.complaints
        return lambda: hdfs.wait_published(before + blocks)

    return run


@pytest.fixture
def file(request, change):
    """The path of a file that only this test uses.  Its blocks are published."""
    path = "/" + re.sub(r"\W+", "-", request.node.name)
    change(f"-put -f /run/whole {path}", FILE_MIB // BLOCK_MIB)()
    return path


def test_what_was_written_is_read_through_vread(hdfs, reads, file, content):
    """A file is written and read; all bytes must come by vRead.  Stock Hadoop runs in domUs: only
    tests on Xen have all parts in their places."""
    given = hdfs.backend.bytes_read(hdfs.client)
    reads.check_by_vread(file, content)
    assert hdfs.backend.bytes_read(hdfs.client) - given >= len(content)


@pytest.mark.slow
def test_read_right_after_an_append(reads, change, file, content):
    """A file is appended to and read at once; the read must have the new bytes.  The append passes
    the datanode domU's kernel and blkback.  `make test` instead runs
    tests/hdfs/matrix/test_changes.py."""
    change(f"-appendToFile /run/part {file}", 2)()
    published = change(f"-appendToFile /run/part {file}", 2)  # from the middle of a block
    longer = content + content[:PART] * 2
    reads.check(file, longer)
    published()
    reads.check_by_vread(file, longer)


@pytest.mark.slow
def test_read_right_after_a_truncation(reads, change, file, content):
    """A file is truncated and read at once; the read must end at the new length.  The truncation
    passes the datanode domU's kernel and blkback.  `make test` instead runs
    tests/hdfs/matrix/test_changes.py."""
    published = change(f"-truncate -w {PART} {file}", 1)
    reads.check(file, content[:PART])
    published()
    reads.check_by_vread(file, content[:PART])


@pytest.mark.slow
def test_another_file_in_the_place_of_a_deleted_one(shell, reads, change, file, content):
    """A file is deleted, and another file takes its name; no read may get the old bytes.  The
    DataNode's events go through its domU's module, before the client's read does."""
    change(f"-rm -skipTrash {file}")
    gone = shell.run(f"-cat {file}", READER)
    assert gone["status"] == 1
    assert gone["sha256"] == EMPTY
    published = change(f"-put /run/part {file}", 2)
    reads.check(file, content[:PART])
    published()
    reads.check_by_vread(file, content[:PART])


@pytest.mark.slow
def test_backend_killed_and_restarted_under_a_reader(hdfs, reads, file, content):
    """vreadd is killed and restarted under a reader; all bytes must be right, and come by vRead
    again.  The plug-in learns of both from /dev/vread.  The test takes more than a minute: a JVM
    does not try a failed backend for half a minute."""
    backend, times = hdfs.backend, 8
    given = backend.bytes_read(hdfs.client)
    reads.start(*[file] * times)
    eventually(lambda: backend.bytes_read(hdfs.client) > given, LAG, "bytes on their way")
    backend.kill()
    backend.start()
    reads.finish(content * times)
    backend.wait_connected(hdfs.client)
    backend.wait_connected(hdfs.datanode)
    reads.until_by_vread(file, content)
    reads.check_by_vread(file, content)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["reboots", "is destroyed"])
def test_datanode_domain(hdfs, reads, change, file, content, way):
    """The DataNode's whole domain ends and comes back, with its disk and its device; reads must be
    right all the time, and come by vRead again.  `make test` instead runs shared/test_life.py, in
    which a domain reboots, and tests/hdfs/test_publisher.py, in which a DataNode restarts."""
    if way == "reboots":
        hdfs.reboot_datanode()
    else:
        hdfs.datanode.destroy()
    # The domain is gone, but the blocks on its disk are durable and can be read.
    reads.check(file, content)
    hdfs.start_datanode()
    hdfs.wait_registered()
    reads.check_by_vread(file, content)
    change(f"-put -f /run/part {file}", 2)()
    reads.check_by_vread(file, content[:PART])
