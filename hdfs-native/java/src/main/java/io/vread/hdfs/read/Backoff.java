// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

/**
 * How long to pause after a failure. The first pause is doubled with every failure that follows
 * closely on the end of the last pause, up to a limit.
 *
 * <p>A failure during a pause is the same failure, seen by another reader: the pause starts over
 * and does not get longer.
 */
final class Backoff {
  private final long firstMs;
  private final long limitMs;
  private long pauseMs;
  private long until = Long.MIN_VALUE;

  Backoff(long firstMs, long limitMs) {
    this.firstMs = firstMs;
    this.limitMs = Math.max(firstMs, limitMs);
  }

  /** Notes a failure at time {@code now}. Returns the length of the pause that begins. */
  long failed(long now) {
    if (!pausing(now)) {
      boolean again = pauseMs > 0 && now - until <= pauseMs;
      pauseMs = again ? Math.min(pauseMs * 2, limitMs) : firstMs;
    }
    until = now + pauseMs;
    return pauseMs;
  }

  boolean pausing(long now) {
    return pauseMs > 0 && now < until;
  }
}
