# SPDX-License-Identifier: GPL-2.0-or-later
"""Torture test with real HDFS on real Xen.  A client domU writes, appends, truncates, renames,
replaces and deletes files, and eight readers in it read through /dev/vread meanwhile.  The
DataNode's disk is so small that its space is used again all the time.

The program is the one of tests/hdfs/test_torture_hdfs.py.
"""

import json

import pytest

from tests.support.torture import CLIENT_PROPERTIES, PROGRAM, check_sound, program_sources
from tools.lab import hadoop
from tools.lab.java_program import JavaProgram, compiled

pytestmark = [pytest.mark.xen, pytest.mark.hadoop, pytest.mark.slow, pytest.mark.timeout(2700)]

DISK_MIB = 32  # small: an emulated host writes a few MiB a minute, and space is to be used twice
ENOUGH = {"changes": 1, "turnover": 1}
PATIENCE = 2400  # s; the program gives up its changes before
JAR = "/usr/share/java/torture.jar"
PROPERTIES = CLIENT_PROPERTIES | {
    "dfs.heartbeat.interval": "1",
    "dfs.namenode.redundancy.interval.seconds": "1s",
}
FILES = {"owners": 2, "files": 10, "blocks": [1024], "largest": 3072, "readers": 8}


@pytest.fixture(scope="module")
def hdfs(start_host, product_files):
    dom0_files, guest_files = product_files
    host = start_host(
        "torture-hdfs",
        memory_mib=hadoop.HOST_MIB,
        dom0_mib=hadoop.DOM0_MIB,
        disks=hadoop.disks(DISK_MIB),
        files=dom0_files,
        guest_files=guest_files,
    )
    backend = hadoop.backend(host)
    backend.start()
    hdfs = hadoop.Hdfs(
        host,
        backend,
        block_mib=1,
        properties=PROPERTIES,
        client_files={JAR: compiled("torture", program_sources())},
    )
    hdfs.start()
    return hdfs


def torture(hdfs):
    request = {"properties": hadoop.READER} | ENOUGH | FILES
    with JavaProgram(hdfs.client, PROGRAM, JAR, heap="96m") as program:
        program.say(json.dumps(request))
        answer = program.hear(PATIENCE)
    answer["vreadd_errors"] = hdfs.backend.device(hdfs.client)["counters"]["errors"]
    print(json.dumps(answer, indent=1))
    return answer


def test_no_wrong_byte(hdfs):
    """No reader may get a wrong byte.  Natively DataNode and client share a kernel.  The test takes
    minutes: it ends when each kind of change was made, and space was used twice."""
    answer = torture(hdfs)
    check_sound(answer)
    assert answer["written_bytes"] >= answer["capacity"]
