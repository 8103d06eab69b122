// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

/**
 * The times and sizes by which the publisher works. {@link #STANDARD} suits every datanode, so they
 * are no properties. Tests use others.
 */
final class PublisherLimits {
  static final PublisherLimits STANDARD =
      new PublisherLimits(10_000, 100, 2000, 4096, 1000);

  /**
   * The longest wait for the backend. It answers within some tens of microseconds, and on a busy
   * host within a second or two. What waits for it is an append, a truncate or a deletion; a client
   * of HDFS gives a datanode a minute. {@link Link} has such waits become rare while the backend
   * hangs.
   */
  final long timeoutMs;

  /**
   * How long nothing must have been written before replicas are made durable: longer than the
   * pauses of a client that writes block after block.
   */
  final long delayMs;

  /**
   * After this time replicas are made durable even if data still comes in. Readers wait for them
   * that long, and the kernel would write them within half a minute by itself.
   */
  final long maxDelayMs;

  /**
   * How many finalized replicas may wait to be published, some hundred bytes each: as many as a
   * fast disk takes in half a minute, in which the kernel writes the oldest by itself.
   */
  final int queueLimit;

  /**
   * The first pause between attempts to connect, and the pause before a storage that the backend
   * did not know is tried again. An attempt costs some system calls.
   */
  final long backoffMs;

  PublisherLimits(
      long timeoutMs, long delayMs, long maxDelayMs, int queueLimit, long backoffMs) {
    this.timeoutMs = timeoutMs;
    this.delayMs = delayMs;
    this.maxDelayMs = maxDelayMs;
    this.queueLimit = queueLimit;
    this.backoffMs = backoffMs;
  }
}
