// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FsShell;
import org.apache.hadoop.fs.TestDFSIO;
import org.apache.hadoop.hdfs.tools.CacheAdmin;
import org.apache.hadoop.hdfs.tools.DFSAdmin;
import org.apache.hadoop.hdfs.tools.ECAdmin;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/** Scenarios that run Hadoop's own programs, unchanged, some with vRead in the configuration. */
final class Programs {
  private Programs() {}

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("shell", Programs::shell);
    scenarios.put("shell-cat", Programs::shellCat);
    scenarios.put("dfsio", Programs::dfsio);
  }

  /** Runs `hdfs dfs`, dfsadmin, cacheadmin or ec in this JVM, with the stock client. */
  private static Map<String, Object> shell(Context context, Args args) throws Exception {
    String[] words = args.list("words").toArray(new String[0]);
    Configuration conf = new Configuration(context.stockConf);
    check(ToolRunner.run(conf, program(conf, args.text("program")), words), words);
    return Map.of();
  }

  private static Tool program(Configuration conf, String name) {
    switch (name) {
      case "dfsadmin":
        return new DFSAdmin();
      case "cacheadmin":
        return new CacheAdmin(conf);
      case "ec":
        return new ECAdmin(conf);
      default:
        return new FsShell();
    }
  }

  private static Map<String, Object> shellCat(Context context, Args args) throws Exception {
    Content file = context.file(args);
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    PrintStream before = System.out;
    System.setOut(new PrintStream(printed));
    try {
      String[] words = {"-cat", file.path.toString()};
      check(ToolRunner.run(new Configuration(context.vreadConf), new FsShell(), words), words);
    } finally {
      System.setOut(before);
    }
    if (!Arrays.equals(printed.toByteArray(), file.bytes)) {
      throw new IOException("-cat printed other bytes: " + printed.size() + " of them");
    }
    return Map.of("bytes", printed.size());
  }

  /** TestDFSIO under the local runner: writes, then reads back. "stats": of the reading only. */
  private static Map<String, Object> dfsio(Context context, Args args) throws Exception {
    String megabytes = args.text("mib", "4");
    String files = args.text("files", "2");
    Configuration conf = new Configuration(context.vreadConf);
    conf.set("mapreduce.framework.name", "local");
    conf.set("mapreduce.cluster.local.dir", args.text("scratch") + "/mapred");
    conf.set("hadoop.tmp.dir", args.text("scratch"));
    conf.set("test.build.data", "/benchmarks/TestDFSIO");
    String results = args.text("scratch") + "/dfsio.txt";
    String[] size = {"-nrFiles", files, "-size", megabytes + "MB", "-resFile", results};
    dfsio(conf, "-write", size);
    Settled.wait(context);
    Statistics before = Statistics.now();
    dfsio(conf, "-read", size);
    Statistics read = Statistics.now().minus(before);
    dfsio(conf, "-clean", new String[0]);
    long bytes = (Long.parseLong(megabytes) * Long.parseLong(files)) << 20;
    return Map.of("bytes", bytes, "stats", read);
  }

  private static void dfsio(Configuration conf, String action, String[] more) throws Exception {
    String[] words = new String[1 + more.length];
    words[0] = action;
    System.arraycopy(more, 0, words, 1, more.length);
    check(ToolRunner.run(new Configuration(conf), new TestDFSIO(), words), words);
  }

  private static void check(int status, String[] words) throws IOException {
    if (status != 0) {
      throw new IOException(String.join(" ", words) + ": exit status " + status);
    }
  }
}
