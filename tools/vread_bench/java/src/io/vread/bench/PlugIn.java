// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.bench;

import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.TreeMap;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** The statistics of vRead's plug-in in this process at one moment; all 0 without a plug-in. */
final class PlugIn {
  /** The plug-in's thread, which registers its bean a second after the first block. */
  private static final String DAEMON = "vread-client";

  final long bytes;
  private final Map<String, Long> reasons = new TreeMap<>();

  private PlugIn(long bytes) {
    this.bytes = bytes;
  }

  /** Waits until a plug-in that has begun to read has its bean. */
  static PlugIn now() throws JMException, InterruptedException {
    MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    ObjectName name = new ObjectName("io.vread:type=Client");
    while (!server.isRegistered(name) && isAtWork()) {
      Thread.sleep(10);
    }
    if (!server.isRegistered(name)) {
      return new PlugIn(0);
    }
    PlugInMXBean bean = JMX.newMXBeanProxy(server, name, PlugInMXBean.class);
    PlugIn now = new PlugIn(bean.getBytes());
    bean.getFallbackReasons().forEach((why, blocks) -> now.reasons.merge(why, blocks, Long::sum));
    bean.getFailureReasons().forEach((why, blocks) -> now.reasons.merge(why, blocks, Long::sum));
    return now;
  }

  private static boolean isAtWork() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(thread -> thread.getName().equals(DAEMON));
  }

  /** Why blocks were not read by vRead, or not to their end, since `before`. */
  Map<String, Long> reasonsSince(PlugIn before) {
    Map<String, Long> since = new TreeMap<>();
    reasons.forEach(
        (why, blocks) -> {
          long grown = blocks - before.reasons.getOrDefault(why, 0L);
          if (grown > 0) {
            since.put(why, grown);
          }
        });
    return since;
  }
}
