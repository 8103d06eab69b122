// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.StorageStatistics;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.ReadStatistics;
import org.apache.hadoop.hdfs.client.HdfsDataInputStream;

/** Scenarios that read unchanging files, by either client, in each of the ways. */
final class Reading {
  private Reading() {}

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("ways", (context, args) -> Map.of("ways", Ways.all().keySet()));
    scenarios.put("write", Reading::write);
    scenarios.put("delete", Reading::delete);
    scenarios.put("read", Reading::read);
    scenarios.put("read-by", Reading::readBy);
    scenarios.put("file-context", Reading::fileContext);
    scenarios.put("statistics", Reading::statistics);
  }

  private static Map<String, Object> write(Context context, Args args) throws Exception {
    Content file = Content.write(context, args.text("file"), args);
    context.kept.put(args.text("file"), file);
    return Map.of("bytes", file.bytes.length);
  }

  private static Map<String, Object> delete(Context context, Args args) throws Exception {
    Content file = context.kept.remove(args.text("file"));
    return Map.of("deleted", context.stock.delete(file.path, false));
  }

  /** Reads a file by both clients. "stats": of the reading by vRead only. */
  private static Map<String, Object> read(Context context, Args args) throws Exception {
    Content file = context.file(args);
    Ways.Way way = way(args);
    long stock = once(context.stock, file, way);
    Statistics before = Statistics.now();
    long bytes = once(context.vread, file, way);
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("stats", Statistics.now().minus(before));
    result.put("bytes", bytes);
    result.put("stock_bytes", stock);
    return result;
  }

  /** Reads a file by the client "by". */
  private static Map<String, Object> readBy(Context context, Args args) throws Exception {
    DistributedFileSystem client = context.client(args.text("by"));
    return Map.of("bytes", once(client, context.file(args), way(args)));
  }

  /** Reads a file in all ways by FileContext, which has a client of its own. */
  private static Map<String, Object> fileContext(Context context, Args args) throws Exception {
    Content file = context.file(args);
    FileContext files =
        FileContext.getFileContext(FileSystem.getDefaultUri(context.vreadConf), context.vreadConf);
    Statistics before = Statistics.now();
    long bytes = 0;
    for (Ways.Way way : Ways.all().values()) {
      try (FSDataInputStream in = files.open(file.path)) {
        bytes += way.read(in, file, new Random(1));
      }
    }
    return Map.of("bytes", bytes, "stats", Statistics.now().minus(before));
  }

  static Ways.Way way(Args args) {
    String name = args.text("way", "1m");
    Ways.Way way = Ways.all().get(name);
    if (way == null) {
      throw new IllegalArgumentException("no way " + name + " of reading");
    }
    return way;
  }

  static long once(FileSystem fs, Content file, Ways.Way way) throws Exception {
    try (FSDataInputStream in = fs.open(file.path)) {
      return way.read(in, file, new Random(1));
    }
  }

  /** Reads a file by each client and returns what HDFS itself counted. */
  private static Map<String, Object> statistics(Context context, Args args) throws Exception {
    Content file = context.file(args);
    Map<String, Object> result = new LinkedHashMap<>();
    for (String name : new String[] {"stock", "vread"}) {
      Map<String, Long> before = counted();
      Map<String, Object> found = new LinkedHashMap<>();
      try (FSDataInputStream in = context.client(name).open(file.path)) {
        Ways.sequential(in, file, 1 << 20);
        ReadStatistics own = ((HdfsDataInputStream) in).getReadStatistics();
        found.put("total", own.getTotalBytesRead());
        found.put("local", own.getTotalLocalBytesRead());
        found.put("short_circuit", own.getTotalShortCircuitBytesRead());
        found.put("zero_copy", own.getTotalZeroCopyBytesRead());
        found.put("remote", own.getRemoteBytesRead());
      }
      counted().forEach((key, now) -> found.put(key, now - before.get(key)));
      result.put(name, found);
    }
    result.put("bytes", file.bytes.length);
    return result;
  }

  /** Bytes read by all clients of this JVM, in total and by distance in the network. */
  private static Map<String, Long> counted() {
    StorageStatistics all = FileSystem.getGlobalStorageStatistics().get("hdfs");
    Map<String, Long> found = new LinkedHashMap<>();
    for (String name :
        new String[] {
          "bytesRead",
          "bytesReadLocalHost",
          "bytesReadDistanceOfOneOrTwo",
          "bytesReadDistanceOfThreeOrFour",
          "bytesReadDistanceOfFiveOrLarger"
        }) {
      found.put(name, all.getLong(name));
    }
    return found;
  }
}
