// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.select;

import io.vread.BackgroundThread;
import io.vread.hdfs.read.BlockRead;
import io.vread.hdfs.read.Client;
import io.vread.hdfs.read.Replica;
import io.vread.hdfs.read.StockReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Measures for a {@link PathSelector} how long vRead and the stock client take for equally many
 * bytes of a block.
 *
 * <p>A probe runs in a thread of its own and throws its bytes away. No application waits for it,
 * and none gets its bytes or its failures. One probe of the process runs at a time, and one more
 * may wait: a datanode that hangs keeps one thread.
 *
 * <p>A probe is two pairs of reads: vRead is the first to read in one, and the stock client in the
 * other. If the way in use loses, four more pairs follow, and the sums of all decide, each without
 * its longest read: by chance a read may wait ten times as long as it takes, while all processors
 * are busy. The median would hide that a way is slow in two reads of five.
 *
 * <p>The two ways read neighbouring ranges, not the same one: the first to read a range would warm
 * caches for the second. The ranges change from pair to pair. The time of a read begins before the
 * block is opened, by the stock client in any case, by vRead if the reader had to open it, too.
 * Only for the largest ranges, of which a reader reads several, the opening does not count: stock
 * reads have begun when their time begins. These ranges are larger than what a socket holds, so the
 * bytes that have come by then do not decide.
 */
public final class PathProbe {
  private static final Logger LOG = LoggerFactory.getLogger(PathProbe.class);

  private static final int LEAST_BYTES = 4 << 10;
  private static final int MOST_BYTES = 16 << 20;
  private static final int URGENT_BYTES = 256 << 10; // a reader waits, and vRead is slow
  static final int EARLY_BYTES = 4 << 20; // the program may read little
  private static final int BUFFER_BYTES = 4 << 20;
  private static final int BEGINNING_BYTES = 1 << 10;
  static final int FIRST_PAIRS = 2;
  static final int PAIRS = 6;

  public static final PathProbe OF_PROCESS =
      new PathProbe(BackgroundThread.pool("vread-probe", 1, 1), new SystemNanos());

  private static final class SystemNanos implements LongSupplier {
    @Override
    public long getAsLong() {
      return System.nanoTime();
    }
  }

  private final Executor executor;
  private final LongSupplier nanos;
  private final AtomicLong number = new AtomicLong();

  PathProbe(Executor executor, LongSupplier nanos) {
    this.executor = executor;
    this.nanos = nanos;
  }

  /**
   * Begins a probe, and tells the selector how it ended. opens: true if the reader had to open the
   * replica, so that opening it counts for vRead, too.
   */
  public void begin(PathSelector selector, Client client, BlockRead read, boolean opens) {
    try {
      executor.execute(() -> hold(selector, client, read, opens));
    } catch (RuntimeException e) { // two probes are under way
      selector.notMeasured();
      client.statistics().compared(false);
    }
  }

  private void hold(PathSelector selector, Client client, BlockRead read, boolean opens) {
    boolean measured = false;
    Replica replica = null;
    try {
      replica = read.canOpenStock() ? client.open(read).replica : null;
      // another host is no alternative to short-circuit reads
      if (replica != null
          && replica.finalised()
          && !(read.isShortCircuit() && replica.remote())) {
        measured = measure(selector, client, read, replica, opens);
      }
    } catch (IOException | RuntimeException e) {
      LOG.debug("vread: {}: the ways to read it could not be compared", read, e);
    } finally {
      if (!measured) {
        selector.notMeasured();
      }
      client.statistics().compared(measured);
      if (replica != null) {
        replica.release();
      }
    }
  }

  /** False: the block is too short. */
  private boolean measure(
      PathSelector selector, Client client, BlockRead read, Replica replica, boolean opens)
      throws IOException {
    boolean urgent = selector.urgent();
    int most = urgent ? URGENT_BYTES : selector.early() ? EARLY_BYTES : MOST_BYTES;
    long usual = Math.min(usualBytes(client), replica.length() / 2);
    int count = (int) Math.min(usual, most);
    if (count == 0) {
      return false;
    }
    boolean isPart = !urgent && count == most; // a reader reads more than a range
    try (StockReader reader = read.openStock(replica.length())) {
      Client opener = opens && !isPart ? client : null;
      Pairs pairs = new Pairs(opener, read, replica, reader, count, isPart);
      pairs.read(0, FIRST_PAIRS);
      long vread = sum(pairs.vread);
      long stock = sum(pairs.stock);
      if (selector.isLost(vread, stock)) {
        pairs.read(FIRST_PAIRS, PAIRS);
        vread = sum(pairs.vread) - longest(pairs.vread);
        stock = sum(pairs.stock) - longest(pairs.stock);
      }
      LOG.debug("vread: {}: {} bytes: {} ns, by stock {} ns", read, count, vread, stock);
      selector.measured(vread, stock);
    }
    return true;
  }

  /** Reads of a block by both ways, and the nanoseconds of each. */
  private final class Pairs {
    final long[] vread = new long[PAIRS];
    final long[] stock = new long[PAIRS];
    private final Client opener; // null: the replica is open
    private final BlockRead read;
    private final Replica replica;
    private final StockReader reader;
    private final int count; // of bytes, in each read
    private final boolean hasBegun; // when the time of a stock read begins
    private final byte[] dst;

    Pairs(
        Client opener,
        BlockRead read,
        Replica replica,
        StockReader reader,
        int count,
        boolean hasBegun) {
      this.opener = opener;
      this.read = read;
      this.replica = replica;
      this.reader = reader;
      this.count = count;
      this.hasBegun = hasBegun;
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
      if (opener == null) {
        readAll(replica, position);
      } else {
        Client.Opened opened = opener.openAnew(read);
        if (opened.replica == null) {
          throw new IOException("vread: " + opened.refusal);
        }
        try {
          readAll(opened.replica, position);
        } finally {
          opened.replica.release();
        }
      }
      return nanos.getAsLong() - begin;
    }

    private void readAll(Replica from, long position) throws IOException {
      int length;
      for (int done = 0; done < count; done += length) {
        length = Math.min(count - done, dst.length);
        int got = from.pread(position + done, ByteBuffer.wrap(dst), length);
        if (got != length) {
          throw new IOException("vread: " + got + " instead of " + length + " bytes");
        }
      }
    }

    private long byStock(long position) throws IOException {
      reader.restart(position + count);
      int begun = 0;
      long begin = nanos.getAsLong();
      if (hasBegun) {
        begun = reader.read(position, dst, 0, BEGINNING_BYTES);
        begin = nanos.getAsLong();
      }
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
  private static long usualBytes(Client client) {
    long average = client.statistics().bytesPerReader();
    return average == 0 ? MOST_BYTES : Math.max(LEAST_BYTES, Math.min(average, MOST_BYTES));
  }
}
