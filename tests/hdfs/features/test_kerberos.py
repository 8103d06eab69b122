# SPDX-License-Identifier: GPL-2.0-or-later
"""A cluster with Kerberos that encrypts all that it sends (SASL with quality `privacy`).

Each test is of a client who shows the NameNode something else: a ticket of the user's cache, one
got by a keytab, or a delegation token, as a task of a job has it.  The client competes: for a probe
the plug-in asks the NameNode and reads from the datanode by itself, in a thread of its own.
"""

import errno
import json

import pytest

from tests.libvread import vreadlib
from tests.support.audit_log import AuditLog
from tests.support.daemon import REPOSITORY
from tests.support.feature_table import check_cell
from tests.support.hadoop_bed import SOON, VERSIONS, hadoop_bed, known
from tests.support.waiting import eventually
from tools.hdfs.kerberos import REALM, Kdc

pytestmark = [pytest.mark.hadoop, pytest.mark.slow]

FEATURE = "Kerberos with SASL privacy"
USER = f"alice@{REALM}"
OTHER = f"bob@{REALM}"
OPENERS = {
    "ticket": f"{USER} (auth:KERBEROS)",
    "keytab": f"{OTHER} (auth:KERBEROS)",
    "token": f"{USER} (auth:TOKEN)",
}
FILE = {"uri": "/private"}
# USER writes the files.  Without it, only the principal of the NameNode may write in "/".
SUPERUSER = {"hadoop.user.group.static.mapping.overrides": "alice=supergroup"}


@pytest.fixture(scope="module")
def kdc(tmp_path_factory):
    with Kdc(tmp_path_factory.mktemp("kdc")) as running:
        running.add(USER)
        running.add(OTHER)
        yield running


@pytest.fixture(scope="module", params=VERSIONS)
def bed(request, kdc, tmp_path_factory):
    with hadoop_bed(
        request.param,
        tmp_path_factory.mktemp("kerberos"),
        names=["dn1"],
        datanodes=1,
        replication=1,
        conf=kdc.properties() | SUPERUSER,
        java_options=kdc.java_options,
        client={"java_options": kdc.java_options, "environment": kdc.log_in(USER)},
    ) as running:
        running.client.do("write-at", replicas=1, **FILE)
        yield running


@pytest.fixture(params=["ticket", "keytab", "token"])
def credential(request, kdc):
    """(its name, the scenario's arguments)"""
    if request.param == "keytab":
        return "keytab", {"as": "keytab", "principal": OTHER, "keytab": str(kdc.keytab(OTHER))}
    return request.param, {"as": "token"} if request.param == "token" else {}


def test_privacy(bed, credential, record_property):
    name, arguments = credential
    cell = f"{bed.mode.version} with a {name}"
    check_cell(record_property, FEATURE, cell, bed.client, **FILE, **arguments)


@pytest.mark.slow
def test_probes(bed, kdc, credential, tmp_path):
    """The plug-in must be able to read as the stock client, with any credential, and must use no
    other.  A probe may end between two scenarios, so the plug-in's own file tells of it."""
    name, arguments = credential
    audit = AuditLog(bed.hdfs)
    statistics = tmp_path / "statistics.json"
    with bed.another_client(
        tmp_path,
        bed.properties(compete="true", statistics_file=statistics),
        java_options=kdc.java_options,
        environment=kdc.log_in(USER),
    ) as client:

        def measured():
            client.do("read-at", **FILE, **arguments)
            found = json.loads(statistics.read_text())["compete"] if statistics.exists() else {}
            assert not found.get("failed"), client.log_tail()
            return found.get("measured")

        eventually(measured, what="a probe")
    assert {access.user for access in audit.locations(FILE["uri"])} == {OPENERS[name]}


def test_nobody_without_a_token_is_served(bed):
    def has_keys():
        (datanode,) = bed.vreadd.status()["datanodes"]
        return known(datanode["tokens"])

    eventually(has_keys, SOON)
    (block, *_) = bed.client.do("where-at", **FILE)["blocks"]
    number, stamp = map(int, block.removeprefix("blk_").split("_"))
    storages = bed.hdfs.datanode("dn1").storage_ids()
    (pool,) = bed.hdfs.datanode("dn1").data_dirs[0].glob("current/BP-*")
    lib = vreadlib.load(REPOSITORY / "build/release/libvread.so.1")
    with (
        vreadlib.Connection(lib, bed.vreadd.endpoint) as connection,
        pytest.raises(OSError) as raised,
    ):
        connection.open(pool.name, number, stamp, 0, storages)
    assert raised.value.errno == errno.EPERM
