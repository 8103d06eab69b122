// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.Eventually;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * What the fake data set, disk and backend did, in the order in which it happened. Tests wait for
 * lines and check their order.
 */
final class Story {
  private final List<String> lines = new ArrayList<>();

  synchronized void add(String line) {
    lines.add(line);
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
    Eventually.until(condition, () -> "no " + what + ": " + lines());
  }
}
