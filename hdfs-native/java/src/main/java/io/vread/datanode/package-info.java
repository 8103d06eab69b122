// SPDX-License-Identifier: Apache-2.0
/**
 * The plug-in for DataNodes. A DataNode makes its dataset by {@link
 * io.vread.datanode.VreadFsDatasetFactory} if {@code dfs.datanode.fsdataset.factory} names that
 * class. The plug-in tells dom0 of each replica that is finished, changed or deleted, and of the
 * keys of block tokens.
 */
package io.vread.datanode;
