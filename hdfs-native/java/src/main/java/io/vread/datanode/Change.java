// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi.ScanInfo;

/**
 * What one call of the data set changes for readers of finalized replicas: which event to publish
 * before the call, and which replicas to publish after it. {@link #by} knows the methods of
 * {@code FsDatasetSpi}.
 *
 * <p>The list covers Hadoop 3.3.6, 3.4.3 and 3.5.0. A version that lacks a method never calls it.
 *
 * <table>
 * <caption>Before the call, and afterwards</caption>
 * <tr><td>finalizeBlock</td><td>after: FINALIZED</td></tr>
 * <tr><td>append, recoverAppend</td><td>before: APPEND (bytes and generation stamp)</td></tr>
 * <tr><td>recoverClose</td><td>before: APPEND (a new generation stamp); after: FINALIZED</td></tr>
 * <tr><td>recoverRbw</td><td>before: TRUNCATE (unacknowledged bytes are cut off, a new generation
 *     stamp)</td></tr>
 * <tr><td>updateReplicaUnderRecovery</td><td>before: TRUNCATE if it gets shorter, else APPEND (a
 *     new generation stamp), nothing if it truncates a copy; after: FINALIZED, also of the
 *     copy</td></tr>
 * <tr><td>createTemporary, createRbw</td><td>before: DELETE of an older replica that the call
 *     replaces</td></tr>
 * <tr><td>invalidate, invalidateMissingBlock</td><td>before: DELETE</td></tr>
 * <tr><td>moveBlockAcrossStorage, moveBlockAcrossVolumes (copies or hard links)</td>
 *     <td>before: DELETE in the old place; after: FINALIZED in the new place</td></tr>
 * <tr><td>checkAndUpdate</td><td>before: DELETE (it deletes one of two copies, or adopts another
 *     generation stamp); after: FINALIZED, also of replicas it has found</td></tr>
 * </table>
 *
 * <p>Not in the list: initReplicaRecovery changes nothing on disk. convertTemporaryToRbw and
 * unfinalizeBlock concern replicas that nobody could read. setPinning changes only a file's mode. A
 * volume or block pool that is taken out keeps its bytes. If a volume or block pool is deleted, its
 * directories are deleted too. Trash, snapshots and rollbacks of an upgrade are restored before
 * there is a data set.
 *
 * <p>If a call fails after a withdrawal, the replica is looked up as after success. If it is still
 * finalized, it is published again. Only invalidate is different: if it does not know one of its
 * blocks, the call fails, but it deletes the other blocks in the background.
 */
final class Change {
  static final Change NONE = new Change("", null, null);

  final String poolId;

  /** The event to publish before the call for each of {@link #withdrawn}; null: none. */
  final Event event;

  final List<ReplicaName> withdrawn = new ArrayList<>();

  /**
   * Ids of blocks to look up after the call, also after a failure. Those then finalized are
   * published.
   */
  final long[] lookAgainAt;

  private Change(String poolId, Event event, ReplicaInfo withdrawn, long... lookAgainAt) {
    this.poolId = poolId;
    this.event = event;
    this.lookAgainAt = lookAgainAt;
    if (withdrawn != null) {
      this.withdrawn.add(new ReplicaName(poolId, withdrawn));
    }
  }

  private Change(ExtendedBlock block, Event event, ReplicaInfo withdrawn) {
    this(block.getBlockPoolId(), event, withdrawn, block.getBlockId());
  }

  /** What a call of this method with these arguments changes. */
  static Change by(FsDatasetSpi<?> dataset, String method, Object[] a) {
    switch (method) {
      case "finalizeBlock":
        return new Change((ExtendedBlock) a[0], null, null);
      case "append":
      case "recoverAppend":
      case "recoverClose":
        return anyState(dataset, Event.APPEND, (ExtendedBlock) a[0]);
      case "recoverRbw":
        return anyState(dataset, Event.TRUNCATE, (ExtendedBlock) a[0]);
      case "updateReplicaUnderRecovery":
        return recovery(dataset, (ExtendedBlock) a[0], (Long) a[2], (Long) a[3]);
      case "createTemporary":
        return replacement(dataset, (ExtendedBlock) a[2]);
      case "createRbw":
        // Hadoop 3.4 added a fifth argument, the new generation stamp. If the stamp is not 0, the
        // call deletes an old replica.
        return a.length < 5 || (Long) a[4] == 0
            ? NONE
            : anyState(dataset, Event.DELETE, (ExtendedBlock) a[2]);
      case "invalidate":
        return invalidation(dataset, (String) a[0], (Block[]) a[1]);
      case "invalidateMissingBlock":
        return anyState(
            dataset, Event.DELETE, new ExtendedBlock((String) a[0], (Block) a[1]));
      case "moveBlockAcrossStorage":
      case "moveBlockAcrossVolumes":
        return deletionIfFinalized(dataset, (ExtendedBlock) a[0]);
      case "checkAndUpdate":
        return deletionIfFinalized(
            dataset, new ExtendedBlock((String) a[0], ((ScanInfo) a[1]).getBlockId()));
      default:
        return NONE;
    }
  }

  private static Change anyState(FsDatasetSpi<?> dataset, Event event, ExtendedBlock b) {
    return new Change(b, event, find(dataset, b.getBlockPoolId(), b.getBlockId()));
  }

  private static Change deletionIfFinalized(FsDatasetSpi<?> dataset, ExtendedBlock b) {
    return new Change(
        b, Event.DELETE, findFinalized(dataset, b.getBlockPoolId(), b.getBlockId()));
  }

  private static Change recovery(
      FsDatasetSpi<?> dataset, ExtendedBlock old, long newId, long newLength) {
    if (newId > 0 && newId != old.getBlockId()) {
      return new Change(old.getBlockPoolId(), null, null, old.getBlockId(), newId);
    }
    ReplicaInfo replica = find(dataset, old.getBlockPoolId(), old.getBlockId());
    boolean shorter = replica != null && newLength < replica.getNumBytes();
    return new Change(old, shorter ? Event.TRUNCATE : Event.APPEND, replica);
  }

  /** A temporary replica replaces a replica with an older generation stamp. */
  private static Change replacement(FsDatasetSpi<?> dataset, ExtendedBlock b) {
    ReplicaInfo old = find(dataset, b.getBlockPoolId(), b.getBlockId());
    return old == null || old.getGenerationStamp() >= b.getGenerationStamp()
        ? NONE
        : new Change(b, Event.DELETE, old);
  }

  private static Change invalidation(FsDatasetSpi<?> dataset, String poolId, Block[] blocks) {
    Change change = new Change(poolId, Event.DELETE, null);
    for (Block block : blocks) {
      ReplicaInfo replica = find(dataset, poolId, block.getBlockId());
      if (replica != null && replica.getGenerationStamp() == block.getGenerationStamp()) {
        change.withdrawn.add(new ReplicaName(poolId, replica));
      }
    }
    return change;
  }

  /** The replica of a block in the data set's memory; null: none. */
  @SuppressWarnings("deprecation") // the only lookup of a replica that all versions have
  private static ReplicaInfo find(FsDatasetSpi<?> dataset, String poolId, long blockId) {
    Object replica = dataset.getReplica(poolId, blockId);
    return replica instanceof ReplicaInfo ? (ReplicaInfo) replica : null;
  }

  /** As {@link #find}, but null also for a replica that is not finalized. */
  static ReplicaInfo findFinalized(FsDatasetSpi<?> dataset, String poolId, long blockId) {
    ReplicaInfo replica = find(dataset, poolId, blockId);
    return replica != null && replica.getState() == ReplicaState.FINALIZED ? replica : null;
  }
}
