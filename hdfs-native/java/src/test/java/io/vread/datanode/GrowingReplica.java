// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInPipeline;

/** A replica being written. Its length grows at every look, until a test stops it. */
final class GrowingReplica {
  volatile boolean growing = true;
  final ReplicaInPipeline replica;
  private final AtomicLong length = new AtomicLong();

  GrowingReplica(long blockId) {
    replica =
        FakeDataset.proxy(
            ReplicaInPipeline.class,
            (proxy, method, arguments) ->
                method.getName().equals("getBlockId")
                    ? blockId
                    : growing ? length.incrementAndGet() : length.get());
  }
}
