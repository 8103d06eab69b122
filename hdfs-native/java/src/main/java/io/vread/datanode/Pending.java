// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.File;
import java.net.URI;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;

/** A finalized replica that is to be made durable and published. */
final class Pending {
  private static final int ATTEMPTS = 3;
  private static final int LOOKS = 120;

  final ReplicaName name;
  final ReplicaInfo replica;
  private int failures;
  private int looks;
  private volatile boolean withdrawn;

  /** Does no I/O, because it is called on the datanode's write path. */
  Pending(ReplicaName name, ReplicaInfo replica) {
    this.name = name;
    this.replica = replica;
  }

  /** The replica is about to change: what was known of it must not be published any more. */
  void withdraw() {
    withdrawn = true;
  }

  boolean withdrawn() {
    return withdrawn;
  }

  /** Counts a lost connection. False: it is time to give up. */
  boolean mayRetry() {
    return ++failures < ATTEMPTS;
  }

  /** Counts an answer that the backend does not know the storage. False: it is time to give up. */
  boolean mayBeFoundYet() {
    return ++looks < LOOKS;
  }

  /** Null if the replica has no local files (provided storage). */
  File blockFile() {
    return local(replica.getBlockURI());
  }

  File metaFile() {
    return local(replica.getMetadataURI());
  }

  private static File local(URI uri) {
    return uri != null && "file".equals(uri.getScheme()) ? new File(uri) : null;
  }
}
