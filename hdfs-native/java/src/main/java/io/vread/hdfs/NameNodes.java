// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.net.URI;
import java.util.LinkedHashSet;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.client.HdfsClientConfigKeys;

/**
 * Lists the NameNodes, or routers of a federation, to ask about a file. The plug-in is not told
 * which of them a file is of, only which pool its blocks are of, so {@link FileStorages} and {@link
 * StockBlock} try all.
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
      result.add(URI.create("hdfs://" + authority(conf, service)));
    }
    return result;
  }

  /** The stock client resolves the name of a nameservice only if that has several NameNodes. */
  private static String authority(Configuration conf, String service) {
    String several = HdfsClientConfigKeys.DFS_HA_NAMENODES_KEY_PREFIX + "." + service;
    String address =
        conf.getTrimmed(HdfsClientConfigKeys.DFS_NAMENODE_RPC_ADDRESS_KEY + "." + service);
    return conf.get(several) != null || address == null ? service : address;
  }
}
