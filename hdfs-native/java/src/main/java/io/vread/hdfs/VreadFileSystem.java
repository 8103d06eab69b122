// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.hdfs.locations.BlockLocations;
import io.vread.hdfs.locations.ObservingClient;
import java.io.IOException;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.impl.OpenFileParameters;
import org.apache.hadoop.hdfs.ClientMakingFileSystem;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.protocol.HdfsLocatedFileStatus;

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
public class VreadFileSystem extends ClientMakingFileSystem {
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

  /** From 3.5.1 on HDFS reads such a file without a question to the NameNode (HDFS-17593). */
  @Override
  protected CompletableFuture<FSDataInputStream> openFileWithOptions(
      Path path, OpenFileParameters parameters) throws IOException {
    FileStatus status = parameters.getStatus();
    if (status instanceof HdfsLocatedFileStatus && getClient() instanceof ObservingClient) {
      ((ObservingClient) getClient())
          .learn(
              fixRelativePart(path).toUri().getPath(),
              ((HdfsLocatedFileStatus) status).getLocatedBlocks());
    }
    return super.openFileWithOptions(path, parameters);
  }

  @Override
  protected DFSClient makeClient(URI uri, Configuration conf, FileSystem.Statistics statistics)
      throws IOException {
    return ObservingClient.make(uri, conf, statistics);
  }
}
