// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi.ScanInfo;

/**
 * Which methods of {@code FsDatasetSpi} change what a reader of finalized replicas sees, and how.
 * {@link PublishingDataset} asks before each call.
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
final class Changes {
  private interface Rule {
    Change of(FsDatasetSpi<?> dataset, Object[] arguments);
  }

  private static final Map<String, Rule> RULES = rules();

  private final FsDatasetSpi<?> dataset;
  private final Map<Method, Rule> rules = new HashMap<>();

  Changes(FsDatasetSpi<?> dataset) {
    this.dataset = dataset;
    for (Method method : FsDatasetSpi.class.getMethods()) {
      Rule rule = RULES.get(method.getName());
      if (rule != null) {
        rules.put(method, rule);
      }
    }
  }

  /** Null if the method changes nothing that readers see. */
  Change of(Method method, Object[] arguments) {
    Rule rule = rules.get(method);
    return rule == null ? null : rule.of(dataset, arguments);
  }

  private static Map<String, Rule> rules() {
    Map<String, Rule> r = new HashMap<>();
    r.put("finalizeBlock", (d, a) -> lookAt((ExtendedBlock) a[0]));
    r.put("append", (d, a) -> anyState(d, Event.APPEND, (ExtendedBlock) a[0]));
    r.put("recoverAppend", (d, a) -> anyState(d, Event.APPEND, (ExtendedBlock) a[0]));
    r.put("recoverClose", (d, a) -> anyState(d, Event.APPEND, (ExtendedBlock) a[0]));
    r.put("recoverRbw", (d, a) -> anyState(d, Event.TRUNCATE, (ExtendedBlock) a[0]));
    r.put("updateReplicaUnderRecovery", Changes::recovery);
    r.put("createTemporary", (d, a) -> replacement(d, (ExtendedBlock) a[2]));
    r.put("createRbw", Changes::newReplica);
    r.put("invalidate", Changes::invalidation);
    r.put("invalidateMissingBlock", Changes::missing);
    r.put("moveBlockAcrossStorage", (d, a) -> finalizedOnly(d, (ExtendedBlock) a[0]));
    r.put("moveBlockAcrossVolumes", (d, a) -> finalizedOnly(d, (ExtendedBlock) a[0]));
    r.put("checkAndUpdate", Changes::scanned);
    return r;
  }

  private static Change lookAt(ExtendedBlock b) {
    return change(b.getBlockPoolId(), null, null, b.getBlockId());
  }

  private static Change anyState(FsDatasetSpi<?> dataset, Event event, ExtendedBlock b) {
    ReplicaInfo replica = find(dataset, b.getBlockPoolId(), b.getBlockId());
    return change(b.getBlockPoolId(), event, replica, b.getBlockId());
  }

  private static Change finalizedOnly(FsDatasetSpi<?> dataset, ExtendedBlock b) {
    ReplicaInfo replica = find(dataset, b.getBlockPoolId(), b.getBlockId());
    return change(b.getBlockPoolId(), Event.DELETE, ifFinalized(replica), b.getBlockId());
  }

  /** Arguments: old block, recovery id (the new stamp), new block id, new length. */
  private static Change recovery(FsDatasetSpi<?> dataset, Object[] a) {
    ExtendedBlock old = (ExtendedBlock) a[0];
    long newId = (Long) a[2];
    long newLength = (Long) a[3];
    ReplicaInfo replica = find(dataset, old.getBlockPoolId(), old.getBlockId());
    if (newId > 0 && newId != old.getBlockId()) {
      return change(old.getBlockPoolId(), null, null, old.getBlockId(), newId);
    }
    boolean shorter = replica != null && newLength < replica.getNumBytes();
    Event event = shorter ? Event.TRUNCATE : Event.APPEND;
    return change(old.getBlockPoolId(), event, replica, old.getBlockId());
  }

  /** A temporary replica replaces a replica with an older generation stamp. */
  private static Change replacement(FsDatasetSpi<?> dataset, ExtendedBlock b) {
    ReplicaInfo old = find(dataset, b.getBlockPoolId(), b.getBlockId());
    if (old == null || old.getGenerationStamp() >= b.getGenerationStamp()) {
      return Change.NONE;
    }
    return change(b.getBlockPoolId(), Event.DELETE, old, b.getBlockId());
  }

  /**
   * Hadoop 3.4 added a createRbw() with a fifth argument, the new generation stamp. Unless the
   * stamp is 0, the call deletes an old replica.
   */
  private static Change newReplica(FsDatasetSpi<?> dataset, Object[] a) {
    if (a.length < 5 || (Long) a[4] == 0) {
      return Change.NONE;
    }
    return anyState(dataset, Event.DELETE, (ExtendedBlock) a[2]);
  }

  private static Change invalidation(FsDatasetSpi<?> dataset, Object[] a) {
    String poolId = (String) a[0];
    List<ReplicaName> going = new ArrayList<>();
    for (Block block : (Block[]) a[1]) {
      ReplicaInfo replica = find(dataset, poolId, block.getBlockId());
      if (replica != null && replica.getGenerationStamp() == block.getGenerationStamp()) {
        going.add(ReplicaName.of(poolId, replica));
      }
    }
    return new Change(poolId, Event.DELETE, going, new long[0]);
  }

  private static Change missing(FsDatasetSpi<?> dataset, Object[] a) {
    String poolId = (String) a[0];
    long blockId = ((Block) a[1]).getBlockId();
    return change(poolId, Event.DELETE, find(dataset, poolId, blockId), blockId);
  }

  private static Change scanned(FsDatasetSpi<?> dataset, Object[] a) {
    String poolId = (String) a[0];
    long blockId = ((ScanInfo) a[1]).getBlockId();
    ReplicaInfo replica = ifFinalized(find(dataset, poolId, blockId));
    return change(poolId, Event.DELETE, replica, blockId);
  }

  private static Change change(
      String poolId, Event event, ReplicaInfo withdrawn, long... lookAgainAt) {
    List<ReplicaName> names =
        withdrawn == null || event == null
            ? Collections.emptyList()
            : Collections.singletonList(ReplicaName.of(poolId, withdrawn));
    return new Change(poolId, event, names, lookAgainAt);
  }

  /** The replica of a block in the data set's memory; null: none. */
  @SuppressWarnings("deprecation") // the only lookup of a replica that all versions have
  static ReplicaInfo find(FsDatasetSpi<?> dataset, String poolId, long blockId) {
    Object replica = dataset.getReplica(poolId, blockId);
    return replica instanceof ReplicaInfo ? (ReplicaInfo) replica : null;
  }

  static ReplicaInfo ifFinalized(ReplicaInfo replica) {
    return replica != null && replica.getState() == ReplicaState.FINALIZED ? replica : null;
  }
}
