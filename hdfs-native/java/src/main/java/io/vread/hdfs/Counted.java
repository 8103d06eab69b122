// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Something of the native library that several hold on to; the last to let go ends it. Its maker
 * holds the first reference.
 */
abstract class Counted {
  private final AtomicInteger references = new AtomicInteger(1);

  /** False if it has ended already. */
  final boolean retain() {
    int count;
    do {
      count = references.get();
      if (count == 0) {
        return false;
      }
    } while (!references.compareAndSet(count, count + 1));
    return true;
  }

  final void release() {
    if (references.decrementAndGet() == 0) {
      end();
    }
  }

  /** Whether only one holds on to it. */
  final boolean heldByOne() {
    return references.get() == 1;
  }

  /** Called once, by the last to let go. */
  abstract void end();
}
