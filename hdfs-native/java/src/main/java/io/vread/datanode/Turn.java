// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.Clock;

/** A lock that can be waited for with a limit on the plug-in's own clock. It is not reentrant. */
final class Turn {
  private static final long LOOK_MS = 60_000;

  private final Clock clock;
  private boolean taken;

  Turn(Clock clock) {
    this.clock = clock;
  }

  /**
   * True if it was had within so many milliseconds. An interrupt is the datanode's affair: it is kept,
   * and neither shortens the wait nor ends it.
   */
  synchronized boolean take(long ms) {
    long limit = clock.now() + ms;
    boolean interrupted = Thread.interrupted();
    while (taken && clock.now() < limit) {
      try {
        clock.waitUntil(this, limit);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    boolean had = !taken;
    taken = true;
    return had;
  }

  /** Without a limit. */
  void take() {
    while (!take(LOOK_MS)) {
      // whoever has it is not done yet
    }
  }

  synchronized void pass() {
    taken = false;
    notify();
  }
}
