// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.Map;

/** The JMX bean {@code io.vread:type=Publisher}: see docs/hadoop.md. */
public interface PublisherMXBean {
  /** Events FINALIZED that the backend has taken. The next three count the other events. */
  long getFinalized();

  long getAppend();

  long getTruncate();

  long getDelete();

  /** Finalized replicas that are still to be made durable and published. */
  long getPending();

  boolean isConnected();

  /** Events that the backend has not taken. */
  long getFailed();

  /** The failures by reason. */
  Map<String, Long> getReasons();
}
