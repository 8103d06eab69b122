// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.select;

import io.vread.Clock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides which way the blocks of one place are read: through vRead, or by the stock client. {@link
 * PathProbe} measures both ways.
 *
 * <p>The rule: one way is in use. A probe now and then tells how long each way takes for equally
 * many bytes. If the other way was clearly faster in three probes in a row, it is in use from then
 * on. After a probe that the way in use has not lost, twice as many blocks go by before the next
 * one, 64 at least and 1024 at most. After a lost probe the next one follows soon.
 *
 * <p>The first probes are early ones, for programs that read little: after 4 blocks, or after
 * readers have waited 0.4 s for bytes. A way that takes more than twice as long is left after one
 * early probe. One that is only a little slower has to lose three, which follow each other at once.
 * With the first probe that is not lost, or that changes the way, the early ones are over.
 *
 * <p>A reader that finds vRead slow ({@link SlowReadDetector}) asks for a probe at once. If vRead
 * loses this one, the stock client is in use from then on. So a reader of a slow disk leaves vRead
 * within its first block.
 *
 * <p>So one block is probed of the first four, one of the next 64, and one in 1024 later. It reads
 * the bytes of two average blocks by each way at most, or six if the way in use is about to lose;
 * an early probe reads less of large blocks. Blocks go the slower way for at most 1024 blocks and
 * three probes, or for a minute if that is longer. A way that could not be measured is never taken
 * for faster.
 */
public final class PathSelector {
  private static final Logger LOG = LoggerFactory.getLogger(PathSelector.class);

  static final int EARLY_BLOCKS = 4;
  static final long EARLY_WAIT_MS = 400;
  static final int FIRST_BLOCKS = 64;
  static final int MOST_BLOCKS = 1024;
  private static final int BLOCKS_AFTER_LOSS = 8;
  private static final long FIRST_PAUSE_MS = 1_000;
  private static final long LONGEST_PAUSE_MS = 60_000;
  private static final int LOSSES = 3;
  private static final double CLEARLY = 1.25;
  private static final double BY_FAR = 2;

  public enum Way {
    VREAD,
    STOCK
  }

  private final String place;
  private final Clock clock;
  private volatile Way way;
  private int losses;
  private int interval = EARLY_BLOCKS; // blocks between probes
  private long pauseMs = FIRST_PAUSE_MS; // the least time between probes
  private int blocksToGo = EARLY_BLOCKS;
  private long lastProbe;
  private boolean probing;
  private boolean urgent; // a reader waits for the result of the probe
  private boolean probed;
  private boolean early = true; // no probe has confirmed the way in use yet, or changed it
  private long waitedMs; // by all readers

  /** place: for the log. first: the way in use until the other is measured to be faster. */
  PathSelector(String place, Clock clock, Way first) {
    this.place = place;
    this.clock = clock;
    this.way = first;
    this.lastProbe = clock.now();
  }

  public Way way() {
    return way;
  }

  /**
   * A block of this place is about to be read. True: the caller must begin a probe, which ends with
   * {@link #measured} or {@link #notMeasured}.
   */
  public synchronized boolean nextBlock() {
    if (blocksToGo > 0) {
      blocksToGo--;
    }
    if (probing || blocksToGo > 0 || clock.now() - lastProbe < pauseMs) {
      return false;
    }
    probing = true;
    return true;
  }

  /** True: the probe that runs should be a short one. */
  synchronized boolean urgent() {
    return urgent;
  }

  /** True: the program may be a short one, so that the probe that runs should not read much. */
  synchronized boolean early() {
    return early;
  }

  /**
   * A reader has waited for bytes of vRead. True: the caller must begin a probe, as after {@link
   * #nextBlock}, because readers have waited for some time and no probe has run.
   */
  synchronized boolean waited(long ms) {
    waitedMs += ms;
    if (waitedMs < EARLY_WAIT_MS || probed || probing) {
      return false;
    }
    probing = true;
    return true;
  }

  /**
   * A reader has found vRead slow. True: the caller must begin a probe, as after {@link
   * #nextBlock}.
   */
  synchronized boolean suspected() {
    if (way == Way.STOCK || probing || probed && clock.now() - lastProbe < pauseMs) {
      return false;
    }
    probing = true;
    urgent = true;
    return true;
  }

  /** Times for equally many bytes, in any unit. True: the way in use is clearly the slower one. */
  boolean isLost(long vreadTime, long stockTime) {
    return isSlower(vreadTime, stockTime, CLEARLY);
  }

  private boolean isSlower(long vreadTime, long stockTime, double factor) {
    double used = way == Way.VREAD ? vreadTime : stockTime;
    double other = way == Way.VREAD ? stockTime : vreadTime;
    return used > other * factor;
  }

  /** A probe has ended. The times are as for {@link #isLost}. */
  synchronized void measured(long vreadTime, long stockTime) {
    probed = true;
    if (!isLost(vreadTime, stockTime)) {
      losses = 0;
      early = false;
      rarer(FIRST_BLOCKS);
      return;
    }
    losses++;
    if (urgent || losses == LOSSES || early && isSlower(vreadTime, stockTime, BY_FAR)) {
      losses = 0;
      early = false;
      way = way == Way.VREAD ? Way.STOCK : Way.VREAD;
      next(FIRST_BLOCKS, FIRST_PAUSE_MS);
      LOG.info("vread: {}: {} is faster and in use from now on", place, way);
    } else {
      next(early ? 1 : BLOCKS_AFTER_LOSS, FIRST_PAUSE_MS);
    }
  }

  /** A probe has ended without a result. */
  synchronized void notMeasured() {
    probed = true;
    rarer(early ? EARLY_BLOCKS : FIRST_BLOCKS);
  }

  private void rarer(int least) {
    int blocks = Math.min(Math.max(interval * 2, least), MOST_BLOCKS);
    next(blocks, Math.min(pauseMs * 2, LONGEST_PAUSE_MS));
  }

  private void next(int blocks, long ms) {
    interval = blocks;
    blocksToGo = blocks;
    pauseMs = ms;
    lastProbe = clock.now();
    probing = false;
    urgent = false;
  }
}
