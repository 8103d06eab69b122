// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.File;
import java.net.URI;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;

/** A finalized replica on its way to being durable and published. */
final class Pending {
  private static final int ATTEMPTS = 3;
  private static final int LOOKS = 120;

  final ReplicaName name;
  final ReplicaInfo replica;
  private int failures;
  private int looks;
  private volatile boolean withdrawn;

  /** Makes no look at the file system: it is made on the datanode's write path. */
  Pending(ReplicaName name, ReplicaInfo replica) {
    this.name = name;
    this.replica = replica;
  }

  /** The replica is about to change: whatever was known of it must not be published any more. */
  void withdraw() {
    withdrawn = true;
  }

  boolean withdrawn() {
    return withdrawn;
  }

  /** Notes a lost connection; false when it is time to give up. */
  boolean mayRetry() {
    return ++failures < ATTEMPTS;
  }

  /** Notes that the backend does not know the storage; false when it is time to give up. */
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
