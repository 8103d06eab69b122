// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.DFSHedgedReadMetrics;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/** Scenarios with several readers at a time: threads, streams, file systems, hedged reads. */
final class Many {
  private static final int THREADS = 8;
  private static final int PREADS = 40;

  private Many() {}

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("threads-of-one-client", Many::threadsOfOneClient);
    scenarios.put("threads-on-one-stream", Many::threadsOnOneStream);
    scenarios.put("several-clients", Many::severalClients);
    scenarios.put("client-after-client", Many::clientAfterClient);
    scenarios.put("hedged", Many::hedged);
  }

  /** Each thread reads the file in four of the ways, each thread beginning with another. */
  private static Map<String, Object> threadsOfOneClient(Context context, Args args)
      throws Exception {
    Content file = context.file(args);
    List<Ways.Way> ways = new ArrayList<>(Ways.all().values());
    return inThreads(
        THREADS,
        number -> {
          long bytes = 0;
          for (int i = 0; i < 4; i++) {
            bytes += Reading.once(context.vread, file, ways.get((number * 2 + i) % ways.size()));
          }
          return bytes;
        });
  }

  private static Map<String, Object> threadsOnOneStream(Context context, Args args)
      throws Exception {
    Content file = context.file(args);
    try (FSDataInputStream in = context.vread.open(file.path)) {
      return inThreads(THREADS, number -> preads(in, file, number));
    }
  }

  private static long preads(FSDataInputStream in, Content file, int seed) throws Exception {
    Random random = new Random(seed);
    long bytes = 0;
    for (int i = 0; i < PREADS; i++) {
      int at = random.nextInt(file.bytes.length);
      byte[] buffer = new byte[1 + random.nextInt(Math.min(100_000, file.bytes.length - at))];
      in.readFully(at, buffer);
      file.check(at, buffer, 0, buffer.length);
      bytes += buffer.length;
    }
    return bytes;
  }

  private static Map<String, Object> severalClients(Context context, Args args) throws Exception {
    Content file = context.file(args);
    return inThreads(
        4,
        number -> {
          try (DistributedFileSystem fs = context.newClient(context.vreadConf)) {
            return Reading.once(fs, file, Ways.all().get("4k"))
                + Reading.once(fs, file, Ways.all().get("pread"));
          }
        });
  }

  /** A client is closed, then the next one reads: it must miss nothing of the closed one. */
  private static Map<String, Object> clientAfterClient(Context context, Args args)
      throws Exception {
    Content file = context.file(args);
    long bytes = 0;
    for (int i = 0; i < 5; i++) {
      try (DistributedFileSystem fs = context.newClient(context.vreadConf)) {
        bytes += Reading.once(fs, file, Ways.all().get("pread-fully"));
      }
    }
    return Map.of("bytes", bytes);
  }

  /** With threshold 0, each positioned read goes to two replicas, and one of them is cancelled. */
  private static Map<String, Object> hedged(Context context, Args args) throws Exception {
    Content file = context.file(args);
    Configuration conf = new Configuration(context.vreadConf);
    conf.setInt("dfs.client.hedged.read.threadpool.size", 4);
    conf.setLong("dfs.client.hedged.read.threshold.millis", args.number("threshold", 0));
    try (DistributedFileSystem fs = context.newClient(conf)) {
      long before = hedges(fs);
      long bytes = Reading.once(fs, file, Ways.all().get("pread-fully"));
      bytes += Reading.once(fs, file, Ways.all().get("vectored"));
      return Map.of("bytes", bytes, "hedges", hedges(fs) - before);
    }
  }

  /** How many reads this JVM sent a second time. The method is private to HDFS's package. */
  private static long hedges(DistributedFileSystem fs) throws ReflectiveOperationException {
    Method metrics = DFSClient.class.getDeclaredMethod("getHedgedReadMetrics");
    metrics.setAccessible(true);
    return ((DFSHedgedReadMetrics) metrics.invoke(fs.getClient())).getHedgedReadOps();
  }

  interface Part {
    long run(int number) throws Exception;
  }

  private static Map<String, Object> inThreads(int count, Part part) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(count);
    try {
      List<Callable<Long>> parts = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        int number = i;
        parts.add(() -> part.run(number));
      }
      long bytes = 0;
      for (Future<Long> done : pool.invokeAll(parts, 300, TimeUnit.SECONDS)) {
        bytes += done.get();
      }
      return Map.of("bytes", bytes);
    } finally {
      pool.shutdownNow();
    }
  }
}
