// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.server.datanode.Replica;

/** Names one replica as it is at one moment. */
final class ReplicaName {
  final String poolId;
  final long blockId;
  final long generationStamp;
  final long length;
  final String storageId;

  ReplicaName(String poolId, Replica replica) {
    this.poolId = poolId;
    blockId = replica.getBlockId();
    generationStamp = replica.getGenerationStamp();
    length = replica.getNumBytes();
    storageId = replica.getStorageUuid();
  }

  /** The block without its generation stamp and storage. */
  ExtendedBlockId block() {
    return new ExtendedBlockId(blockId, poolId);
  }
}
