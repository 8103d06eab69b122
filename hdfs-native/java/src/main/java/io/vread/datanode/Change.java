// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.Collections;
import java.util.List;

/**
 * What one call of the data set changes for readers of finalized replicas. {@link Changes} makes it
 * before the call. {@link PublishingDataset} publishes it.
 */
final class Change {
  static final Change NONE =
      new Change("", null, Collections.<ReplicaName>emptyList(), new long[0]);

  final String poolId;

  /** The event to publish before the call for each of {@link #withdrawn}; null: none. */
  final Event event;

  final List<ReplicaName> withdrawn;

  /**
   * Ids of blocks to look up after the call, also after a failure. Those then finalized are
   * published.
   */
  final long[] lookAgainAt;

  Change(String poolId, Event event, List<ReplicaName> withdrawn, long[] lookAgainAt) {
    this.poolId = poolId;
    this.event = event;
    this.withdrawn = withdrawn;
    this.lookAgainAt = lookAgainAt;
  }
}
