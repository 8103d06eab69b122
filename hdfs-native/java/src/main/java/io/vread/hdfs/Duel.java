// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.io.IOException;
import java.util.SplittableRandom;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Measures for a {@link Contest} how long vRead and the stock client take for equally many bytes of
 * a block. {@link VreadReplicaAccessorBuilder} begins a duel when the contest asks for one.
 *
 * <p>A duel runs in a thread of its own and throws its bytes away. No application waits for it, and
 * none gets its bytes or its failures. One duel of the process runs at a time, and one more may
 * wait: a datanode that hangs keeps one thread.
 *
 * <p>The two ways read neighbouring ranges, not the same one: the first to read a range would warm
 * caches for the second. Range and order change from duel to duel. What a way does once per block
 * is not measured for large ranges: stock reads have begun when their time begins.
 */
final class Duel {
  private static final Logger LOG = LoggerFactory.getLogger(Duel.class);

  private static final int LEAST_BYTES = 4 << 10;
  private static final int MOST_BYTES = 4 << 20;
  private static final int URGENT_BYTES = 256 << 10; // a reader waits, and vRead is slow
  private static final int LARGE_BYTES = 1 << 20;
  private static final int BEGINNING_BYTES = 1 << 10;

  static final Duel OF_PROCESS = new Duel(new UserThreads("vread-duel", 1, 1), new SystemNanos());

  private static final class SystemNanos implements LongSupplier {
    @Override
    public long getAsLong() {
      return System.nanoTime();
    }
  }

  /** The block of a duel. isOwn: it is on this machine; another host is no alternative then. */
  static final class Block {
    private final Client client;
    private final BlockKey key;
    private final Whereabouts where;
    private final StockReader.Opener stock;
    private final boolean isOwn;

    Block(
        Client client, BlockKey key, Whereabouts where, StockReader.Opener stock, boolean isOwn) {
      this.client = client;
      this.key = key;
      this.where = where;
      this.stock = stock;
      this.isOwn = isOwn;
    }
  }

  private final Executor executor;
  private final LongSupplier nanos;
  private final AtomicLong number = new AtomicLong();

  Duel(Executor executor, LongSupplier nanos) {
    this.executor = executor;
    this.nanos = nanos;
  }

  /** Begins a duel, and tells the contest how it ended. */
  void begin(Contest contest, Block block) {
    try {
      executor.execute(() -> hold(contest, block));
    } catch (RuntimeException e) { // two duels are under way
      contest.notMeasured();
      block.client.statistics().compared(false);
    }
  }

  private void hold(Contest contest, Block block) {
    while (holdOne(contest, block)) {
      // a reader waits for the result
    }
  }

  /** True: the contest wants another one at once. */
  private boolean holdOne(Contest contest, Block block) {
    boolean measured = false;
    boolean another = false;
    Replica replica = null;
    try {
      replica = block.client.open(block.key, 0, block.where).replica;
      if (replica != null && replica.finalised() && !(block.isOwn && replica.remote())) {
        long[] times = measure(contest, block, replica);
        if (times != null) {
          measured = true;
          another = contest.measured(times[0], times[1]);
        }
      }
    } catch (IOException | RuntimeException e) {
      LOG.debug("vread: {}: the ways to read it could not be compared", block.key, e);
    } finally {
      if (!measured) {
        contest.notMeasured();
      }
      block.client.statistics().compared(measured);
      if (replica != null) {
        replica.release();
      }
    }
    return another;
  }

  /** Returns the nanoseconds of vRead and of stock. Null: the block is too short. */
  private long[] measure(Contest contest, Block block, Replica replica) throws IOException {
    long most = contest.urgent() ? Math.min(usualBytes(block), URGENT_BYTES) : usualBytes(block);
    int count = (int) Math.min(most, replica.length() / 2);
    if (count == 0) {
      return null;
    }
    long turn = number.getAndIncrement();
    long pairs = replica.length() / (2L * count);
    long first = new SplittableRandom(turn).nextLong(pairs) * 2 * count;
    byte[] dst = new byte[count];
    long vread;
    long stock;
    if (turn % 2 == 0) {
      vread = byVread(replica, first, dst);
      stock = byStock(block.stock, first + count, dst);
    } else {
      stock = byStock(block.stock, first, dst);
      vread = byVread(replica, first + count, dst);
    }
    LOG.debug("vread: {}: {} bytes: {} ns, by stock {} ns", block.key, count, vread, stock);
    return new long[] {vread, stock};
  }

  /** As many bytes as a reader reads on average, within limits. */
  private static long usualBytes(Block block) {
    long average = block.client.statistics().bytesPerReader();
    return average == 0 ? LARGE_BYTES : Math.max(LEAST_BYTES, Math.min(average, MOST_BYTES));
  }

  private long byVread(Replica replica, long position, byte[] dst) throws IOException {
    long begin = nanos.getAsLong();
    int done = replica.pread(position, dst, 0, dst.length);
    if (done != dst.length) {
      throw new IOException("vread: " + done + " instead of " + dst.length + " bytes");
    }
    return nanos.getAsLong() - begin;
  }

  private long byStock(StockReader.Opener stock, long position, byte[] dst) throws IOException {
    try (StockReader reader = stock.open(position + dst.length)) {
      int begun = dst.length >= LARGE_BYTES ? reader.read(position, dst, 0, BEGINNING_BYTES) : 0;
      long begin = nanos.getAsLong();
      for (int done = begun; done < dst.length; ) {
        done += reader.read(position + done, dst, done, dst.length - done);
      }
      return nanos.getAsLong() - begin;
    }
  }
}
