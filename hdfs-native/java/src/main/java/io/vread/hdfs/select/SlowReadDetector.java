// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.select;

import io.vread.Clock;
import io.vread.hdfs.read.BlockRead;
import io.vread.hdfs.read.Client;

/**
 * Tells a reader in the middle of a block that the stock client would be faster, by the times of
 * its sequential reads. The rest of the block is then the stock client's.
 *
 * <p>The time of a read tells only that vRead is slow, not that the stock client is faster: both
 * may wait for the same disk. So a slow reader asks the {@link PathSelector} for a {@link
 * PathProbe}. A disk that keeps up with one stream is not slow, or each reader of a disk would pay
 * for a probe. While no probe has run yet, the time that readers have waited is reason enough.
 *
 * <p>Threads: as the reader.
 */
public final class SlowReadDetector {
  /** A reader is slow that has waited so long for the backend ... */
  static final int WINDOW_MS = 100;

  /** ... and got fewer bytes than this in each millisecond: 64 MB/s. */
  static final int SLOW_BYTES_PER_MS = 64_000;

  /** Fewer bytes are not worth a change in the middle of a block. */
  static final int LEAST_REST = 1 << 20;

  private final PathSelector selector;
  private final PathProbe probe;
  private final Client client;
  private final BlockRead read;
  private final Clock clock;
  private long bytes; // of the window
  private long waitedMs;

  public SlowReadDetector(
      PathSelector selector, PathProbe probe, Client client, BlockRead read, Clock clock) {
    this.selector = selector;
    this.probe = probe;
    this.client = client;
    this.read = read;
    this.clock = clock;
  }

  public long now() {
    return clock.now();
  }

  /**
   * A read that began at {@code since} has got count bytes of the block from the backend, and rest
   * bytes follow those that the reader has had. True: the stock client should read these.
   */
  public boolean isLost(long since, int count, long rest) {
    bytes += count;
    waitedMs += clock.now() - since;
    if (waitedMs >= WINDOW_MS) {
      boolean slow = bytes < waitedMs * SLOW_BYTES_PER_MS;
      boolean due = selector.waited(waitedMs);
      bytes = 0;
      waitedMs = 0;
      if (due || slow && rest >= LEAST_REST && selector.suspected()) {
        probe.begin(selector, client, read, false);
      }
    }
    return rest >= LEAST_REST && selector.way() == PathSelector.Way.STOCK;
  }
}
