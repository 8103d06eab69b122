// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.metrics;

import java.util.Map;

/**
 * The JMX bean {@code io.vread:type=Client}, with the client plug-in's statistics: see
 * docs/hadoop.md.
 */
public interface ClientMXBean {
  /** Readers handed out to the HDFS client. */
  long getOpens();

  long getReads();

  /** Bytes that HDFS clients got through vRead. */
  long getBytes();

  /** Readers that failed; their clients went on by TCP. */
  long getFailures();

  /** The failures by reason: names of errors, as in docs/hadoop.md. */
  Map<String, Long> getFailureReasons();

  /** How often no reader was handed out, so that the stock client read the block. */
  long getFallbackBlocks();

  /** The fallback blocks by reason. */
  Map<String, Long> getFallbackReasons();

  /** Probes between vRead and the stock client that told which way is faster. */
  long getCompeteMeasured();

  /** Probes without a result. */
  long getCompeteFailed();

  /** Bytes that applications of this JVM have read from HDFS in any way, as Hadoop counts them. */
  long getHdfsBytes();

  /** All statistics as the JSON text of io.vread.statistics.file. */
  String json();

  /** Writes io.vread.statistics.file now; returns its path, empty if none is configured. */
  String writeStatistics() throws java.io.IOException;
}
