// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.ErasureCodingPolicy;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;
import org.apache.hadoop.hdfs.protocol.LocatedStripedBlock;
import org.apache.hadoop.hdfs.util.StripedBlockUtil;

/**
 * The block locations in the answers that one client got from its NameNode. Reads only look here;
 * nothing is asked, and nobody waits.
 *
 * <p>An answer is known for as long as somebody else refers to it: the stock client's stream holds
 * the answers for its file until it is closed or has newer ones. So this class needs no limit, and
 * its answers are as old as those that the stock client reads by. If several streams have answers
 * about one block, the newest counts.
 *
 * <p>Threads: any thread.
 */
public final class BlockLocations {
  /** One answer about a block, and older answers about the same block that somebody still has. */
  private static final class Answer extends WeakReference<LocatedBlock>
      implements BiFunction<Object, Answer, Answer> {
    private final Object key;
    private final ErasureCodingPolicy policy; // null: the file is not striped
    private final BlockLocation.Places places = new BlockLocation.Places();
    private Answer older;

    Answer(Object key, LocatedBlock block, ErasureCodingPolicy policy,
        ReferenceQueue<LocatedBlock> queue) {
      super(block, queue);
      this.key = key;
      this.policy = policy;
    }

    /** Puts this answer before the one that was the newest. */
    @Override
    public Answer apply(Object same, Answer before) {
      older = withoutCollected(before);
      return this;
    }
  }

  private final Map<Object, Answer> newest = new ConcurrentHashMap<>();
  private final ReferenceQueue<LocatedBlock> collected = new ReferenceQueue<>();

  /** Takes the locations of a file's blocks from an answer; null is ignored. */
  void learn(String file, LocatedBlocks answer) {
    forgetCollected();
    if (answer == null) {
      return;
    }
    ErasureCodingPolicy policy = answer.getErasureCodingPolicy();
    for (LocatedBlock block : answer.getLocatedBlocks()) {
      learn(file, block, policy);
    }
    LocatedBlock last = answer.getLastLocatedBlock();
    if (last != null && !answer.isLastBlockComplete()) { // else it is in the list
      learn(file, last, policy);
    }
  }

  private void learn(String file, LocatedBlock block, ErasureCodingPolicy policy) {
    ExtendedBlock name = block.getBlock();
    Object key =
        key(file, name.getBlockPoolId(), name.getBlockId(), name.getGenerationStamp());
    newest.compute(key, new Answer(key, block, policy, collected));
  }

  /** Names a block. The file is part of it, because a router shows several clusters as one. */
  private static Object key(String file, String pool, long id, long generationStamp) {
    return Arrays.asList(file, pool, id, generationStamp);
  }

  /** Where the block is; null: no answer about it is known. */
  BlockLocation find(String file, BlockKey block) {
    BlockLocation found = find(file, block, block.id());
    return found == null && block.mayBeStriped() ? find(file, block, block.groupId()) : found;
  }

  private BlockLocation find(String file, BlockKey block, long id) {
    Object key = key(file, block.pool(), id, block.generationStamp());
    for (Answer answer = newest.get(key); answer != null; answer = answer.older) {
      LocatedBlock located = answer.get();
      if (located != null && answer.policy != null) {
        return internal((LocatedStripedBlock) located, answer.policy, block.indexInGroup());
      }
      if (located != null && id == block.id()) {
        return new BlockLocation(located, answer.places);
      }
    }
    return null;
  }

  /** The location of an internal block of a group. For a while it may have several replicas. */
  private static BlockLocation internal(
      LocatedStripedBlock group, ErasureCodingPolicy policy, int index) {
    byte[] indices = group.getBlockIndices();
    int known = Math.min(indices.length, group.getLocations().length);
    int[] places = IntStream.range(0, known).filter(i -> indices[i] == index).toArray();
    if (places.length == 0) {
      return null;
    }
    DatanodeInfo[] datanodes = new DatanodeInfo[places.length];
    String[] storages = new String[places.length];
    StorageType[] types = new StorageType[places.length];
    for (int i = 0; i < places.length; i++) {
      datanodes[i] = group.getLocations()[places[i]];
      storages[i] = group.getStorageIDs()[places[i]];
      types[i] = group.getStorageTypes()[places[i]];
    }
    LocatedBlock block =
        new LocatedBlock(
            StripedBlockUtil.constructInternalBlock(group.getBlock(), policy, index),
            datanodes,
            storages,
            types,
            group.getStartOffset(),
            group.isCorrupt(),
            null);
    if (places[0] < group.getBlockTokens().length) {
      block.setBlockToken(group.getBlockTokens()[places[0]]);
    }
    return new BlockLocation(block, new BlockLocation.Places());
  }

  int size() {
    forgetCollected();
    return newest.size();
  }

  private void forgetCollected() {
    Reference<?> gone;
    while ((gone = collected.poll()) != null) {
      newest.computeIfPresent(
          ((Answer) gone).key, (key, answer) -> withoutCollected(answer));
    }
  }

  private static Answer withoutCollected(Answer newest) {
    Answer first = newest;
    while (first != null && first.get() == null) {
      first = first.older;
    }
    for (Answer each = first; each != null; each = each.older) {
      while (each.older != null && each.older.get() == null) {
        each.older = each.older.older;
      }
    }
    return first;
  }
}
