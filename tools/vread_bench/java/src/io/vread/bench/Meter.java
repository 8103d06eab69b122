// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import org.HdrHistogram.Histogram;

/**
 * What one reader measures. The time in which the reader checks bytes counts neither as time of the
 * round nor, by check_cpu_seconds, as CPU time of the client.
 */
final class Meter {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  final Histogram nanoseconds = new Histogram(3);
  long bytes;
  long checked;
  long shortCircuit; // vRead's too: Hadoop counts them as such
  long elapsed; // ns, without checks
  long checkCpu; // ns
  private long began;
  private long checking;

  void begin() {
    began = System.nanoTime();
  }

  void end() {
    elapsed = System.nanoTime() - began - checking;
  }

  void moved(long before, long count) {
    nanoseconds.recordValue(System.nanoTime() - before);
    bytes += count;
  }

  void check(Digests digests, long position, byte[] buffer, int length) throws WrongBytes {
    long cpu = THREADS.getCurrentThreadCpuTime();
    long before = System.nanoTime();
    digests.check(position, buffer, length);
    checking += System.nanoTime() - before;
    checkCpu += THREADS.getCurrentThreadCpuTime() - cpu;
    checked += length;
  }
}
