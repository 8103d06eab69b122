// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

/**
 * How long to leave alone what has just failed: a first pause, doubled with every failure that
 * follows closely on the end of the last pause, up to a limit. A failure during a pause is the same
 * one, seen by another reader: the pause starts over and is no longer for it.
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

  /** Notes a failure at now; returns the pause that begins. */
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
