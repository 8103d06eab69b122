# SPDX-License-Identifier: GPL-2.0-or-later
"""The Hadoop properties of a client that reads through vRead: by FileSystem and by FileContext."""

READER = {
    "fs.hdfs.impl": "io.vread.hdfs.VreadFileSystem",
    "fs.AbstractFileSystem.hdfs.impl": "io.vread.hdfs.VreadFs",
}
# For programs that cannot have fs.hdfs.impl.
BUILDER_ALONE = {
    "fs.hdfs.impl": "org.apache.hadoop.hdfs.DistributedFileSystem",
    "dfs.client.replica.accessor.builder.classes": "io.vread.hdfs.VreadReplicaAccessorBuilder",
}
