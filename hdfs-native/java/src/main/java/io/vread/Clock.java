// SPDX-License-Identifier: Apache-2.0
package io.vread;

import java.util.function.BooleanSupplier;

/**
 * The time source of the client plug-in and of the datanode plug-in: milliseconds that never run
 * backwards, a wait that ends at a point in time, and the time of day. The plug-ins use {@link
 * #SYSTEM}. Tests use FakeClock, whose time passes only when the test says so.
 */
public interface Clock {
  Clock SYSTEM =
      new Clock() {
        @Override
        public long now() {
          return System.nanoTime() / 1_000_000;
        }

        @Override
        public long sinceEpoch() {
          return System.currentTimeMillis();
        }

        @Override
        public void waitUntil(Object monitor, long time) throws InterruptedException {
          long left = time - now();
          if (left > 0) {
            monitor.wait(left);
          }
        }
      };

  long now();

  /** Milliseconds since 1970, only to compare with times that other hosts tell. */
  long sinceEpoch();

  /**
   * Waits like {@link Object#wait(long)}, but until this clock reaches {@code time}. The caller
   * holds the monitor. The wait may end early: the caller must check its condition again.
   */
  void waitUntil(Object monitor, long time) throws InterruptedException;

  /**
   * Waits until the condition is true, at most so many milliseconds. The caller holds the monitor.
   * A thread that makes the condition true notifies the monitor.
   *
   * @return true if the condition is true
   */
  default boolean await(Object monitor, long ms, BooleanSupplier condition)
      throws InterruptedException {
    long limit = now() + ms;
    while (!condition.getAsBoolean() && now() < limit) {
      waitUntil(monitor, limit);
    }
    return condition.getAsBoolean();
  }

  /** As {@link #await}. An interrupt does not end the wait, and the thread stays interrupted. */
  default boolean awaitUninterruptibly(Object monitor, long ms, BooleanSupplier condition) {
    long limit = now() + ms;
    boolean interrupted = Thread.interrupted();
    try {
      while (true) {
        try {
          return await(monitor, limit - now(), condition);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
