// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;

/**
 * The stock file system with a DFSClient of the subclass's making.
 *
 * <p>The stock class makes its DFSClient in a package-private method, so this class is in Hadoop's
 * package. A JVM lets a class override such a method only if one class loader has loaded both. If
 * another loader has loaded this class, as with the jar in an application's own loader, the method
 * of this class is never called, and the file system is the stock one.
 */
public abstract class ClientMakingFileSystem extends DistributedFileSystem {
  /**
   * Counts as the stock class. Hadoop has a set of statistics for each class, and shows the set of
   * the scheme that it made first.
   */
  @Override
  public void initialize(URI uri, Configuration conf) throws IOException {
    stockStatistics(uri);
    super.initialize(uri, conf);
  }

  @Override
  void initDFSClient(URI uri, Configuration conf) throws IOException {
    statistics = stockStatistics(uri);
    dfs = makeClient(uri, conf, statistics);
  }

  @SuppressWarnings("deprecation")
  private static FileSystem.Statistics stockStatistics(URI uri) {
    return getStatistics(uri.getScheme(), DistributedFileSystem.class);
  }

  /** Makes the one DFSClient of this file system, which closes it. */
  protected abstract DFSClient makeClient(
      URI uri, Configuration conf, FileSystem.Statistics statistics) throws IOException;
}
