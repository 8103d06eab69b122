// SPDX-License-Identifier: Apache-2.0
/**
 * The plug-in for clients of HDFS. Hadoop makes {@link io.vread.hdfs.VreadFileSystem} if {@code
 * fs.hdfs.impl} names that class. Its stock client calls {@link
 * io.vread.hdfs.VreadReplicaAccessorBuilder} for each block. Monitors read {@link
 * io.vread.hdfs.metrics.ClientMXBean}.
 */
package io.vread.hdfs;
