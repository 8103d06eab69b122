// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.hdfs.locations.BlockLocations;
import io.vread.hdfs.locations.ObservingClient;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.ClientMakingFileSystem;
import org.apache.hadoop.hdfs.DFSClient;

/**
 * The stock HDFS file system, which reads blocks through vRead and remembers where the NameNode
 * said that blocks are. Hadoop makes it if {@code fs.hdfs.impl} names this class.
 *
 * <p>vRead reads a block only where the block's own NameNode says that a replica is. The stock
 * client has this answer for each file it opens. This file system's client ({@link
 * ObservingClient}) lets {@link BlockLocations} see each answer go by. Nothing is asked that a
 * stock client would not ask.
 *
 * <p>HDFS loads replica accessor builders through the thread's context class loader when a file
 * system is made. A native thread that was attached to the JVM (libhdfs, pyarrow) has no such
 * loader, unless the thread created the JVM. Hadoop loads this class by the configuration's class
 * loader, which is never missing. This class lends that loader to the thread while the file system
 * is made.
 */
public final class VreadFileSystem extends ClientMakingFileSystem {
  @Override
  public void initialize(URI uri, Configuration conf) throws IOException {
    Thread thread = Thread.currentThread();
    if (thread.getContextClassLoader() != null) {
      super.initialize(uri, conf);
      return;
    }
    thread.setContextClassLoader(conf.getClassLoader());
    try {
      super.initialize(uri, conf);
    } finally {
      thread.setContextClassLoader(null);
    }
  }

  @Override
  protected DFSClient makeClient(URI uri, Configuration conf, FileSystem.Statistics statistics)
      throws IOException {
    return ObservingClient.make(uri, conf, statistics);
  }
}
