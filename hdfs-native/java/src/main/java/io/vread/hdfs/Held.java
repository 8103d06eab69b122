// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What a reader holds on to: a replica, and perhaps its cursor. It is apart from the reader so that
 * it can be let go of when the reader is collected without having been closed. Not thread-safe; the
 * reader's lock covers it, and a collected reader has no threads.
 */
final class Held extends PhantomReference<Object> {
  private static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();

  /** Keeps the references themselves from being collected. */
  private static final Set<Held> ALL = Collections.newSetFromMap(new ConcurrentHashMap<>());

  private Replica replica;
  private boolean cursor;

  /** Takes over a reference of replica. */
  Held(Object reader, Replica replica) {
    super(reader, QUEUE);
    this.replica = replica;
    ALL.add(this);
  }

  /** Null once released. */
  Replica replica() {
    return replica;
  }

  boolean hasCursor() {
    return cursor;
  }

  /** False if another reader has it. */
  boolean takeCursor() {
    cursor = cursor || replica.takeCursor();
    return cursor;
  }

  /** Goes on with another replica, whose reference it takes over. */
  void replace(Replica fresh) {
    letGo();
    replica = fresh;
  }

  void release() {
    letGo();
    ALL.remove(this);
    clear();
  }

  static void releaseLost() {
    Reference<?> lost;
    while ((lost = QUEUE.poll()) != null) {
      ((Held) lost).release();
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
