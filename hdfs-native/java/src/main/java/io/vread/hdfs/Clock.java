// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

/** Milliseconds that never run backwards. */
interface Clock {
  Clock SYSTEM = () -> System.nanoTime() / 1_000_000;

  long now();
}
