// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.FSDataInputStream;

/** Readers that go on while the tests break things, and streams that are held open meanwhile. */
final class Background {
  private static final int PREADS = 50;

  private final List<Thread> threads = new ArrayList<>();
  private final List<String> errors = Collections.synchronizedList(new ArrayList<>());
  private final Map<String, FSDataInputStream> held = new LinkedHashMap<>();
  private long started;
  private final AtomicBoolean ending = new AtomicBoolean();
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicLong rounds = new AtomicLong();
  private final List<Map<String, Object>> slow = Collections.synchronizedList(new ArrayList<>());

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("readers-start", (context, args) -> context.background.start(context, args));
    scenarios.put("readers-progress", (context, args) -> context.background.progress(args));
    scenarios.put("readers-stop", (context, args) -> context.background.stop());
    scenarios.put("hold", (context, args) -> context.background.hold(context, args));
    scenarios.put("use-held", (context, args) -> context.background.useHeld(context, args));
  }

  /** Half of them read sequentially, half by positioned reads, over and over. */
  private Map<String, Object> start(Context context, Args args) throws Exception {
    Content file = context.file(args);
    long slowMs = args.number("slow_ms", 1000);
    started = System.nanoTime();
    for (int number = 0; number < args.number("readers", 8); number++) {
      Ways.Way way = number % 2 == 0 ? sequential(slowMs) : positioned(slowMs);
      Thread thread = new Thread(() -> read(context, file, way), "reader-" + number);
      thread.start();
      threads.add(thread);
    }
    return Map.of("readers", threads.size());
  }

  private void read(Context context, Content file, Ways.Way way) {
    while (!ending.get()) {
      try {
        bytes.addAndGet(Reading.once(context.vread, file, way));
        rounds.incrementAndGet();
      } catch (Throwable failure) {
        errors.add(failure.toString());
      }
    }
  }

  private Ways.Way sequential(long slowMs) {
    return (in, file, random) -> {
      byte[] buffer = new byte[16 << 10];
      long position = 0;
      while (position < file.bytes.length) {
        long begun = System.nanoTime();
        int got = in.read(buffer);
        took(begun, slowMs);
        file.check(position, buffer, 0, got);
        position += got;
      }
      return position;
    };
  }

  private Ways.Way positioned(long slowMs) {
    return (in, file, random) -> {
      byte[] buffer = new byte[16 << 10];
      for (int i = 0; i < PREADS; i++) {
        int at = random.nextInt(file.bytes.length - buffer.length);
        long begun = System.nanoTime();
        in.readFully(at, buffer);
        took(begun, slowMs);
        file.check(at, buffer, 0, buffer.length);
      }
      return PREADS * buffer.length;
    };
  }

  /** Single reads that took long are told, in milliseconds since the start. */
  private void took(long begun, long slowMs) {
    long took = (System.nanoTime() - begun) / 1_000_000;
    if (took >= slowMs) {
      long at = (begun - started) / 1_000_000;
      slow.add(Map.of("reader", Thread.currentThread().getName(), "at", at, "took", took));
    }
  }

  /** Returns when the readers have read the whole file that many times more. */
  private Map<String, Object> progress(Args args) throws Exception {
    long wanted = rounds.get() + args.number("rounds", threads.size());
    long end = System.currentTimeMillis() + 120_000;
    while (rounds.get() < wanted && errors.isEmpty()) {
      if (System.currentTimeMillis() > end) {
        throw new IllegalStateException("the readers do not get on: " + rounds.get() + " rounds");
      }
      Thread.sleep(5);
    }
    return Map.of("rounds", rounds.get(), "errors", new ArrayList<>(errors));
  }

  Map<String, Object> stop() {
    ending.set(true);
    for (Thread thread : threads) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException(e);
      }
    }
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("bytes", bytes.getAndSet(0));
    result.put("rounds", rounds.getAndSet(0));
    result.put("errors", new ArrayList<>(errors));
    result.put("slow", new ArrayList<>(slow));
    threads.clear();
    errors.clear();
    slow.clear();
    ending.set(false);
    return result;
  }

  /** Opens a file and reads a little of each of its blocks' readers to come. */
  private Map<String, Object> hold(Context context, Args args) throws Exception {
    Content file = context.file(args);
    FSDataInputStream in = context.client(args.text("by", "vread")).open(file.path);
    byte[] some = new byte[1000];
    in.readFully(some);
    file.check(0, some, 0, some.length);
    held.put(args.text("name"), in);
    return Map.of("bytes", some.length);
  }

  /** Reads on in a stream that hold() opened, and closes it. */
  private Map<String, Object> useHeld(Context context, Args args) throws Exception {
    Content file = context.file(args);
    try (FSDataInputStream in = held.remove(args.text("name"))) {
      long from = in.getPos();
      byte[] rest = new byte[(int) (file.bytes.length - from)];
      in.readFully(rest);
      file.check(from, rest, 0, rest.length);
      byte[] again = new byte[Math.min(5000, file.bytes.length)];
      in.readFully(0, again);
      file.check(0, again, 0, again.length);
      return Map.of("bytes", rest.length + again.length);
    }
  }
}
