// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.Clock;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Open replicas by block, so that a positional read needs no OPEN. {@link Client} puts finalized
 * replicas in. The cache holds one reference to each.
 *
 * <p>If there are too many, the least recently used replica is dropped. Unused replicas are dropped
 * after a while. A replica is dropped as soon as it or its connection proves stale.
 */
final class ReplicaCache {
  private static final class Entry {
    final Replica replica;
    long lastUsed;

    Entry(Replica replica, long now) {
      this.replica = replica;
      this.lastUsed = now;
    }
  }

  private final Clock clock;
  private final int capacity;
  private final long idleMs;
  private final LinkedHashMap<BlockKey, Entry> entries = new LinkedHashMap<>(16, 0.75f, true);

  ReplicaCache(Clock clock, int capacity, long idleMs) {
    this.clock = clock;
    this.capacity = capacity;
    this.idleMs = idleMs;
  }

  /** The block's replica, with a reference for the caller; null: none. */
  synchronized Replica acquire(BlockKey block) {
    Entry entry = entries.get(block);
    if (entry == null || !entry.replica.connection().usable() || !entry.replica.retain()) {
      return null;
    }
    entry.lastUsed = clock.now();
    return entry.replica;
  }

  /** Takes a reference of its own. Drops the replica that was cached for the block before. */
  void put(BlockKey block, Replica replica) {
    List<Replica> gone = new ArrayList<>();
    synchronized (this) {
      if (!replica.retain()) {
        return;
      }
      Entry old = entries.put(block, new Entry(replica, clock.now()));
      if (old != null) {
        gone.add(old.replica);
      }
      Iterator<Map.Entry<BlockKey, Entry>> eldest = entries.entrySet().iterator();
      while (entries.size() > capacity) {
        gone.add(eldest.next().getValue().replica);
        eldest.remove();
      }
    }
    gone.forEach(Replica::release);
  }

  /** Drops the replica, if it is the one cached for the block. */
  void drop(BlockKey block, Replica replica) {
    synchronized (this) {
      Entry entry = entries.get(block);
      if (entry == null || entry.replica != replica) {
        return;
      }
      entries.remove(block);
    }
    replica.release();
  }

  void dropConnection(Connection connection) {
    removeIf(entry -> entry.getValue().replica.connection() == connection);
  }

  void dropIdle() {
    long now = clock.now();
    removeIf(
        entry -> entry.getValue().replica.unused() && now - entry.getValue().lastUsed >= idleMs);
  }

  /** Drops all replicas that nobody reads. True: there were any. */
  boolean dropUnused() {
    return removeIf(entry -> entry.getValue().replica.unused());
  }

  synchronized int size() {
    return entries.size();
  }

  private boolean removeIf(Predicate<Map.Entry<BlockKey, Entry>> condition) {
    List<Replica> gone = new ArrayList<>();
    synchronized (this) {
      entries
          .entrySet()
          .removeIf(
              entry -> {
                boolean removed = condition.test(entry);
                if (removed) {
                  gone.add(entry.getValue().replica);
                }
                return removed;
              });
    }
    gone.forEach(Replica::release);
    return !gone.isEmpty();
  }
}
