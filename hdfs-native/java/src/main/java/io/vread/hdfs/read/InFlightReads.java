// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Clock;
import io.vread.hdfs.locations.BlockKey;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The calls to the backend that are running now, by block: openings of replicas, and reads.
 *
 * <p>A hedged read is the stock client's second attempt at a positional read whose first attempt
 * takes longer than a threshold. If vRead is late, the second attempt must go another way: vRead
 * would answer it from the same replica, and be late again.
 */
public final class InFlightReads {
  /** A running call. The caller ends it. */
  final class Call {
    private final BlockKey block;
    private final long since;

    private Call(BlockKey block, long since) {
      this.block = block;
      this.since = since;
    }

    void end() {
      calls.remove(this);
    }
  }

  private final Clock clock;

  /** As many as threads are reading: few enough to look at each. */
  private final Set<Call> calls = ConcurrentHashMap.newKeySet();

  InFlightReads(Clock clock) {
    this.clock = clock;
  }

  Call begin(BlockKey block) {
    Call call = new Call(block, clock.now());
    calls.add(call);
    return call;
  }

  /**
   * True if the second attempt of a read of this block must not go through vRead. thresholdMs:
   * after so long the stock client makes the second attempt.
   *
   * <p>A call counts as late after half of the threshold. The stock client measures from the time
   * it asks its thread pool to make the first attempt. The call to the backend begins a little
   * later, so it may have run a little less than the threshold.
   */
  public boolean isLate(BlockKey block, long thresholdMs) {
    long latest = clock.now() - thresholdMs / 2;
    for (Call call : calls) {
      if (call.since <= latest && call.block.equals(block)) {
        return true;
      }
    }
    return false;
  }
}
