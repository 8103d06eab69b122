// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Clock;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Open replicas by block, storages and block token, so that a positional read needs no OPEN. Only
 * finalized replicas are in it. The cache holds one reference to each.
 *
 * <p>Only a reader whose NameNode named the same storages gets a replica: another cluster may have
 * other bytes under the same name. Only a reader with the token that a replica was opened with gets
 * it, and only until the token ends: the backend judges the token of every other reader, with an
 * OPEN. If the datanode's keys have changed since, the backend refuses reads of the replica with
 * EAGAIN, and judges the token again when the replica is opened anew.
 *
 * <p>If there are too many, the least recently used replica is dropped. Unused replicas are dropped
 * after a while. A replica is dropped as soon as it or its connection proves stale.
 */
final class ReplicaCache {
  private static final class Entry {
    final Replica replica;
    final long expiry;
    long lastUsed;

    Entry(Replica replica, long expiry, long now) {
      this.replica = replica;
      this.expiry = expiry;
      this.lastUsed = now;
    }
  }

  private final Clock clock;
  private final int capacity;
  private final long idleMs;
  private final LinkedHashMap<Object, Entry> entries = new LinkedHashMap<>(16, 0.75f, true);

  ReplicaCache(Clock clock, int capacity, long idleMs) {
    this.clock = clock;
    this.capacity = capacity;
    this.idleMs = idleMs;
  }

  /**
   * What a reader must have to get a replica from the cache: the same block of the same cluster, on
   * the same storages, with the same token.
   */
  static Object key(BlockRead read) {
    byte[] token = read.token;
    return Arrays.asList(
        read.block, read.storagesName(), token == null ? null : ByteBuffer.wrap(token));
  }

  /** The replica, with a reference for the caller; null: none. */
  synchronized Replica acquire(Object key) {
    Entry entry = entries.get(key);
    if (entry == null || !entry.replica.connection().usable()) {
      return null;
    }
    if (entry.replica.connection().retired()) { // put in after dropConnection()
      return null;
    }
    if (clock.sinceEpoch() > entry.expiry || !entry.replica.retain()) {
      return null;
    }
    entry.lastUsed = clock.now();
    return entry.replica;
  }

  /** True if {@link #acquire} would return a replica, unless it ends meanwhile. */
  synchronized boolean has(Object key) {
    Entry entry = entries.get(key);
    return entry != null && entry.replica.connection().usable();
  }

  /**
   * Takes a reference of its own. Drops the replica that was cached for the key before. expiry:
   * when the key's token ends, in ms since 1970.
   */
  void put(Object key, Replica replica, long expiry) {
    List<Replica> gone = new ArrayList<>();
    synchronized (this) {
      if (!replica.retain()) {
        return;
      }
      Entry old = entries.put(key, new Entry(replica, expiry, clock.now()));
      if (old != null) {
        gone.add(old.replica);
      }
      Iterator<Map.Entry<Object, Entry>> eldest = entries.entrySet().iterator();
      while (entries.size() > capacity) {
        gone.add(eldest.next().getValue().replica);
        eldest.remove();
      }
    }
    release(gone);
  }

  private static void release(List<Replica> gone) {
    for (Replica replica : gone) {
      replica.release();
    }
  }

  /** Drops the replica, if it is the one cached for the key. */
  void drop(Object key, Replica replica) {
    synchronized (this) {
      Entry entry = entries.get(key);
      if (entry == null || entry.replica != replica) {
        return;
      }
      entries.remove(key);
    }
    replica.release();
  }

  void dropConnection(Connection connection) {
    removeIf(entry -> entry.replica.connection() == connection);
  }

  void dropIdle() {
    long now = clock.now();
    removeIf(entry -> entry.replica.heldByOne() && now - entry.lastUsed >= idleMs);
  }

  /** Drops all replicas that nobody reads. True: there were any. */
  boolean dropUnused() {
    return removeIf(entry -> entry.replica.heldByOne());
  }

  synchronized int size() {
    return entries.size();
  }

  private boolean removeIf(Predicate<Entry> condition) {
    List<Replica> gone = new ArrayList<>();
    synchronized (this) {
      for (Iterator<Entry> each = entries.values().iterator(); each.hasNext(); ) {
        Entry entry = each.next();
        if (condition.test(entry)) {
          gone.add(entry.replica);
          each.remove();
        }
      }
    }
    release(gone);
    return !gone.isEmpty();
  }
}
