// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.net.URI;
import java.util.LinkedHashSet;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.client.HdfsClientConfigKeys;

/** Which NameNodes there are: the plug-in is not told which one a file is of; its blocks' pool is. */
final class NameNodes {
  private NameNodes() {}

  /** Of a configuration, the default one first. */
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
