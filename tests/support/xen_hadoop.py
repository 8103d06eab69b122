# SPDX-License-Identifier: GPL-2.0-or-later
"""A file through HDFS in domUs (tools/lab/hadoop.py): written, published, and read by stock
`hdfs dfs -cat` through vRead.  tests/xen/test_hadoop_debian13.py and test_hadoop_toolstacks.py."""

import hashlib
import json

from tests.support.waiting import eventually
from tools.lab import hadoop
from tools.lab.source import noise

COMMAND_SECONDS = 900.0
LAG = 300.0
STATISTICS = "/run/statistics.json"
READER = hadoop.READER | {hadoop.STATISTICS: STATISTICS}


def read_through_vread(hdfs, file_mib, block_mib):
    """The bytes must be those that were written, all by vRead, and none from the DataNode.  Returns
    the client's statistics."""
    content = noise(file_mib).path.read_bytes()
    client = hdfs.client
    client.run("cat >/run/whole", stdin=content).check()
    client.run(hdfs.dfs("-put /run/whole /whole"), COMMAND_SECONDS).check()
    hdfs.wait_published(file_mib // block_mib)
    served, before = hdfs.bytes_served(), hdfs.backend.bytes_read(client)

    cat = f"set -o pipefail; {hdfs.dfs('-cat /whole', READER)} | sha256sum"
    read = client.text(cat, COMMAND_SECONDS).split()[0]

    assert read == hashlib.sha256(content).hexdigest()
    assert hdfs.bytes_served() == served
    assert hdfs.backend.bytes_read(client) - before >= len(content)
    found = eventually(lambda: client.run(["cat", STATISTICS]).stdout, LAG, "statistics")
    statistics = json.loads(found)
    assert statistics["vread"]["bytes"] == len(content), statistics
    return statistics
