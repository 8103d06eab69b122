// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** What was published, and what was not and why. */
final class PublisherStatistics {
  /** The queue was full: the oldest replica in it becomes visible by itself. */
  static final String OVERFLOW = "overflow";

  /** A long list of blocks used up the time the datanode may be held up. */
  static final String LATE = "late";

  /** A look at the data set failed; the datanode went on. */
  static final String INTERNAL = "internal";

  /** Prefix of the errors of giving the backend keys. */
  static final String KEYS = "keys-";

  /** Prefix of the errors of making files durable. */
  static final String SYNC = "sync-";

  private final LongAdder[] published = new LongAdder[Event.values().length];
  private final Map<String, LongAdder> reasons = new ConcurrentHashMap<>();

  PublisherStatistics() {
    for (int i = 0; i < published.length; i++) {
      published[i] = new LongAdder();
    }
  }

  void published(Event event) {
    published[event.ordinal()].increment();
  }

  void failed(String reason) {
    reasons.computeIfAbsent(reason, unused -> new LongAdder()).increment();
  }

  long count(Event event) {
    return published[event.ordinal()].sum();
  }

  long failures() {
    return reasons.values().stream().mapToLong(LongAdder::sum).sum();
  }

  Map<String, Long> reasons() {
    Map<String, Long> result = new TreeMap<>();
    reasons.forEach((reason, count) -> result.put(reason, count.sum()));
    return result;
  }
}
