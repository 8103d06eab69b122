// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

/** Polls for changes that HDFS makes by itself without an event. No other class here polls. */
public final class Awaiting {
  /** The condition to wait for. An exception ends the wait and goes to the caller. */
  public interface Condition<E extends Exception> {
    boolean holds() throws E;
  }

  private static final long PAUSE_MS = 10;

  /** Longer than any wait takes on a busy machine, so that only hopeless waits end. */
  private static final long LIMIT_MS = 120_000;

  private Awaiting() {}

  public static <E extends Exception> void until(String what, Condition<E> condition)
      throws E, InterruptedException {
    until(what, LIMIT_MS, condition);
  }

  /** As until(), with a limit of its own. */
  public static <E extends Exception> void until(String what, long ms, Condition<E> condition)
      throws E, InterruptedException {
    if (!within(ms, condition)) {
      throw new IllegalStateException(what + ": not within " + ms / 1000 + " s");
    }
  }

  /** Waits at most ms. True if the condition holds, false if the time is over. */
  public static <E extends Exception> boolean within(long ms, Condition<E> condition)
      throws E, InterruptedException {
    long limit = System.nanoTime() + ms * 1_000_000;
    while (!condition.holds()) {
      if (System.nanoTime() - limit > 0) {
        return false;
      }
      Thread.sleep(PAUSE_MS);
    }
    return true;
  }
}
