// SPDX-License-Identifier: Apache-2.0
package io.vread;

import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Waits in tests for what other threads do. It polls, so that the product need not notify tests.
 * The limit only ends a test that waits for something that never happens.
 */
public final class Eventually {
  /** The time limit of a whole test. It ends a test in which the product itself waits for ever. */
  public static final int HANG_S = 300;

  private static final int LIMIT_S = 120;

  private Eventually() {}

  public static void until(BooleanSupplier condition, Supplier<String> complaint) {
    long limit = System.nanoTime() + LIMIT_S * 1_000_000_000L;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - limit > 0) {
        throw new AssertionError(complaint.get());
      }
      try {
        Thread.sleep(1);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }
}
