// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.server.datanode.Replica;

/** Names one replica as it is at one moment. Events carry it to the backend. */
final class ReplicaName {
  final String poolId;
  final long blockId;
  final long generationStamp;
  final long length;
  final String storageId;

  ReplicaName(
      String poolId, long blockId, long generationStamp, long length, String storageId) {
    this.poolId = poolId;
    this.blockId = blockId;
    this.generationStamp = generationStamp;
    this.length = length;
    this.storageId = storageId;
  }

  static ReplicaName of(String poolId, Replica replica) {
    return new ReplicaName(
        poolId,
        replica.getBlockId(),
        replica.getGenerationStamp(),
        replica.getNumBytes(),
        replica.getStorageUuid());
  }

  /** The block without its generation stamp and storage. */
  ExtendedBlockId block() {
    return new ExtendedBlockId(blockId, poolId);
  }

  @Override
  public String toString() {
    return poolId + "/blk_" + blockId + "_" + generationStamp + "@" + storageId + ":" + length;
  }
}
