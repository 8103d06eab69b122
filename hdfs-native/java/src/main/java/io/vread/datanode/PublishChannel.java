// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.IOException;

/** One connection to the backend. One thread at a time uses it. */
interface PublishChannel {
  /** Makes connections. Each attempt ends within the configured timeout. */
  interface Connector {
    /** The exception's message tells an operator what is missing. */
    PublishChannel connect() throws IOException;
  }

  /**
   * Sends one event and waits, at most the timeout, until the backend has taken it into account.
   *
   * @return 0 or a negative errno
   */
  int publish(Event event, ReplicaName replica);

  /**
   * Tells which keys sign a pool's tokens. Waits and returns as {@link #publish} does.
   *
   * @param storageId any storage of the datanode
   */
  int publishKeys(String poolId, String storageId, BlockKeys keys);

  /** False once the backend is known to be gone. */
  boolean connected();

  void close();
}
