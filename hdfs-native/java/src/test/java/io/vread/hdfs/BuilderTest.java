// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.vread.Eventually;
import io.vread.Settings;
import io.vread.hdfs.metrics.ClientMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Map;
import javax.management.JMX;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.ReplicaAccessor;
import org.junit.Test;

/** The builder as the stock client uses it. There is no native library where this runs. */
public class BuilderTest {
  private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();

  private static ReplicaAccessor build(Configuration conf) {
    return new VreadReplicaAccessorBuilder()
        .setAllowShortCircuitReads(true)
        .setBlock(1, "BP-1")
        .setGenerationStamp(1001)
        .setBlockAccessToken(new byte[4])
        .setClientName("client")
        .setConfiguration(conf)
        .setFileName("/file")
        .setVerifyChecksum(true)
        .setVisibleLength(100)
        .build();
  }

  private ClientMXBean bean() throws Exception {
    ObjectName name = new ObjectName("io.vread:type=Client");
    Eventually.until(() -> server.isRegistered(name), () -> "no bean");
    return JMX.newMXBeanProxy(server, name, ClientMXBean.class);
  }

  private static long count(Map<String, Long> reasons, String reason) {
    return reasons.getOrDefault(reason, 0L);
  }

  @Test
  public void neverThrowsAndAlwaysCounts() throws Exception {
    Configuration disabled = new Configuration(false);
    disabled.set(Settings.ENABLED, "false");
    assertNull(build(disabled));
    Map<String, Long> before = bean().getFallbackReasons();
    long blocks = bean().getFallbackBlocks();
    assertNull(build(disabled));
    assertNull(build(new Configuration(false)));
    assertNull(build(new Configuration(false)));
    assertNull("not even without a configuration", build(null));
    assertNull(new VreadReplicaAccessorBuilder().build());
    Map<String, Long> after = bean().getFallbackReasons();
    assertEquals(1, count(after, "disabled") - count(before, "disabled"));
    assertEquals(2, count(after, "no-library") - count(before, "no-library"));
    assertEquals(2, count(after, "error") - count(before, "error"));
    assertEquals(blocks + 5, bean().getFallbackBlocks());
    assertEquals(0, bean().getBytes());
  }

  @Test
  public void theStatisticsFile() throws Exception {
    Path folder = Files.createTempDirectory("statistics");
    Configuration conf = new Configuration(false);
    conf.set(Settings.STATISTICS_FILE, folder + "/of-%p.json");
    build(conf);
    Path file = Paths.get(bean().writeStatistics());
    assertEquals(folder, file.getParent());
    assertNotNull(new ObjectMapper().readTree(Files.readAllBytes(file)).get("vread"));
    assertTrue(file.getFileName().toString().matches("of-[1-9][0-9]*\\.json"));
    Files.delete(file);
    Files.delete(folder); // nothing else was left in it
  }
}
