// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.util.Map;
import org.apache.hadoop.metrics2.MetricsCollector;
import org.apache.hadoop.metrics2.MetricsInfo;
import org.apache.hadoop.metrics2.MetricsRecordBuilder;
import org.apache.hadoop.metrics2.MetricsSource;
import org.apache.hadoop.metrics2.MetricsSystem;
import org.apache.hadoop.metrics2.lib.Interns;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The source {@code VreadClient} of Hadoop's metrics system: the client plug-in's statistics as one
 * record of counters, for the sinks that the process has configured. {@link Registration}
 * registers it.
 *
 * <p>The source needs no started metrics system. Hadoop keeps sources that were registered early,
 * and starts them together with the metrics system.
 */
final class ClientMetrics implements MetricsSource {
  static final String NAME = "VreadClient";
  static final String CONTEXT = "vread";

  private static final Logger LOG = LoggerFactory.getLogger(ClientMetrics.class);
  private static final String DESCRIPTION = "Reads of HDFS blocks by vRead";

  private final Statistics statistics;

  private ClientMetrics(Statistics statistics) {
    this.statistics = statistics;
  }

  /**
   * Registers a source, unless there is one of the same name: of a jar in another class loader.
   * False: not registered.
   */
  static boolean register(MetricsSystem system, Statistics statistics) {
    try {
      if (system.getSource(NAME) == null) {
        system.register(NAME, DESCRIPTION, new ClientMetrics(statistics));
        return true;
      }
      LOG.debug("vread: no metrics: there is a source {} (is the jar loaded twice?)", NAME);
    } catch (RuntimeException | LinkageError e) {
      LOG.debug("vread: no metrics", e);
    }
    return false;
  }

  @Override
  public void getMetrics(MetricsCollector collector, boolean all) {
    long allBytes = Statistics.hdfsBytes(); // first, as in Statistics.json()
    MetricsRecordBuilder record = collector.addRecord(NAME).setContext(CONTEXT);
    record.addCounter(info("Opens", "Readers handed out"), statistics.opens());
    record.addCounter(info("Reads", "Reads by vRead"), statistics.reads());
    record.addCounter(info("Bytes", "Bytes read by vRead"), statistics.bytes());
    record.addCounter(info("Failures", "Readers that failed"), statistics.failures());
    addReasons(record, "Failures", statistics.failureReasons());
    record.addCounter(
        info("FallbackBlocks", "Blocks left to the stock client"), statistics.fallbackBlocks());
    addReasons(record, "FallbackBlocks", statistics.fallbackReasons());
    record.addCounter(
        info("CompeteMeasured", "Duels with a result"), statistics.measured());
    record.addCounter(info("CompeteFailed", "Duels without a result"), statistics.notMeasured());
    record.addCounter(info("HdfsBytes", "Bytes read from HDFS in any way"), allBytes);
  }

  /** A reason is part of the counter's name, because JMX shows just one record of a source well. */
  private static void addReasons(
      MetricsRecordBuilder record, String what, Map<String, Long> reasons) {
    reasons.forEach(
        (reason, count) ->
            record.addCounter(info(what + camelCase(reason), what + ": " + reason), count));
  }

  /** "no-device" becomes "NoDevice": several sinks take only letters and digits. */
  static String camelCase(String reason) {
    StringBuilder out = new StringBuilder();
    for (String word : reason.split("-")) {
      if (!word.isEmpty()) {
        out.append(Character.toUpperCase(word.charAt(0))).append(word.substring(1));
      }
    }
    return out.toString();
  }

  private static MetricsInfo info(String name, String description) {
    return Interns.info(name, description);
  }
}
