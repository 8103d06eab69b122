// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import static org.junit.Assert.assertFalse;

import io.vread.Eventually;
import java.util.concurrent.TimeUnit;

/** For tests that ask JMX or the metrics system for the statistics of the process. */
final class Registered {
  private Registered() {}

  /** Ends the wait of the process's {@link Registration}. Returns when it has registered. */
  static void now() {
    ClientProcess.get();
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread instanceof Registration) {
        thread.interrupt();
        try {
          TimeUnit.SECONDS.timedJoin(thread, Eventually.HANG_S);
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
        assertFalse(thread.getName() + " does not end", thread.isAlive());
      }
    }
  }
}
