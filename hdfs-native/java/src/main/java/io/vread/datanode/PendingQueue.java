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
 * Finalized replicas waiting to be published, oldest first, one per block.
 *
 * <p>It is bounded, and drops the oldest when full: the kernel writes a file back by itself within
 * half a minute, so the oldest have the least to gain. It also knows which replicas have been taken
 * out and are being published, because a withdrawal must reach those, too.
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

  /** Adds a replica in the place of what was known of its block; false if one had to be dropped. */
  synchronized boolean add(Pending pending) {
    ExtendedBlockId block = pending.name.block();
    waiting.remove(block);
    boolean room = waiting.size() < limit;
    if (!room) {
      dropOldest();
    }
    waiting.put(block, pending);
    notifyAll();
    return room;
  }

  private void dropOldest() {
    Iterator<Pending> oldest = waiting.values().iterator();
    oldest.next();
    oldest.remove();
  }

  /** Puts back what could not be published, unless something newer came or it was withdrawn. */
  synchronized void putBack(Pending pending) {
    if (!pending.withdrawn() && waiting.size() < limit) {
      waiting.putIfAbsent(pending.name.block(), pending);
    }
  }

  /** Nothing added for the block before this call will be published after it. */
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

  /** Waits for a replica to be there; false if none came in time or the queue was closed. */
  synchronized boolean await(long timeoutMs) throws InterruptedException {
    long limit = clock.now() + timeoutMs;
    while (waiting.isEmpty() && !closed && clock.now() < limit) {
      clock.waitUntil(this, limit);
    }
    return !waiting.isEmpty() && !closed;
  }

  /** The oldest; they count as being published until {@link #done}. */
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
