// SPDX-License-Identifier: Apache-2.0
package io.vread;

/**
 * The plug-ins' only source of time: milliseconds that never run backwards, and waiting for one of
 * them. Tests put a clock of their own in its place, whose time passes when they say so.
 */
public interface Clock {
  Clock SYSTEM =
      new Clock() {
        @Override
        public long now() {
          return System.nanoTime() / 1_000_000;
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

  /**
   * Waits as {@link Object#wait(long)} does, but to a point in time. The caller holds the monitor and
   * looks at its condition again: it may also return early.
   */
  void waitUntil(Object monitor, long time) throws InterruptedException;
}
