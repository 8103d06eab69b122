// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check.torture;

import io.vread.check.Args;
import io.vread.check.Awaiting;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.fs.FsStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/**
 * Runs owners and readers on real HDFS, whose space is used again and again: see {@link Owner},
 * {@link Reader}, {@link Ledger}. Client and {@link Program} call run().
 *
 * <p>A torture ends when it has taken "seconds", has made "changes" changes of each kind, and has
 * written "turnover" times the cluster's capacity. All three are 0 by default. Further arguments:
 * readers, owners, files (of each owner), blocks (sizes, in KiB), largest (file, in KiB), fill
 * (percent of the cluster), seed, by (the client that reads: vread or stock). At the end all files
 * are read whole, by both clients.
 */
public final class Torture {
  private static final String FOLDER = "/torture";
  private static final long FORGET_MS = 500;

  /** Limit of the wait for the changes. Long, for slow emulated hosts: the caller has its own. */
  private static final long LIMIT_MS = 1_400_000;

  private final DistributedFileSystem stock;
  private final DistributedFileSystem vread;
  private final Args args;
  private final Ledger ledger = new Ledger();
  private final Counts counts = new Counts();
  private final AtomicBoolean ownersEnd = new AtomicBoolean();
  private final AtomicBoolean readersEnd = new AtomicBoolean();
  private final List<Reader> readers = new ArrayList<>();
  private final List<Thread> reading = new ArrayList<>();
  private final List<Thread> owning = new ArrayList<>();

  private Torture(DistributedFileSystem stock, DistributedFileSystem vread, Args args) {
    this.stock = stock;
    this.vread = vread;
    this.args = args;
  }

  /** Runs a torture and returns its counts. No file stays in HDFS. */
  public static Map<String, Object> run(
      DistributedFileSystem stock, DistributedFileSystem vread, Args args) throws Exception {
    return new Torture(stock, vread, args).run();
  }

  private Map<String, Object> run() throws Exception {
    FsStatus room = stock.getStatus();
    long capacity = room.getUsed() + room.getRemaining();
    startOwners(capacity);
    startReaders();
    ScheduledExecutorService forgetting = Executors.newSingleThreadScheduledExecutor();
    forgetting.scheduleWithFixedDelay(this::forget, FORGET_MS, FORGET_MS, TimeUnit.MILLISECONDS);
    Awaiting.within(1000 * args.number("seconds", 0), () -> false);
    Awaiting.until("as many changes as wanted", LIMIT_MS, () -> enough(capacity));
    forgetting.shutdown();
    join(owning, ownersEnd);
    join(reading, readersEnd);
    readAll();
    stock.delete(new Path(FOLDER), true);
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("capacity", capacity);
    result.putAll(counts.result());
    return result;
  }

  private void forget() {
    ledger.forget(readers.stream().mapToLong(Reader::oldest).min().orElseThrow());
  }

  private boolean enough(long capacity) {
    long wanted = args.number("changes", 0);
    return counts.get("written_bytes") >= capacity * args.number("turnover", 0)
        && Owner.CHANGES.stream().allMatch(change -> counts.get(change) >= wanted);
  }

  private void startOwners(long capacity) throws IOException {
    int count = (int) args.number("owners", 4);
    List<Long> blocks = new ArrayList<>();
    args.list("blocks").forEach(kib -> blocks.add(Long.parseLong(kib) << 10));
    long largestBlock = blocks.stream().mapToLong(Long::longValue).max().orElseThrow();
    long budget = capacity * args.number("fill", 80) / 100 / count;
    // HDFS reserves the full size for each block that is being written.
    long reserve = (count + 1) * largestBlock;
    Owner.Plan plan = new Owner.Plan(blocks, args.number("largest", 0) << 10, budget, reserve);
    long seed = args.number("seed", 1);
    for (int number = 0; number < count; number++) {
      String folder = FOLDER + "/" + number;
      stock.mkdirs(new Path(folder));
      int files = (int) args.number("files", 12);
      Owner owner =
          new Owner(stock, ledger, counts, plan, ownersEnd, folder, files, seed * 1000 + number);
      owning.add(started(owner, "owner-" + number));
    }
  }

  private void startReaders() {
    long seed = args.number("seed", 1);
    for (int number = 0; number < args.number("readers", 8); number++) {
      Reader reader = reader(readersEnd, seed * 1000 + 500 + number);
      readers.add(reader);
      reading.add(started(reader, "reader-" + number));
    }
  }

  private Reader reader(AtomicBoolean ending, long seed) {
    DistributedFileSystem by = args.text("by", "vread").equals("vread") ? vread : stock;
    return new Reader(by, stock, ledger, counts, ending, seed);
  }

  private static Thread started(Runnable what, String name) {
    Thread thread = new Thread(what, name);
    thread.start();
    return thread;
  }

  private static void join(List<Thread> threads, AtomicBoolean ending) throws InterruptedException {
    ending.set(true);
    for (Thread thread : threads) {
      thread.join();
    }
  }

  /** Reads all files by TCP, too: a difference from TCP would show that the ledger is wrong. */
  private void readAll() {
    AtomicBoolean never = new AtomicBoolean();
    for (String path : ledger.present()) {
      new Reader(stock, stock, ledger, counts, never, 0).readWhole(path);
      reader(never, 0).readWhole(path);
      counts.add("read_at_the_end");
    }
  }
}
