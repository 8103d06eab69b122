// SPDX-License-Identifier: Apache-2.0
/**
 * The plug-in for clients of HDFS. The stock client calls {@link
 * io.vread.hdfs.VreadReplicaAccessorBuilder} for each block if {@code
 * dfs.client.replica.accessor.builder.classes} names that class. Programs that call Hadoop out of C
 * or Python name {@link io.vread.hdfs.NativeThreadFileSystem}, too. Monitors read {@link
 * io.vread.hdfs.ClientMXBean}.
 */
package io.vread.hdfs;
