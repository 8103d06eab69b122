// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.DFSInputStream;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.client.HdfsDataInputStream;

/**
 * Reads of both clients while a NameNode is away.
 *
 * <pre>
 *   outage-begin   opens files by new clients, one at each moment of its life
 *                  (the test stops or kills the NameNode)
 *   outage-read    reads each file to its end in a thread of its own, and opens one more
 *                  (the test brings the NameNode back)
 *   outage-end     waits for the threads and closes everything
 * </pre>
 */
final class Outage {
  private static final int PIECE = 5000;
  private static final long DEFAULTS_MS = 30_000;
  private static final String[] CLIENTS = {"stock", "vread"};

  /** What the application does with an open file before the NameNode goes away. */
  private interface Moment {
    void reach(FSDataInputStream in, Content file) throws IOException;
  }

  private static final Map<String, Moment> MOMENTS = new LinkedHashMap<>();

  static {
    MOMENTS.put("opened", (in, file) -> {});
    MOMENTS.put("half-read", Outage::readHalf);
    MOMENTS.put("after-pread", (in, file) -> pread(in, file, 0));
    MOMENTS.put(
        "idle", // an idle stream has no block reader
        (in, file) -> {
          readHalf(in, file);
          in.unbuffer();
        });
  }

  private final List<DistributedFileSystem> clients = new ArrayList<>();
  private final Map<String, Reader> opened = new LinkedHashMap<>();
  private final Map<String, Reader> opening = new LinkedHashMap<>();

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("outage-begin", (context, args) -> context.outage.begin(context, args));
    scenarios.put("outage-read", (context, args) -> context.outage.read(args));
    scenarios.put("outage-end", (context, args) -> context.outage.end());
  }

  /**
   * Each client has read a file before. "name": before the names of the files. "on", "size" and
   * "block": as for {@link Content#write}. "stats": of the reading by vRead.
   */
  private Map<String, Object> begin(Context context, Args args) throws Exception {
    Content before = Content.write(context, args.text("name") + "-before", args);
    Map<String, Content> files = new LinkedHashMap<>();
    for (String moment : MOMENTS.keySet()) {
      files.put(moment, Content.write(context, args.text("name") + "-" + moment, args));
    }
    Statistics start = Statistics.now();
    for (String by : CLIENTS) {
      String name = args.text("name") + "-" + by;
      DistributedFileSystem client = context.newClient(conf(context.client(by).getConf(), name));
      clients.add(client);
      Reading.once(client, before, Ways.all().get("1m"));
      Awaiting.within(DEFAULTS_MS, () -> knowsDefaults(client));
      for (Map.Entry<String, Moment> each : MOMENTS.entrySet()) {
        Content file = files.get(each.getKey());
        FSDataInputStream in = client.open(file.path);
        each.getValue().reach(in, file);
        opened.put(by + " " + each.getKey(), new Reader(client, in, () -> finish(in, file)));
      }
      opening.put(
          by, new Reader(client, null, () -> Reading.once(client, before, Ways.all().get("1m"))));
    }
    return Map.of("stats", Statistics.now().minus(start));
  }

  /**
   * True if the client has the server's defaults, which it needs for each connection to a datanode.
   * A stock client has them after its first read. For a client with vRead, which makes no such
   * connection, another thread gets them.
   */
  private static boolean knowsDefaults(DistributedFileSystem client)
      throws ReflectiveOperationException {
    Field defaults = DFSClient.class.getDeclaredField("serverDefaults");
    defaults.setAccessible(true);
    return defaults.get(client.getClient()) != null;
  }

  /**
   * Of a client as in a process of its own: it shares no connections to datanodes. It soon gives up
   * a NameNode whose port nobody listens at.
   */
  private static Configuration conf(Configuration conf, String name) {
    Configuration result = new Configuration(conf);
    result.set("dfs.client.context", name);
    result.setInt("ipc.client.connect.max.retries", 1);
    result.setInt("ipc.client.connect.retry.interval", 10);
    return result;
  }

  /**
   * The outcome of each reader, by client and moment; "opening": of those that open a file
   * meanwhile. "gone": nobody listens at the NameNode's port, so that opening must end. "stats": of
   * the reading by vRead.
   */
  private Map<String, Object> read(Args args) throws Exception {
    Map<String, Object> outcomes = new LinkedHashMap<>();
    Map<String, Object> result = new LinkedHashMap<>();
    Statistics before = Statistics.now();
    for (Map.Entry<String, Reader> each : opened.entrySet()) {
      each.getValue().run(false);
      outcomes.put(each.getKey(), each.getValue().outcome());
    }
    result.put("stats", Statistics.now().minus(before));
    Map<String, Object> tried = new LinkedHashMap<>();
    for (Map.Entry<String, Reader> each : opening.entrySet()) {
      each.getValue().run(args.flag("gone"));
      tried.put(each.getKey(), each.getValue().outcome());
    }
    result.put("outcomes", outcomes);
    result.put("opening", tried);
    return result;
  }

  /** The NameNode is back. The outcomes of those that opened a file meanwhile. */
  private Map<String, Object> end() throws Exception {
    Map<String, Object> tried = new LinkedHashMap<>();
    for (Reader reader : opened.values()) {
      reader.thread.join();
      reader.in.close();
    }
    for (Map.Entry<String, Reader> each : opening.entrySet()) {
      each.getValue().thread.join();
      tried.put(each.getKey(), each.getValue().outcome());
    }
    for (DistributedFileSystem client : clients) {
      client.close();
    }
    opened.clear();
    opening.clear();
    clients.clear();
    return Map.of("opening", tried);
  }

  private static void readHalf(FSDataInputStream in, Content file) throws IOException {
    byte[] half = new byte[file.bytes.length / 2];
    in.readFully(half);
    file.check(0, half, 0, half.length);
  }

  private static void pread(FSDataInputStream in, Content file, int at) throws IOException {
    byte[] piece = new byte[PIECE];
    in.readFully(at, piece);
    file.check(at, piece, 0, PIECE);
  }

  /** By position in the first half and at the end, then the rest in order. */
  private static long finish(FSDataInputStream in, Content file) throws IOException {
    pread(in, file, PIECE);
    pread(in, file, file.bytes.length - PIECE);
    int from = (int) in.getPos();
    byte[] rest = new byte[file.bytes.length - from];
    in.readFully(rest);
    file.check(from, rest, 0, rest.length);
    return 2 * PIECE + rest.length;
  }

  /** One reader and its thread. */
  private static final class Reader {
    final DistributedFileSystem client;
    final FSDataInputStream in;
    final FutureTask<Long> task;
    final Thread thread;

    Reader(DistributedFileSystem client, FSDataInputStream in, Callable<Long> reading) {
      this.client = client;
      this.in = in;
      this.task = new FutureTask<>(reading);
      this.thread = new Thread(task, "outage");
    }

    /** Returns when the thread has ended; unless toEnd, also when it has called the NameNode. */
    void run(boolean toEnd) throws InterruptedException {
      RecordedCalls.watch(thread);
      thread.start();
      Awaiting.until(
          "a reader's end",
          () -> !thread.isAlive() || !toEnd && !RecordedCalls.of(thread).isEmpty());
    }

    Map<String, Object> outcome() throws InterruptedException {
      Map<String, Object> outcome = new LinkedHashMap<>();
      outcome.put("calls", new ArrayList<>(RecordedCalls.of(thread)));
      if (task.isDone()) {
        try {
          outcome.put("bytes", task.get());
        } catch (ExecutionException e) {
          outcome.put("error", e.getCause().toString());
        }
      }
      if (in != null) {
        DFSInputStream stream = (DFSInputStream) ((HdfsDataInputStream) in).getWrappedStream();
        outcome.put("dead", client.getClient().getDeadNodes(stream).size());
      }
      return outcome;
    }
  }
}
