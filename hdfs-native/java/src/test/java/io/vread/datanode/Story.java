// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import static org.junit.Assert.fail;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/** What data set, disk and channel did, in the order in which it happened. */
final class Story {
  private static final long LIMIT_MS = 100_000; // others use the machine, too

  private final List<String> lines = new ArrayList<>();

  synchronized void add(String line) {
    lines.add(line);
    notifyAll();
  }

  synchronized List<String> lines() {
    return new ArrayList<>(lines);
  }

  synchronized void clear() {
    lines.clear();
  }

  int index(String line) {
    return lines().indexOf(line);
  }

  long count(String start) {
    return lines().stream().filter(line -> line.startsWith(start)).count();
  }

  void await(String line) {
    until(() -> index(line) >= 0, "\"" + line + "\"");
  }

  void until(BooleanSupplier condition, String what) {
    long end = System.nanoTime() + LIMIT_MS * 1_000_000;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        fail("no " + what + " within " + LIMIT_MS + " ms: " + lines());
      }
      pause(1);
    }
  }

  void pause(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
