// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Clock;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;

/**
 * Decides how large a client's share of the pool should be, by what was read.
 *
 * <p>All processes of a guest share the pool of the guest's device, and most processes read little.
 * So a client begins with a small share, for which the device keeps room (vread(4)). When the
 * client has read {@link #ENOUGH_BYTES}, it should have its full share, {@code
 * io.vread.pool.bytes}. After a time without reads it should have none.
 *
 * <p>Threads: {@link #read} may be called on any thread, the other methods only on the daemon
 * thread.
 */
final class PoolShare {
  /** VREAD_SMALL_SHARE_PAGES of vreadif.h. */
  static final long SMALL_BYTES = 128 << 10;

  static final long ENOUGH_BYTES = 1 << 20;

  /** A full share that was refused is asked for again after a pause, which doubles. */
  private static final long FIRST_PAUSE_MS = 1_000;

  private static final long LONGEST_PAUSE_MS = 60_000;

  private final long fullBytes;
  private final Clock clock;
  private final long idleMs;
  private final Backoff refusals = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);

  private final LongAdder bytes = new LongAdder(); // read so far
  private final AtomicBoolean hungry = new AtomicBoolean(); // no reader was told to grow yet
  private volatile long growAt; // hungry: when so many bytes are read
  private volatile long growAfter = Long.MIN_VALUE; // hungry: not before this time
  private boolean full; // the share is more than a small one

  private long seenBytes; // at the last call of idle()
  private long seenAt; // when seenBytes last changed

  /** idleMs: after so long without reads the client is idle. */
  PoolShare(long fullBytes, Clock clock, long idleMs) {
    this.idleMs = idleMs;
    this.fullBytes = fullBytes;
    this.clock = clock;
    this.seenAt = clock.now();
  }

  long smallBytes() {
    return Math.min(SMALL_BYTES, fullBytes);
  }

  long fullBytes() {
    return fullBytes;
  }

  /** A reader has got bytes. True, for one reader: the client should ask for its full share now. */
  boolean read(int count) {
    bytes.add(count);
    return hungry.get()
        && bytes.sum() >= growAt
        && clock.now() >= growAfter
        && hungry.compareAndSet(true, false);
  }

  /** The client has connected with a small share. */
  void small() {
    full = false;
    growAt = bytes.sum() + ENOUGH_BYTES;
    hungry.set(fullBytes > SMALL_BYTES);
  }

  /** The client has got its full share, or the part of it that was free. */
  void full() {
    full = true;
    hungry.set(false);
  }

  /** There was no room for more than a small share. */
  void refused() {
    long now = clock.now();
    growAfter = now + refusals.failed(now);
    hungry.set(!full);
  }

  /** True: the client should give its share back. The daemon thread asks now and then. */
  boolean idle() {
    long now = clock.now();
    long sum = bytes.sum();
    if (sum != seenBytes) {
      seenBytes = sum;
      seenAt = now;
    }
    return now - seenAt >= idleMs;
  }
}
