// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hdfs.server.datanode.Replica;

/**
 * Tells the {@link Publisher} whether the datanode is receiving data, so that the publisher leaves
 * the disk to it for a moment.
 *
 * <p>It watches the lengths of replicas being written. An open replica alone says nothing: a log
 * may be open for days. At most {@link #MOST} replicas are watched; beyond, the oldest is
 * forgotten.
 */
final class WriteActivity {
  private static final int MOST = 1024;

  private static final class Writing {
    final Replica replica;
    long lengthSeen = -1;

    Writing(Replica replica) {
      this.replica = replica;
    }
  }

  private final List<Writing> open = new ArrayList<>();
  private boolean oneEnded;

  /** From now on a replica is open for writing. */
  synchronized void begun(Replica replica) {
    if (open.size() == MOST) {
      open.remove(0);
    }
    open.add(new Writing(replica));
  }

  /**
   * True if, since the last call, a watched replica has changed its length, was begun or has ended.
   * An end counts because between two blocks of a file no replica is open.
   */
  synchronized boolean sinceLastLook() {
    boolean written = oneEnded;
    oneEnded = false;
    for (Writing writing : open) {
      long length = writing.replica.getNumBytes();
      written |= length != writing.lengthSeen;
      writing.lengthSeen = length;
    }
    return written;
  }

  /**
   * The block's replica is no longer written. Its object may be another than the one given to
   * {@link #begun}, so the block id is compared.
   */
  synchronized void ended(long blockId) {
    oneEnded |= open.removeIf(writing -> writing.replica.getBlockId() == blockId);
  }
}
