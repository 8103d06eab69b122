// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * An object of the native library with a reference count. The maker holds the first reference; the
 * last release ends the object.
 */
abstract class Counted {
  private final AtomicInteger references = new AtomicInteger(1);

  /** Takes a reference. False: the object has ended already. */
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

  public final void release() {
    if (references.decrementAndGet() == 0) {
      end();
    }
  }

  /** True if there is only one reference. */
  final boolean heldByOne() {
    return references.get() == 1;
  }

  /** Called once, by the last release. */
  abstract void end();
}
