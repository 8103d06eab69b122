// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.Clock;

/**
 * A lock with a time limit on waiting, measured by the plug-in's own clock. {@link Link} uses it.
 * It is not reentrant.
 */
final class Turn {
  private static final long LOOK_MS = 60_000;

  private final Clock clock;
  private boolean taken;

  Turn(Clock clock) {
    this.clock = clock;
  }

  /**
   * Waits for the lock, at most so many milliseconds. True: the caller has it. An interrupt is
   * meant for the datanode: it does not end the wait, and the thread stays interrupted.
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

  /** Waits for the lock without a limit. */
  void take() {
    while (!take(LOOK_MS)) {
      // another thread still has it
    }
  }

  synchronized void pass() {
    taken = false;
    notify();
  }
}
