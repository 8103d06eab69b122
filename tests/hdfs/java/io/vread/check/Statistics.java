// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.management.ManagementFactory;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** The counters of this JVM's plug-in, flat: "vread.bytes", "fallback.reasons.ENOENT" ... */
public final class Statistics {
  private static final String BEAN = "io.vread:type=Client";
  private final Map<String, Long> numbers = new TreeMap<>();

  private Statistics() {}

  /** The counters now. All are 0 while the plug-in is not loaded. */
  public static Statistics now() throws JMException, java.io.IOException {
    Statistics found = new Statistics();
    MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    ObjectName name = new ObjectName(BEAN);
    awaitRegistration(server, name);
    if (server.isRegistered(name)) {
      Object text = server.invoke(name, "json", new Object[0], new String[0]);
      found.collect("", new ObjectMapper().readTree(text.toString()));
    }
    return found;
  }

  /** The plug-in's thread registers the bean a second after the first block. */
  private static void awaitRegistration(MBeanServer server, ObjectName name) {
    while (!server.isRegistered(name) && isAtWork()) {
      LockSupport.parkNanos(10_000_000);
    }
  }

  private static boolean isAtWork() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(thread -> thread.getName().equals("vread-client"));
  }

  private void collect(String prefix, JsonNode node) {
    for (Iterator<Map.Entry<String, JsonNode>> each = node.fields(); each.hasNext(); ) {
      Map.Entry<String, JsonNode> field = each.next();
      String name = prefix + field.getKey();
      if (field.getValue().isObject()) {
        collect(name + ".", field.getValue());
      } else if (field.getValue().isIntegralNumber() && !name.equals("pid")) {
        numbers.put(name, field.getValue().asLong());
      }
    }
  }

  public Statistics minus(Statistics earlier) {
    Statistics difference = new Statistics();
    numbers.forEach(
        (name, now) -> {
          long grown = now - earlier.numbers.getOrDefault(name, 0L);
          if (grown != 0) {
            difference.numbers.put(name, grown);
          }
        });
    return difference;
  }

  @JsonValue
  public Map<String, Long> numbers() {
    return numbers;
  }
}
