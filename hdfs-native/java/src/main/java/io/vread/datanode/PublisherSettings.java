// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.Settings;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The properties of the publisher: its own, and those it shares with the client ({@link Settings}).
 */
final class PublisherSettings {
  static final String TIMEOUT_MS = "io.vread.publisher.timeout.ms";
  static final String DELAY_MS = "io.vread.publisher.delay.ms";
  static final String MAX_DELAY_MS = "io.vread.publisher.delay.max.ms";
  static final String QUEUE = "io.vread.publisher.queue";

  private static final Logger LOG = LoggerFactory.getLogger(PublisherSettings.class);

  private final Settings shared;
  private final int timeoutMs;
  private final int delayMs;
  private final int maxDelayMs;
  private final int queueLimit;

  PublisherSettings(Configuration conf) {
    shared = Settings.of(conf);
    timeoutMs = number(conf, TIMEOUT_MS, 200, 1, 10_000);
    delayMs = number(conf, DELAY_MS, 100, 0, 60_000);
    maxDelayMs = number(conf, MAX_DELAY_MS, 2000, 0, 60_000);
    queueLimit = number(conf, QUEUE, 4096, 1, 1 << 20);
  }

  /** False: the datanode gets the stock data set, with nothing around it. */
  boolean enabled() {
    return shared.enabled();
  }

  String endpoint() {
    return shared.endpoint();
  }

  String libraryPath() {
    return shared.libraryPath();
  }

  /** The first pause between attempts to connect. Doubles up to {@link Settings#MAX_BACKOFF_MS}. */
  long backoffMs() {
    return shared.backoffMs();
  }

  /** The longest wait for the backend. */
  int timeoutMs() {
    return timeoutMs;
  }

  /** How long nothing must have been written before replicas are made durable. */
  int delayMs() {
    return delayMs;
  }

  /** After this time replicas are made durable even if data still comes in. */
  int maxDelayMs() {
    return maxDelayMs;
  }

  /** How many finalized replicas may wait to be published. */
  int queueLimit() {
    return queueLimit;
  }

  private static int number(Configuration conf, String name, int standard, int least, int most) {
    String text = conf.getTrimmed(name);
    if (text == null || text.isEmpty()) {
      return standard;
    }
    try {
      int value = Integer.parseInt(text);
      if (value >= least && value <= most) {
        return value;
      }
    } catch (NumberFormatException e) {
      // the warning is below
    }
    LOG.warn("vread: {} is {}, expected {} to {}; using {}", name, text, least, most, standard);
    return standard;
  }
}
