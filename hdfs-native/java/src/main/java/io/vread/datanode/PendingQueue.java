// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
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
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition added = lock.newCondition();
  private final Map<ExtendedBlockId, Pending> waiting = new LinkedHashMap<>();
  private List<Pending> taken = new ArrayList<>();
  private boolean closed;

  PendingQueue(int limit) {
    this.limit = limit;
  }

  /** Adds a replica in the place of what was known of its block; false if one had to be dropped. */
  boolean add(Pending pending) {
    lock.lock();
    try {
      ExtendedBlockId block = pending.name.block();
      waiting.remove(block);
      boolean room = waiting.size() < limit;
      if (!room) {
        dropOldest();
      }
      waiting.put(block, pending);
      added.signal();
      return room;
    } finally {
      lock.unlock();
    }
  }

  private void dropOldest() {
    Iterator<Pending> oldest = waiting.values().iterator();
    oldest.next();
    oldest.remove();
  }

  /** Puts back what could not be published, unless something newer came or it was withdrawn. */
  void putBack(Pending pending) {
    lock.lock();
    try {
      if (!pending.withdrawn() && waiting.size() < limit) {
        waiting.putIfAbsent(pending.name.block(), pending);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Nothing added for the block before this call will be published after it. */
  void withdraw(ExtendedBlockId block) {
    lock.lock();
    try {
      Pending pending = waiting.remove(block);
      if (pending != null) {
        pending.withdraw();
      }
      for (Pending publishing : taken) {
        if (publishing.name.block().equals(block)) {
          publishing.withdraw();
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** Waits for a replica to be there; false if none came in time or the queue was closed. */
  boolean await(long timeoutMs) throws InterruptedException {
    lock.lock();
    try {
      long left = TimeUnit.MILLISECONDS.toNanos(timeoutMs);
      while (waiting.isEmpty() && !closed && left > 0) {
        left = added.awaitNanos(left);
      }
      return !waiting.isEmpty() && !closed;
    } finally {
      lock.unlock();
    }
  }

  /** The oldest; they count as being published until {@link #done}. */
  List<Pending> take(int most) {
    lock.lock();
    try {
      List<Pending> batch = new ArrayList<>();
      Iterator<Pending> oldest = waiting.values().iterator();
      while (batch.size() < most && oldest.hasNext()) {
        batch.add(oldest.next());
        oldest.remove();
      }
      taken = batch;
      return batch;
    } finally {
      lock.unlock();
    }
  }

  void done() {
    lock.lock();
    try {
      taken = new ArrayList<>();
    } finally {
      lock.unlock();
    }
  }

  int size() {
    lock.lock();
    try {
      return waiting.size() + taken.size();
    } finally {
      lock.unlock();
    }
  }

  void close() {
    lock.lock();
    try {
      closed = true;
      waiting.clear();
      added.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
