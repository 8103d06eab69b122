// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import static org.junit.Assert.assertEquals;

import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.junit.Test;

/** Which NameNodes {@link NameNodes} finds in a configuration, and by which address. */
public class NameNodesTest {
  private final Configuration conf = new Configuration(false);

  private List<String> found() {
    List<String> result = new ArrayList<>();
    for (URI uri : NameNodes.of(conf)) {
      result.add(uri.toString());
    }
    return result;
  }

  @Test
  public void theDefaultOneAlone() {
    conf.set("fs.defaultFS", "hdfs://nn:8020/user");
    assertEquals(Arrays.asList("hdfs://nn:8020"), found());
  }

  /** The stock client fails over between the NameNodes of a name, which no DNS knows. */
  @Test
  public void aServiceWithSeveralNameNodesHasAName() {
    conf.set("fs.defaultFS", "hdfs://ns1");
    conf.set("dfs.nameservices", "ns1");
    conf.set("dfs.ha.namenodes.ns1", "a,b");
    conf.set("dfs.namenode.rpc-address.ns1.a", "one:8020");
    conf.set("dfs.namenode.rpc-address.ns1.b", "two:8020");
    assertEquals(Arrays.asList("hdfs://ns1"), found());
  }

  /** As in a federation: the name of such a service resolves to nothing. */
  @Test
  public void aServiceWithOneNameNodeHasAnAddress() {
    conf.set("fs.defaultFS", "viewfs://all");
    conf.set("dfs.nameservices", "ns1, ns2, ns3");
    conf.set("dfs.namenode.rpc-address.ns1", "one:8020");
    conf.set("dfs.namenode.rpc-address.ns2", " two:8020 ");
    assertEquals(Arrays.asList("hdfs://one:8020", "hdfs://two:8020", "hdfs://ns3"), found());
  }
}
