// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import java.util.Map;
import org.apache.hadoop.conf.Configuration;

/**
 * A copy with every property that a configuration answers for. Hadoop's own copy has only what the
 * object itself holds, and a subclass may keep its properties elsewhere, as Presto's does.
 */
public class ConfigurationCopy extends Configuration {
  public ConfigurationCopy(Configuration conf) {
    super(conf);
    setClassLoader(conf.getClassLoader());
    if (conf.getClass().getName().startsWith("org.apache.hadoop.")) {
      return; // such a class keeps its properties itself
    }
    for (Map.Entry<String, String> each : this) {
      if (conf.getRaw(each.getKey()) == null) {
        unset(each.getKey());
      }
    }
    for (Map.Entry<String, String> each : conf) {
      if (!each.getValue().equals(getRaw(each.getKey()))) {
        set(each.getKey(), each.getValue());
      }
    }
  }
}
