// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Counts the events that the backend took, and the failures by reason. */
final class PublisherStatistics {
  /** The queue was full. The dropped replica becomes visible when the kernel writes it back. */
  static final String OVERFLOW = "overflow";

  /** Not sent: a long list of blocks used up the time the datanode may be held up. */
  static final String LATE = "late";

  /** Prefix of the classes of unexpected exceptions. The publisher and the datanode go on. */
  static final String INTERNAL = "internal-";

  /** Prefix of the backend's errors on keys. */
  static final String KEYS = "keys-";

  /** Prefix of the errors of making files durable. */
  static final String SYNC = "sync-";

  private static final Logger LOG = LoggerFactory.getLogger(PublisherStatistics.class);

  private final Map<Event, Long> published = new ConcurrentHashMap<>();
  private final Map<String, Long> reasons = new ConcurrentHashMap<>();

  void published(Event event) {
    published.merge(event, 1L, Long::sum);
  }

  void failed(String reason) {
    reasons.merge(reason, 1L, Long::sum);
  }

  /**
   * Counts an unexpected exception by its class, and warns of the first of each class. Never
   * throws: there may be no memory to count or to log.
   */
  void unexpected(Throwable e) {
    try {
      String reason = INTERNAL + e.getClass().getSimpleName();
      if (!reasons.containsKey(reason)) {
        LOG.warn("vread: publishing goes on after an unexpected {}", e.toString());
      }
      failed(reason);
      LOG.debug("vread: {}", reason, e);
    } catch (Throwable again) {
      // whatever the next exception is, it is counted
    }
  }

  long count(Event event) {
    return published.getOrDefault(event, 0L);
  }

  Map<String, Long> reasons() {
    return new TreeMap<>(reasons);
  }
}
