// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.Clock;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hdfs.ExtendedBlockId;

/**
 * Finalized replicas that wait to be published, in the order they were added, at most one per
 * block. The datanode's threads add and withdraw; the publisher's thread takes. Any thread may call
 * any method.
 *
 * <p>A full queue drops the oldest replica: the kernel writes a file back by itself within half a
 * minute, so the oldest has the least to gain. The queue also knows which replicas were taken and
 * are being published, because a withdrawal must reach them too.
 */
final class PendingQueue {
  private final int limit;
  private final Clock clock;
  private final Map<ExtendedBlockId, Pending> waiting = new LinkedHashMap<>();
  private List<Pending> taken = new ArrayList<>();
  private boolean closed;

  PendingQueue(int limit, Clock clock) {
    this.limit = limit;
    this.clock = clock;
  }

  /**
   * Adds a replica in place of an older one of its block. False: the queue was full, and the oldest
   * replica was dropped.
   */
  synchronized boolean add(Pending pending) {
    ExtendedBlockId block = pending.name.block();
    waiting.remove(block);
    boolean room = waiting.size() < limit;
    if (!room) {
      waiting.remove(waiting.keySet().iterator().next());
    }
    waiting.put(block, pending);
    notifyAll();
    return room;
  }

  /**
   * Puts back a replica that could not be published, unless it was withdrawn, a newer one of its
   * block waits, or the queue is full.
   */
  synchronized void putBack(Pending pending) {
    if (!pending.withdrawn() && waiting.size() < limit) {
      waiting.putIfAbsent(pending.name.block(), pending);
    }
  }

  /**
   * Withdraws all replicas of the block that were added before this call, also those being
   * published.
   */
  synchronized void withdraw(ExtendedBlockId block) {
    Pending pending = waiting.remove(block);
    if (pending != null) {
      pending.withdraw();
    }
    for (Pending publishing : taken) {
      if (publishing.name.block().equals(block)) {
        publishing.withdraw();
      }
    }
  }

  /** Waits until a replica is there. False: none came in time, or the queue was closed. */
  synchronized boolean await(long timeoutMs) throws InterruptedException {
    return clock.await(this, timeoutMs, () -> closed || !waiting.isEmpty()) && !closed;
  }

  /** Takes the oldest replicas. They count as being published until {@link #done}. */
  synchronized List<Pending> take(int most) {
    List<Pending> batch = new ArrayList<>();
    Iterator<Pending> oldest = waiting.values().iterator();
    while (batch.size() < most && oldest.hasNext()) {
      batch.add(oldest.next());
      oldest.remove();
    }
    taken = batch;
    return batch;
  }

  synchronized void done() {
    taken = new ArrayList<>();
  }

  synchronized int size() {
    return waiting.size() + taken.size();
  }

  synchronized void close() {
    closed = true;
    waiting.clear();
    notifyAll();
  }
}
