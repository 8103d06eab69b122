// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

/** Waiting for what HDFS brings about by itself and tells nobody: the only place here that polls. */
public final class Awaiting {
  /** What is true at last; it may fail, and then the wait does. */
  public interface Condition<E extends Exception> {
    boolean holds() throws E;
  }

  private static final long PAUSE_MS = 10;

  /** Longer than anything takes on a busy machine: it ends a wait for what never comes. */
  private static final long LIMIT_MS = 120_000;

  private Awaiting() {}

  public static <E extends Exception> void until(String what, Condition<E> condition)
      throws E, InterruptedException {
    until(what, LIMIT_MS, condition);
  }

  /** For what may take longer than usual. */
  public static <E extends Exception> void until(String what, long ms, Condition<E> condition)
      throws E, InterruptedException {
    if (!within(ms, condition)) {
      throw new IllegalStateException(what + ": not within " + ms / 1000 + " s");
    }
  }

  /** Whether it came to be in that time; for who goes on without it, too. */
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
