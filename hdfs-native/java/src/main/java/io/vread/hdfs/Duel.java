// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.io.IOException;
import java.util.Arrays;
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
 * <p>A duel is two pairs of reads: vRead is the first to read in one, and the stock client in the
 * other. If the way in use loses, four more pairs follow, and the sums of all decide, each without
 * its longest read: by chance a read may wait ten times as long as it takes, while all processors
 * are busy. The median would hide that a way is slow in two reads of five.
 *
 * <p>The two ways read neighbouring ranges, not the same one: the first to read a range would warm
 * caches for the second. The ranges change from pair to pair. What a way does once per block is not
 * measured for the largest ranges: stock reads have begun when their time begins. These ranges are
 * larger than what a socket holds, so the bytes that have come by then do not decide.
 */
final class Duel {
  private static final Logger LOG = LoggerFactory.getLogger(Duel.class);

  private static final int LEAST_BYTES = 4 << 10;
  private static final int MOST_BYTES = 16 << 20;
  private static final int URGENT_BYTES = 256 << 10; // a reader waits, and vRead is slow
  private static final int BUFFER_BYTES = 4 << 20;
  private static final int BEGINNING_BYTES = 1 << 10;
  static final int FIRST_PAIRS = 2;
  static final int PAIRS = 6;

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
    boolean measured = false;
    Replica replica = null;
    try {
      replica = block.client.open(block.key, 0, block.where).replica;
      if (replica != null && replica.finalised() && !(block.isOwn && replica.remote())) {
        measured = measure(contest, block, replica);
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
  }

  /** False: the block is too short. */
  private boolean measure(Contest contest, Block block, Replica replica) throws IOException {
    long most = contest.urgent() ? Math.min(usualBytes(block), URGENT_BYTES) : usualBytes(block);
    int count = (int) Math.min(most, replica.length() / 2);
    if (count == 0) {
      return false;
    }
    try (StockReader reader = block.stock.open(replica.length())) {
      Pairs pairs = new Pairs(replica, reader, count);
      pairs.read(0, FIRST_PAIRS);
      long vread = sum(pairs.vread);
      long stock = sum(pairs.stock);
      if (contest.isLost(vread, stock)) {
        pairs.read(FIRST_PAIRS, PAIRS);
        vread = sum(pairs.vread) - longest(pairs.vread);
        stock = sum(pairs.stock) - longest(pairs.stock);
      }
      LOG.debug("vread: {}: {} bytes: {} ns, by stock {} ns", block.key, count, vread, stock);
      contest.measured(vread, stock);
    }
    return true;
  }

  /** Reads of a block by both ways, and the nanoseconds of each. */
  private final class Pairs {
    final long[] vread = new long[PAIRS];
    final long[] stock = new long[PAIRS];
    private final Replica replica;
    private final StockReader reader;
    private final int count; // of bytes, in each read
    private final byte[] dst;

    Pairs(Replica replica, StockReader reader, int count) {
      this.replica = replica;
      this.reader = reader;
      this.count = count;
      this.dst = new byte[Math.min(count, BUFFER_BYTES)];
    }

    void read(int first, int end) throws IOException {
      for (int i = first; i < end; i++) {
        long places = replica.length() / (2L * count);
        SplittableRandom random = new SplittableRandom(number.getAndIncrement());
        long at = random.nextLong(places) * 2 * count;
        if (i % 2 == 0) {
          vread[i] = byVread(at);
          stock[i] = byStock(at + count);
        } else {
          stock[i] = byStock(at);
          vread[i] = byVread(at + count);
        }
      }
    }

    private long byVread(long position) throws IOException {
      long begin = nanos.getAsLong();
      int length;
      for (int done = 0; done < count; done += length) {
        length = Math.min(count - done, dst.length);
        int got = replica.pread(position + done, dst, 0, length);
        if (got != length) {
          throw new IOException("vread: " + got + " instead of " + length + " bytes");
        }
      }
      return nanos.getAsLong() - begin;
    }

    private long byStock(long position) throws IOException {
      reader.restart(position + count);
      int begun = count == MOST_BYTES ? reader.read(position, dst, 0, BEGINNING_BYTES) : 0;
      long begin = nanos.getAsLong();
      for (int done = begun; done < count; ) {
        int length = Math.min(count - done, dst.length);
        done += reader.read(position + done, dst, 0, length);
      }
      return nanos.getAsLong() - begin;
    }
  }

  private static long sum(long[] times) {
    return Arrays.stream(times).sum();
  }

  private static long longest(long[] times) {
    return Arrays.stream(times).max().getAsLong();
  }

  /** As many bytes as a reader reads on average, within limits. */
  private static long usualBytes(Block block) {
    long average = block.client.statistics().bytesPerReader();
    return average == 0 ? MOST_BYTES : Math.max(LEAST_BYTES, Math.min(average, MOST_BYTES));
  }
}
