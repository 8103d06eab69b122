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
 * Open replicas by block, so that a positional read does no OPEN. Least recently used ones go when
 * there are too many, idle ones after a while; an entry is dropped as soon as its connection or its
 * replica proves stale. The cache holds one reference of each.
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

  /** A reference for the caller, or null. */
  synchronized Replica acquire(BlockKey block) {
    Entry entry = entries.get(block);
    if (entry == null || !entry.replica.connection().usable() || !entry.replica.retain()) {
      return null;
    }
    entry.lastUsed = clock.now();
    return entry.replica;
  }

  /** Takes a reference of its own; a replica that was there for the block is let go. */
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

  /** Lets go of replica if it is the one cached for the block. */
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

  /** Lets go of all that nobody reads; true if there were any. */
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
