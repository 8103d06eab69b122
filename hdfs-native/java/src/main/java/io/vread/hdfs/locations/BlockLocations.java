// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
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
    Object key = key(file, block.pool(), block.groupId(), block.generationStamp());
    for (Answer answer = newest.get(key); answer != null; answer = answer.older) {
      LocatedBlock located = answer.get();
      if (located != null) {
        return answer.policy == null
            ? new BlockLocation(located, answer.places)
            : internal(located, answer.policy, block.indexInGroup());
      }
    }
    return null;
  }

  /** The location of an internal block of a group. */
  private static BlockLocation internal(
      LocatedBlock group, ErasureCodingPolicy policy, int index) {
    byte[] indices = ((LocatedStripedBlock) group).getBlockIndices();
    for (int place = 0; place < indices.length; place++) {
      if (indices[place] == index) {
        return new BlockLocation(
            StripedBlockUtil.constructInternalBlock(
                (LocatedStripedBlock) group,
                place,
                policy.getCellSize(),
                policy.getNumDataUnits(),
                index),
            new BlockLocation.Places());
      }
    }
    return null;
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
