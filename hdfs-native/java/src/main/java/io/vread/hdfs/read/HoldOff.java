// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.BoundedMap;
import io.vread.Clock;
import io.vread.hdfs.locations.BlockKey;
import java.util.Map;

/**
 * Blocks that could lately not be opened or read, and why. They are refused for a pause.
 *
 * <p>There are two reasons for a pause. After a read has failed, the stock client at once builds a
 * reader for the same block. It must get none, so that it goes on by TCP: if it met the same
 * failure twice, it would blame the datanode. And a block that is not here, or not yet, must not be
 * asked for again with every small read. That pause is 10 ms at first, so that a block just
 * published is soon found, and grows to a second.
 */
final class HoldOff {
  private static final int CAPACITY = 4096;
  private static final long FIRST_REFUSAL_MS = 10;
  private static final long LONGEST_REFUSAL_MS = 1000;

  private final Clock clock;
  private final long firstFailureMs;
  private final long longestFailureMs;
  private final Map<BlockKey, Hold> entries = BoundedMap.of(CAPACITY);

  private static final class Hold {
    final Backoff backoff;
    final boolean failure;
    String reason;

    Hold(Backoff backoff, boolean failure) {
      this.backoff = backoff;
      this.failure = failure;
    }
  }

  HoldOff(Clock clock, long firstFailureMs, long longestFailureMs) {
    this.clock = clock;
    this.firstFailureMs = firstFailureMs;
    this.longestFailureMs = longestFailureMs;
  }

  /** A read of the block failed after its reader had been handed out. */
  void readFailed(BlockKey block, String reason) {
    note(block, reason, true);
  }

  /** The block could not be opened. */
  void openFailed(BlockKey block, String reason) {
    note(block, reason, false);
  }

  /** Why the block must not be asked for now; null if it may be. */
  synchronized String reason(BlockKey block) {
    if (entries.isEmpty()) {
      return null;
    }
    Hold entry = entries.get(block);
    return entry != null && entry.backoff.pausing(clock.now()) ? entry.reason : null;
  }

  private synchronized void note(BlockKey block, String reason, boolean failure) {
    Hold entry = entries.get(block);
    if (entry == null || entry.failure != failure) {
      if (entry != null && entry.failure && entry.backoff.pausing(clock.now())) {
        return;
      }
      entry =
          failure
              ? new Hold(new Backoff(firstFailureMs, longestFailureMs), true)
              : new Hold(new Backoff(FIRST_REFUSAL_MS, LONGEST_REFUSAL_MS), false);
      entries.put(block, entry);
    }
    if (!entry.backoff.pausing(clock.now())) {
      entry.reason = reason;
    }
    entry.backoff.failed(clock.now());
  }
}
