// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * One connection of libvread, counted: the endpoint, every open replica and every call that opens
 * one hold on to it, and the last to let go disconnects. The slice of the pool is thus mapped as
 * long as anybody could read from it.
 */
final class Connection {
  private final Backend backend;
  private final long pointer;
  private final AtomicInteger references = new AtomicInteger(1);
  private volatile boolean lost;

  Connection(Backend backend, long pointer) {
    this.backend = backend;
    this.pointer = pointer;
  }

  Backend backend() {
    return backend;
  }

  long pointer() {
    return pointer;
  }

  /** It failed and is not to be used for anything but closing. */
  boolean lost() {
    return lost;
  }

  void lose() {
    lost = true;
  }

  /** False if it is gone already. */
  boolean retain() {
    int count;
    do {
      count = references.get();
      if (count == 0) {
        return false;
      }
    } while (!references.compareAndSet(count, count + 1));
    return true;
  }

  void release() {
    if (references.decrementAndGet() == 0) {
      backend.disconnect(pointer);
    }
  }
}
