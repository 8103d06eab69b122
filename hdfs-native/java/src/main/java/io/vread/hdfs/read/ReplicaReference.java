// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What a reader holds: a replica, and perhaps its cursor. It is an
 * object of its own, so that both can be released if the reader is collected without close(). The
 * reader's lock covers it, and a collected reader has no threads.
 *
 * <p>One thing is thread-safe: between two calls of the reader, the daemon thread may let the
 * replica go ({@link #letGoOf}), so that a reader which is open and idle keeps no share of
 * the pool. The reader then opens the replica again.
 */
final class ReplicaReference extends PhantomReference<Object> {
  private static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();

  /** Keeps the ReplicaReference objects themselves from being collected. */
  private static final Set<ReplicaReference> ALL =
      Collections.newSetFromMap(new ConcurrentHashMap<>());

  private Replica replica;
  private boolean cursor;
  private boolean inCall;

  /** Takes over a reference to replica. */
  ReplicaReference(Object reader, Replica replica) {
    super(reader, QUEUE);
    this.replica = replica;
    ALL.add(this);
  }

  /** A call of the reader begins: until {@link #end} nobody else lets the replica go. */
  synchronized void begin() {
    inCall = true;
  }

  synchronized void end() {
    inCall = false;
  }

  /** Null once released, or let go between two calls. */
  Replica replica() {
    return replica;
  }

  boolean hasCursor() {
    return cursor;
  }

  /** False: another reader has the cursor. */
  boolean takeCursor() {
    cursor = cursor || replica.takeCursor();
    return cursor;
  }

  /** Releases the held replica and takes over a reference to another. */
  void replace(Replica fresh) {
    letGo();
    replica = fresh;
  }

  synchronized void release() {
    letGo();
    ALL.remove(this);
    clear();
  }

  /** Releases what collected readers held. */
  static void releaseLost() {
    Reference<?> lost;
    while ((lost = QUEUE.poll()) != null) {
      ((ReplicaReference) lost).release();
    }
  }

  /** Releases replicas of a connection, and of retired ones, that no call uses. */
  static void letGoOf(Connection connection) {
    for (ReplicaReference each : ALL) {
      each.letGoIfOf(connection);
    }
  }

  private synchronized void letGoIfOf(Connection connection) {
    if (inCall || replica == null) {
      return;
    }
    if (replica.connection() == connection || replica.connection().retired()) {
      letGo();
    }
  }

  private void letGo() {
    if (replica == null) {
      return;
    }
    if (cursor) {
      replica.giveCursor();
    }
    replica.release();
    replica = null;
    cursor = false;
  }
}
