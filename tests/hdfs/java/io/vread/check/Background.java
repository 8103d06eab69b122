// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.hdfs.client.HdfsDataInputStream;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;

/** Readers that run while tests break things, and streams that tests hold open meanwhile. */
final class Background {
  private static final int PREADS = 50;

  private final List<Thread> threads = new ArrayList<>();
  private final List<String> errors = Collections.synchronizedList(new ArrayList<>());
  private final Map<String, FSDataInputStream> held = new LinkedHashMap<>();
  private final AtomicBoolean ending = new AtomicBoolean();
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicLong rounds = new AtomicLong();

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("readers-start", (context, args) -> context.background.start(context, args));
    scenarios.put("readers-progress", (context, args) -> context.background.progress(args));
    scenarios.put("readers-stop", (context, args) -> context.background.stop());
    scenarios.put("hold", (context, args) -> context.background.hold(context, args));
    scenarios.put("expire-held", (context, args) -> context.background.expireHeld(context, args));
    scenarios.put("use-held", (context, args) -> context.background.useHeld(context, args));
  }

  /** Starts readers, which repeat until stop(). Half read sequentially, half by position. */
  private Map<String, Object> start(Context context, Args args) throws Exception {
    Content file = context.file(args);
    for (int number = 0; number < args.number("readers", 8); number++) {
      Ways.Way way = number % 2 == 0 ? sequential() : positioned();
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

  private Ways.Way sequential() {
    return (in, file, random) -> {
      byte[] buffer = new byte[16 << 10];
      long position = 0;
      while (position < file.bytes.length) {
        int got = in.read(buffer);
        file.check(position, buffer, 0, got);
        position += got;
      }
      return position;
    };
  }

  private Ways.Way positioned() {
    return (in, file, random) -> {
      byte[] buffer = new byte[16 << 10];
      for (int i = 0; i < PREADS; i++) {
        int at = random.nextInt(file.bytes.length - buffer.length);
        in.readFully(at, buffer);
        file.check(at, buffer, 0, buffer.length);
      }
      return PREADS * buffer.length;
    };
  }

  /** Waits until the readers have done "rounds" more rounds, or one of them has failed. */
  private Map<String, Object> progress(Args args) throws Exception {
    long wanted = rounds.get() + args.number("rounds", threads.size());
    Awaiting.until(wanted + " rounds", () -> rounds.get() >= wanted || !errors.isEmpty());
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
    threads.clear();
    errors.clear();
    ending.set(false);
    return result;
  }

  /** Opens a file, reads its first bytes, and keeps the stream open under "name". */
  private Map<String, Object> hold(Context context, Args args) throws Exception {
    Content file = context.file(args);
    FSDataInputStream in = context.client(args.text("by", "vread")).open(file.path);
    byte[] some = new byte[1000];
    in.readFully(some);
    file.check(0, some, 0, some.length);
    held.put(args.text("name"), in);
    return Map.of("bytes", some.length);
  }

  /** Gives the stream "name" expired tokens, which count when the stream next opens a block. */
  private Map<String, Object> expireHeld(Context context, Args args) throws Exception {
    List<LocatedBlock> blocks = blocks(held.get(args.text("name")));
    Expired.put(context.stockConf, blocks);
    return Map.of("valid", Expired.valid(blocks));
  }

  private static List<LocatedBlock> blocks(FSDataInputStream in) throws IOException {
    return ((HdfsDataInputStream) in).getAllBlocks();
  }

  /** Reads on in a stream of hold() and closes it. "valid": its valid tokens at the end. */
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
      return Map.of("bytes", rest.length + again.length, "valid", Expired.valid(blocks(in)));
    }
  }
}
