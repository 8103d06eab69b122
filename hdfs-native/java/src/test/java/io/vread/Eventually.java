// SPDX-License-Identifier: Apache-2.0
package io.vread;

import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Waiting for what other threads bring about. It polls, so that the product need not tell; the limit
 * is only there for a test to end that waits for what never comes.
 */
public final class Eventually {
  /** For a whole test, so that one ends in which the product itself waits for ever. */
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
