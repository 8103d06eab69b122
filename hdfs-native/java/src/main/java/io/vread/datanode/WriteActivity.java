// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hdfs.server.datanode.Replica;

/**
 * Whether the datanode is receiving data, so that its disk can be left to it for a moment.
 *
 * <p>It watches the lengths of replicas being written. That one is open says nothing: a log may be
 * open for days. Of more replicas than {@link #MOST} the oldest are forgotten.
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

  /** A replica is open for writing from now on. */
  synchronized void begun(Replica replica) {
    if (open.size() == MOST) {
      open.remove(0);
    }
    open.add(new Writing(replica));
  }

  /**
   * Whether anything was written since the last look, has been begun or has ended: between two
   * blocks of a file no replica is open.
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

  /** A replica is not written any more; the object for it may be another one than at first. */
  synchronized void ended(long blockId) {
    oneEnded |= open.removeIf(writing -> writing.replica.getBlockId() == blockId);
  }
}
