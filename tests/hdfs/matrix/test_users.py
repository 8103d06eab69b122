# SPDX-License-Identifier: GPL-2.0-or-later
"""Users who read in threads of other users, as gateways and query servers do.

All that the plug-in asks a NameNode it must ask as the user of the file system.  Otherwise a read
fails that a stock client's would not, or the NameNode's audit log names somebody who did nothing.
"""

import pytest

from tests.support.audit_log import AuditLog
from tests.support.hadoop_bed import SERVED, WITHOUT_TOKENS, served

pytestmark = [pytest.mark.hadoop, WITHOUT_TOKENS]

OWNER, OTHER = "alice", "bob"
AS_OWNER = f"{OWNER} (auth:SIMPLE)"
STRIPED = {"size": 9_000_000, "block": 4 << 20}


def allowed_to(user, accesses):
    """Asserts that only this user asked for the files, and that nobody was refused."""
    assert accesses
    assert [each for each in accesses if not each.allowed or each.user != user] == []


@pytest.mark.parametrize("opener", [OWNER, OTHER])
@pytest.mark.parametrize("replicas", [SERVED[:1], SERVED], ids=["one", "two"])
def test_file_system_in_a_thread_of_another_user(bed, replicas, opener):
    folder = f"/private-{len(replicas)}-{opener}"
    file = {"file": f"{folder}/file", "owner": OWNER}
    bed.client.do("private-file", on=replicas, **file)
    audit = AuditLog(bed.hdfs)
    answer = bed.client.do("read-across", other=OTHER, opener=opener, **file)
    served(answer)
    assert answer["bytes"] == answer["stock_bytes"]
    allowed_to(AS_OWNER, audit.new(folder))


def test_erasure_coded_files_of_two_users(bed, restored, tmp_path):
    """Hadoop's threads for erasure-coded files are made by the first user's read.  In the middle of
    the second user's read vreadd is killed, so that these threads go on over TCP."""
    with bed.another_client(tmp_path) as client:
        users = {"first": OTHER, "second": OWNER}
        before = client.do("striped-begin", **users, **STRIPED)
        assert before["stats"]["vread.bytes"] > 0
        audit = AuditLog(bed.hdfs)
        bed.vreadd.kill()
        client.do("striped-end", **users)
        assert "missing blocks" not in client.logged()
    accesses = audit.new(f"/striped-of-{OWNER}")
    assert [each for each in accesses if not each.allowed or each.user != AS_OWNER] == []
