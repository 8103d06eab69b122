// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.Collections;
import java.util.List;

/** What one call of the data set is about to do, as far as readers of finalized replicas care. */
final class Change {
  static final Change NONE =
      new Change("", null, Collections.<ReplicaName>emptyList(), new long[0]);

  final String poolId;

  /** What is said of {@link #withdrawn} before the call; null if nothing is. */
  final Event event;

  final List<ReplicaName> withdrawn;

  /** Blocks to be looked at after the call, succeeded or not: those then finalized are published. */
  final long[] lookAgainAt;

  Change(String poolId, Event event, List<ReplicaName> withdrawn, long[] lookAgainAt) {
    this.poolId = poolId;
    this.event = event;
    this.withdrawn = withdrawn;
    this.lookAgainAt = lookAgainAt;
  }
}
