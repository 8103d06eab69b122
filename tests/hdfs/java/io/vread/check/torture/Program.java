// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check.torture;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.vread.check.Args;
import io.vread.check.Statistics;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/**
 * Runs tortures in a JVM of their own. tests/xen/test_torture_hdfs.py starts it in a guest.
 *
 * <p>Each line of standard input has the arguments of a torture as JSON. Each result is a line of
 * JSON. The argument "properties" configures the client that reads through vRead.
 */
public final class Program {
  private Program() {}

  public static void main(String[] arguments) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err);
    ObjectMapper json = new ObjectMapper();
    BufferedReader requests =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    String line;
    while ((line = requests.readLine()) != null) {
      Map<?, ?> request = json.readValue(line, Map.class);
      answers.println(json.writeValueAsString(run(request)));
      answers.flush();
    }
    System.exit(0);
  }

  private static Map<String, Object> run(Map<?, ?> request) throws Exception {
    Configuration plain = new Configuration();
    Configuration conf = new Configuration(plain);
    conf.set("dfs.client.context", "vread"); // connections of its own
    ((Map<?, ?>) request.get("properties"))
        .forEach((name, value) -> conf.set(name.toString(), value.toString()));
    try (DistributedFileSystem stock = client(plain);
        DistributedFileSystem vread = client(conf)) {
      Statistics before = Statistics.now();
      Map<String, Object> result =
          new LinkedHashMap<>(Torture.run(stock, vread, new Args(request)));
      result.put("stats", Statistics.now().minus(before));
      return result;
    }
  }

  private static DistributedFileSystem client(Configuration conf) throws Exception {
    return (DistributedFileSystem) FileSystem.newInstance(FileSystem.getDefaultUri(conf), conf);
  }
}
