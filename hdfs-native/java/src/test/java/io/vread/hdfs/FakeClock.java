// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

/** Time that passes when a test says so. */
final class FakeClock implements Clock {
  private long now = 1_000_000;

  @Override
  public synchronized long now() {
    return now;
  }

  synchronized void pass(long ms) {
    now += ms;
  }
}
