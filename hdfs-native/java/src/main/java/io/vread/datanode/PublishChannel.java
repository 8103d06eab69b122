// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.IOException;

/** One connection to the backend. Used by one thread at a time. */
interface PublishChannel {
  /** Makes connections; each attempt is over within the configured timeout. */
  interface Connector {
    /** The exception's message says what is missing, in words for an operator. */
    PublishChannel connect() throws IOException;
  }

  /**
   * Sends one event and waits for the backend to have taken it into account, within the timeout.
   *
   * @return 0 or a negative errno
   */
  int publish(Event event, ReplicaName replica);

  /**
   * Says what a pool's tokens are signed with, as {@link #publish} does an event.
   *
   * @param storageId any of the datanode's
   */
  int publishKeys(String poolId, String storageId, BlockKeys keys);

  /** False once the backend is known to be gone. */
  boolean connected();

  void close();
}
