// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.net.URI;
import java.util.LinkedHashSet;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.client.HdfsClientConfigKeys;

/**
 * Lists the NameNodes to ask about a file. The plug-in is not told which NameNode a file is of,
 * only which pool its blocks are of, so {@link FileStorages} and {@link StockBlock} try all.
 */
final class NameNodes {
  private NameNodes() {}

  /** The NameNodes of a configuration, the default one first. */
  static Set<URI> of(Configuration conf) {
    Set<URI> result = new LinkedHashSet<>();
    URI defaultFs = FileSystem.getDefaultUri(conf);
    if ("hdfs".equals(defaultFs.getScheme())) {
      result.add(URI.create("hdfs://" + defaultFs.getAuthority()));
    }
    for (String service : conf.getTrimmedStringCollection(HdfsClientConfigKeys.DFS_NAMESERVICES)) {
      result.add(URI.create("hdfs://" + service));
    }
    return result;
  }
}
