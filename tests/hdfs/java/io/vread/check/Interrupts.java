// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/**
 * Interrupts of threads that read, by the client "by". An outcome has what the read threw
 * ("thrown"), and whether the thread's interrupt flag was set afterwards ("flag"). A reader that
 * goes on regardless gives up after having read the file several times.
 */
final class Interrupts {
  private static final int PIECE = 64 << 10;
  private static final int ROUNDS = 4;
  private static final int POOL = 4;

  /** The stream that waits for the test between hung-open and hung-read. */
  private FSDataInputStream held;

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("interrupt", Interrupts::interrupt);
    scenarios.put("shutdown-pool", Interrupts::shutDownPool);
    scenarios.put("hung-open", (context, args) -> context.interrupts.open(context, args));
    scenarios.put("hung-read", (context, args) -> context.interrupts.read(context, args));
  }

  /** moment: "before" the first block is opened, or "half", with a block open. way: of Ways. */
  private static Map<String, Object> interrupt(Context context, Args args) throws Exception {
    Content file = context.file(args);
    Map<String, Object> outcome = new LinkedHashMap<>();
    DistributedFileSystem fs = context.client(args.text("by"));
    Thread reader =
        new Thread(
            () -> {
              try (FSDataInputStream in = fs.open(file.path)) {
                if (args.text("moment").equals("half")) {
                  in.readFully(new byte[file.bytes.length / 2]);
                }
                Thread.currentThread().interrupt();
                outcome.putAll(outcome(in, file, args.flag("positioned")));
              } catch (IOException e) {
                outcome.put("before", e.toString());
              }
            },
            "interrupted");
    reader.start();
    reader.join();
    return outcome;
  }

  private static Map<String, Object> outcome(
      FSDataInputStream in, Content file, boolean positioned) {
    Map<String, Object> outcome = new LinkedHashMap<>();
    try {
      outcome.put("regardless", readOn(in, file, positioned));
    } catch (IOException | RuntimeException e) {
      outcome.put("thrown", e.getClass().getName());
    }
    outcome.put("flag", Thread.currentThread().isInterrupted());
    return outcome;
  }

  /** Reads the file in circles. Returns how much it has read while the interrupt flag was set. */
  private static long readOn(FSDataInputStream in, Content file, boolean positioned)
      throws IOException {
    byte[] piece = new byte[PIECE];
    long position = in.getPos();
    long regardless = 0;
    while (regardless < (long) ROUNDS * file.bytes.length) {
      int got = positioned ? in.read(position, piece, 0, PIECE) : in.read(piece);
      if (got < 0) {
        in.seek(0);
        position = 0;
        continue;
      }
      file.check(position, piece, 0, got);
      position += got;
      regardless += Thread.currentThread().isInterrupted() ? got : 0;
    }
    return regardless;
  }

  /** A pool whose threads all read is shut down. The outcome of each of its tasks. */
  private static Map<String, Object> shutDownPool(Context context, Args args) throws Exception {
    Content file = context.file(args);
    DistributedFileSystem fs = context.client(args.text("by"));
    ExecutorService pool = Executors.newFixedThreadPool(POOL);
    CountDownLatch reading = new CountDownLatch(POOL);
    List<Future<Map<String, Object>>> tasks = new ArrayList<>();
    for (int number = 0; number < POOL; number++) {
      boolean positioned = number % 2 == 1;
      tasks.add(
          pool.submit(
              () -> {
                try (FSDataInputStream in = fs.open(file.path)) {
                  in.read(new byte[PIECE]);
                  reading.countDown();
                  return outcome(in, file, positioned);
                }
              }));
    }
    reading.await();
    pool.shutdownNow();
    List<Object> outcomes = new ArrayList<>();
    for (Future<Map<String, Object>> task : tasks) {
      outcomes.add(task.get(120, TimeUnit.SECONDS));
    }
    return Map.of("outcomes", outcomes);
  }

  /** Opens a file and, if "half", reads its first half. The test then stops who serves it. */
  private Map<String, Object> open(Context context, Args args) throws Exception {
    Content file = context.file(args);
    held = context.client(args.text("by")).open(file.path);
    if (args.flag("half")) {
      held.readFully(new byte[file.bytes.length / 2]);
    }
    return Map.of();
  }

  /** Interrupts a thread that waits in a read of the file of hung-open. */
  private Map<String, Object> read(Context context, Args args) throws Exception {
    Content file = context.file(args);
    Map<String, Object> outcome = new LinkedHashMap<>();
    Thread reader = new Thread(() -> outcome.putAll(outcome(held, file, false)), "hung");
    reader.setDaemon(true);
    reader.start();
    Awaiting.until("a reader that waits", () -> waits(reader) || !reader.isAlive());
    reader.interrupt();
    Awaiting.until("the end of the interrupted reader", () -> !reader.isAlive());
    held.close();
    return outcome;
  }

  private static boolean waits(Thread thread) {
    StackTraceElement[] stack = thread.getStackTrace();
    return thread.getState() != Thread.State.RUNNABLE
        || stack.length > 0 && stack[0].isNativeMethod();
  }
}
