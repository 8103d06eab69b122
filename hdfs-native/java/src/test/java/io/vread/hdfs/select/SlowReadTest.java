// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.select;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import io.vread.FakeClock;
import io.vread.FakeDaemon;
import io.vread.Settings;
import io.vread.hdfs.locations.BlockKey;
import io.vread.hdfs.metrics.Statistics;
import io.vread.hdfs.read.BlockRead;
import io.vread.hdfs.read.Client;
import io.vread.hdfs.read.FakeBackend;
import io.vread.hdfs.read.FakeStockReader;
import io.vread.hdfs.read.Reads;
import io.vread.hdfs.read.Replica;
import io.vread.hdfs.read.VreadReplicaAccessor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.junit.Test;

/**
 * Readers of a slow disk, who may leave vRead in the middle of a block ({@link SlowReadDetector}).
 */
public class SlowReadTest {
  private static final int LENGTH = 8 << 20;
  private static final int PIECE = 64 << 10;
  private static final int SMALL = 1000; // is served from the reader's buffer
  private static final BlockKey BLOCK = new BlockKey("nn", "BP-1", 1, 1001);

  private final FakeClock clock = new FakeClock();
  private final FakeBackend backend = new FakeBackend();
  private final FakeBackend.Block block = new FakeBackend.Block(LENGTH);
  private final Statistics statistics = new Statistics();
  private final Configuration conf = new Configuration(false);
  private final Client client =
      new Client(Settings.of(conf), backend, new FakeDaemon(clock), clock, 30_000, statistics);

  private long vreadMs = 10;
  private long stockMs = 1;
  private final List<Integer> stockLengths = new ArrayList<>();
  private final PathProbe probe = new PathProbe(Runnable::run, clock::now);

  public SlowReadTest() {
    backend.blocks.put(BLOCK, block);
    backend.duringRead = () -> clock.pass(vreadMs);
  }

  private final class FakeStock extends FakeStockReader {
    FakeStock() {
      super(block, Integer.MAX_VALUE);
    }

    @Override
    public int read(long position, byte[] dst, int offset, int length) throws IOException {
      clock.pass(stockMs);
      stockLengths.add(length);
      return super.read(position, dst, offset, length);
    }
  }

  private VreadReplicaAccessor reader() {
    BlockRead read = Reads.of(BLOCK, LENGTH, null, end -> new FakeStock());
    Replica replica = client.open(read).replica;
    PathSelector selector = client.selectors().of(BLOCK, false, read.storages());
    return new VreadReplicaAccessor(client, read, replica, client.detector(selector, probe, read));
  }

  private PathSelector.Way way() {
    PathSelector selector = client.selectors().known(BLOCK);
    return selector == null ? PathSelector.Way.VREAD : selector.way();
  }

  /** Reads to the end. All bytes must be right. */
  private int readAll(VreadReplicaAccessor reader) throws IOException {
    return readAll(reader, PIECE);
  }

  private int readAll(VreadReplicaAccessor reader, int piece) throws IOException {
    byte[] dst = new byte[piece];
    int position = 0;
    while (position < LENGTH) {
      int count = reader.read(position, dst, 0, Math.min(piece, LENGTH - position));
      byte[] expected = Arrays.copyOfRange(block.content, position, position + count);
      assertArrayEquals(expected, Arrays.copyOf(dst, count));
      position += count;
    }
    return position;
  }

  /** The stock client's own reader reads the rest, and the stock client sees no failure. */
  @Test
  public void aSlowReaderLeavesTheRestToStock() throws IOException {
    VreadReplicaAccessor reader = reader();
    assertEquals(LENGTH, readAll(reader));
    assertSame(PathSelector.Way.STOCK, way());
    assertEquals("no failure of vRead", 0, statistics.getFailures());
    assertTrue("by vRead " + statistics.getBytes(), statistics.getBytes() <= 12 * PIECE);
    reader.close();
    int rest = LENGTH - (int) statistics.getBytes();
    int pairs = PathProbe.PAIRS;
    assertEquals(
        "short pieces, because a reader waits",
        pairs * (256 << 10) + rest,
        sum(stockLengths));
  }

  private static int sum(List<Integer> numbers) {
    return numbers.stream().mapToInt(Integer::intValue).sum();
  }

  /** Both wait for the same disk: vRead stays, and the probes become rarer. */
  @Test
  public void aSlowReaderStaysIfStockIsNoFaster() throws IOException {
    stockMs = 10;
    for (int i = 0; i < 50; i++) {
      VreadReplicaAccessor reader = reader();
      assertEquals(LENGTH, readAll(reader));
      reader.close();
    }
    assertSame(PathSelector.Way.VREAD, way());
    int probes = stockLengths.size() / PathProbe.FIRST_PAIRS;
    assertTrue("probes: " + probes, probes > 1);
    assertTrue("probes: " + probes, probes <= 8);
  }

  @Test
  public void aFastReaderAsksForNoDuel() throws IOException {
    vreadMs = 1; // 64 KiB: 65 MB/s
    VreadReplicaAccessor reader = reader();
    assertEquals(LENGTH, readAll(reader));
    assertEquals(0, stockLengths.size());
    reader.close();
  }

  /** vRead keeps up with one stream, and Hadoop's own way is faster still. */
  @Test
  public void readersThatAreNotSlowFindAFasterWay() throws IOException {
    vreadMs = 1;
    stockMs = 0;
    int readers = 0;
    while (way() == PathSelector.Way.VREAD) {
      VreadReplicaAccessor reader = reader();
      assertEquals(LENGTH, readAll(reader));
      reader.close();
      assertTrue("readers: " + ++readers, readers <= 4);
    }
    int rest = readers * LENGTH - (int) statistics.getBytes();
    assertTrue("pieces are " + stockLengths, stockLengths.contains(PathProbe.EARLY_BYTES - 1024));
    assertTrue("the rest is stock's: " + rest, rest > 0);
  }

  /** One call of the backend serves many of them, so that each has few bytes of it. */
  @Test
  public void smallReadsOfAFastDiskAskForNoDuel() throws IOException {
    VreadReplicaAccessor reader = reader();
    // 2 ms for 128 KiB are 65 MB/s.  The buffer grows to that size by its first four fills.
    backend.duringRead = () -> clock.pass(backend.reads > 4 ? 2 : 0);
    assertEquals(LENGTH, readAll(reader, SMALL));
    assertTrue("reads: " + backend.reads, backend.reads > SlowReadDetector.WINDOW_MS / 2);
    assertEquals(0, stockLengths.size());
    reader.close();
  }

  /** What the buffer has when the detector is lost was verified, and is not read again by stock. */
  @Test
  public void aSlowReaderGivesWhatItHas() throws IOException {
    VreadReplicaAccessor reader = reader();
    assertEquals(LENGTH, readAll(reader, SMALL));
    assertSame(PathSelector.Way.STOCK, way());
    long end = statistics.getBytes();
    int growing = (8 + 16 + 32 + 64) << 10; // the first fills of the buffer
    assertTrue("left at " + end, end > growing && end < LENGTH);
    assertEquals("left within a fill, at " + end, 0, (end - growing) % (128 << 10));
    reader.close();
  }

  /** Another reader has lost the detector: this one goes on if little is left of its block. */
  @Test
  public void theEndOfABlockIsReadByVread() throws IOException {
    vreadMs = 0;
    VreadReplicaAccessor reader = reader();
    byte[] dst = new byte[PIECE];
    PathSelector selector = client.selectors().known(BLOCK);
    for (int position = 0; position < LENGTH; position += PIECE) {
      if (position == LENGTH - SlowReadDetector.LEAST_REST) {
        assertTrue(selector.suspected());
        for (int i = 0; i < 3; i++) {
          selector.measured(9, 1);
        }
        assertSame(PathSelector.Way.STOCK, way());
      }
      assertEquals(PIECE, reader.read(position, dst, 0, PIECE));
    }
    reader.close();
  }
}
