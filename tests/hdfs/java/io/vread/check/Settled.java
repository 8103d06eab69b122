// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URL;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Waits until the backend can see everything that was written so far.
 *
 * <p>With publishers on the datanodes, waits until they have published everything. Without, asks
 * the kernel to write the datanodes' file systems back; the kernel would do this by itself within
 * half a minute.
 */
final class Settled {
  private static final ObjectMapper JSON = new ObjectMapper();

  private Settled() {}

  static void wait(Context context) throws Exception {
    List<String> sync = new ArrayList<>(List.of("sync", "--file-system"));
    for (Map.Entry<String, String> each : context.own.entrySet()) {
      if (each.getKey().startsWith("publisher.")) {
        waitFor(new URL(each.getValue()));
      } else if (each.getKey().startsWith("written-to.")) {
        sync.add(each.getValue());
      }
    }
    if (sync.size() > 2 && new ProcessBuilder(sync).inheritIO().start().waitFor() != 0) {
      throw new IOException(sync + " failed");
    }
  }

  private static void waitFor(URL url) throws Exception {
    Awaiting.until(
        url + ": nothing pending",
        () -> {
          JsonNode beans = JSON.readTree(url).path("beans");
          return beans.size() > 0 && beans.get(0).path("Pending").asLong(1) == 0;
        });
  }
}
