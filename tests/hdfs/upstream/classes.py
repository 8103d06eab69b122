# SPDX-License-Identifier: GPL-2.0-or-later
"""Which classes of Hadoop's own tests are run, and where vRead cannot agree with stock Hadoop."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class OwnTest:
    """A class of Hadoop's tests; its name is without "org.apache.hadoop.".

    differs: {method: why its verdict is another one through vRead}.  left_out: {method: why it is
    not run}.  no_bytes: why vRead serves nothing in this class.  quick: make test runs it, too.
    """

    name: str
    differs: dict = field(default_factory=dict)
    left_out: dict = field(default_factory=dict)
    no_bytes: str = ""
    quick: bool = False

    def __str__(self):
        return self.name.rpartition(".")[2]


CASTS = "the test casts the datanode's data set to the stock class; the publisher has a proxy there"

ASKED = "once vreadd has the block keys, the datanode is not asked, and keys come at any moment"

CACHED = "it spoils a file in the page cache; vRead reads the right bytes until the disk has these"

CLASSES = (
    OwnTest("fs.contract.hdfs.TestHDFSContractOpen", quick=True),
    OwnTest("fs.contract.hdfs.TestHDFSContractSeek"),
    OwnTest("fs.contract.hdfs.TestHDFSContractUnbuffer"),
    OwnTest("fs.contract.hdfs.TestHDFSContractVectoredRead"),
    OwnTest("fs.viewfs.TestViewFileSystemHdfs"),
    OwnTest("hdfs.TestDFSInputStream"),
    OwnTest("hdfs.TestDFSStripedInputStream", no_bytes="its datanodes only simulate data"),
    OwnTest(
        "hdfs.TestEncryptedTransfer",
        left_out={
            "testClientThatDoesNotSupportEncryption": f"the datanode must log a handshake; {ASKED}",
            "testLongLivedReadClientAfterRestart": f"the read must await the datanode; {ASKED}",
        },
    ),
    OwnTest("hdfs.TestEncryptionZones"),
    OwnTest("hdfs.TestFileAppend", differs={"testBreakHardlinksIfNeeded": CASTS}),
    OwnTest("hdfs.TestFileAppend2"),
    OwnTest("hdfs.TestFileAppend3"),
    OwnTest("hdfs.TestFileAppend4", no_bytes="it reads no file"),
    OwnTest("hdfs.TestHFlush"),
    OwnTest("hdfs.TestParallelRead"),
    OwnTest("hdfs.TestPread"),
    OwnTest(
        "hdfs.TestReadStripedFileWithDecoding",
        left_out={"testCorruptionECBlockInvalidate": CACHED, "testReportBadBlock": CACHED},
    ),
    OwnTest("hdfs.TestSeekBug"),
    OwnTest("hdfs.TestWriteRead"),
    OwnTest("hdfs.TestWriteReadStripedFile"),
    OwnTest("hdfs.server.blockmanagement.TestBlockTokenWithDFS"),
    OwnTest("hdfs.server.namenode.ha.TestObserverNode"),
    OwnTest(
        "hdfs.server.namenode.TestFileTruncate",
        no_bytes="each of its checksums is of fewer than 16 bytes, which vRead does not read",
    ),
)
