// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/**
 * Scenarios of a known number of opens and reads, for tests that count calls. Each reads by a new
 * client of the kind "by".
 */
final class Counting {
  private static final int WRITERS = 4;
  private static final int PIECE = 1000;

  private Counting() {}

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("write-many", Counting::writeMany);
    scenarios.put("read-many", Counting::readMany);
    scenarios.put("read-many-in-context", Counting::readManyInContext);
    scenarios.put("pread-many-held", Counting::preadManyHeld);
    scenarios.put("read-blocks", Counting::readBlocks);
    scenarios.put("preads", Counting::preads);
  }

  private static Content file(Args args, long number) {
    Path path = new Path(args.text("folder"), "f" + number);
    return new Content(path, Content.random(number, args.number("size", 4096)));
  }

  /** Writes "count" files of "size" bytes into "folder". on: as for {@link Content#write}. */
  private static Map<String, Object> writeMany(Context context, Args args) throws Exception {
    ExecutorService writers = Executors.newFixedThreadPool(WRITERS);
    try {
      List<Callable<Void>> tasks = new ArrayList<>();
      for (long number = 0; number < args.number("count", 1); number++) {
        Content file = file(args, number);
        tasks.add(
            () -> {
              try (FSDataOutputStream out = Content.create(context, file.path, args)) {
                out.write(file.bytes);
              }
              return null;
            });
      }
      for (Future<Void> done : writers.invokeAll(tasks)) {
        done.get();
      }
    } finally {
      writers.shutdown();
    }
    Settled.wait(context);
    return Map.of();
  }

  /** Opens, reads and closes each file of the folder. */
  private static Map<String, Object> readMany(Context context, Args args) throws Exception {
    try (DistributedFileSystem fs = newClient(context, args)) {
      long bytes = 0;
      for (long number = 0; number < args.number("count", 1); number++) {
        bytes += Reading.once(fs, file(args, number), Ways.all().get("1m"));
      }
      return Map.of("bytes", bytes);
    }
  }

  /** As readMany(), by FileContext, which makes its own client. YARN and others read like this. */
  private static Map<String, Object> readManyInContext(Context context, Args args)
      throws Exception {
    FileContext files = FileContext.getFileContext(context.client(args.text("by")).getConf());
    long bytes = 0;
    for (long number = 0; number < args.number("count", 1); number++) {
      Content file = file(args, number);
      try (FSDataInputStream in = files.open(file.path)) {
        bytes += Ways.sequential(in, file, 1 << 20);
      }
    }
    return Map.of("bytes", bytes);
  }

  /** Opens all files of the folder, then reads once from each, by position. */
  private static Map<String, Object> preadManyHeld(Context context, Args args) throws Exception {
    List<FSDataInputStream> open = new ArrayList<>();
    try (DistributedFileSystem fs = newClient(context, args)) {
      int count = (int) args.number("count", 1);
      for (int number = 0; number < count; number++) {
        open.add(fs.open(file(args, number).path));
      }
      for (int number = 0; number < count; number++) {
        pread(open.get(number), file(args, number), number % PIECE);
      }
      for (FSDataInputStream in : open) {
        in.close();
      }
      return Map.of("bytes", (long) count * PIECE);
    }
  }

  /** Reads a whole file in order. */
  private static Map<String, Object> readBlocks(Context context, Args args) throws Exception {
    try (DistributedFileSystem fs = newClient(context, args)) {
      return Map.of("bytes", Reading.once(fs, context.file(args), Ways.all().get("1m")));
    }
  }

  /** Reads a file "count" times by position, over one stream. */
  private static Map<String, Object> preads(Context context, Args args) throws Exception {
    Content file = context.file(args);
    long count = args.number("count", 1);
    Random random = new Random(1);
    try (DistributedFileSystem fs = newClient(context, args);
        FSDataInputStream in = fs.open(file.path)) {
      for (long i = 0; i < count; i++) {
        pread(in, file, random.nextInt(file.bytes.length - PIECE));
      }
      return Map.of("bytes", count * PIECE);
    }
  }

  private static void pread(FSDataInputStream in, Content file, int at) throws Exception {
    byte[] piece = new byte[PIECE];
    in.readFully(at, piece);
    file.check(at, piece, 0, PIECE);
  }

  /** prefetch: how many bytes of a file the NameNode describes in one answer. */
  private static DistributedFileSystem newClient(Context context, Args args) throws Exception {
    Configuration conf = new Configuration(context.client(args.text("by")).getConf());
    if (args.has("prefetch")) {
      conf.set("dfs.client.read.prefetch.size", args.text("prefetch"));
    }
    return context.newClient(conf);
  }
}
