// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import io.vread.FakeClock;
import io.vread.Settings;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.ReplicaAccessor;
import org.junit.Test;

/** Readers of a slow disk, who may leave vRead in the middle of a block ({@link Race}). */
public class RaceTest {
  private static final int LENGTH = 8 << 20;
  private static final int PIECE = 64 << 10;
  private static final int SMALL = 1000; // is served from the reader's buffer
  private static final BlockKey BLOCK = new BlockKey("BP-1", 1, 1001);

  private final FakeClock clock = new FakeClock();
  private final FakeBackend backend = new FakeBackend();
  private final FakeBackend.Block block = new FakeBackend.Block(LENGTH);
  private final Statistics statistics = new Statistics();
  private final Configuration conf = new Configuration(false);
  private final Client client =
      new Client(Settings.of(conf), backend, new FakeDaemon(clock), clock, statistics);

  private long vreadMs = 10;
  private long stockMs = 1;
  private final List<Integer> stockLengths = new ArrayList<>();
  private final Duel duel = new Duel(Runnable::run, clock::now);

  public RaceTest() {
    backend.blocks.put(BLOCK, block);
    backend.duringRead = () -> clock.pass(vreadMs);
  }

  private final class FakeStock implements StockReader {
    @Override
    public int read(long position, byte[] dst, int offset, int length) {
      clock.pass(stockMs);
      stockLengths.add(length);
      System.arraycopy(block.content, (int) position, dst, offset, length);
      return length;
    }

    @Override
    public void restart(long end) {}

    @Override
    public boolean isShortCircuit() {
      return false;
    }

    @Override
    public int networkDistance() {
      return 4;
    }

    @Override
    public void close() {}
  }

  private VreadReplicaAccessor reader(StockReader.Opener afterFailure) {
    Whereabouts unknown = Whereabouts.of(null);
    Replica replica = client.open(BLOCK, LENGTH, unknown).replica;
    Contest contest = client.contests().of(BLOCK, false, new byte[0][]);
    Duel.Block compared = new Duel.Block(client, BLOCK, unknown, end -> new FakeStock(), false);
    Race race = client.race(contest, duel, compared);
    return new VreadReplicaAccessor(client, BLOCK, LENGTH, unknown, replica, afterFailure, race);
  }

  private Contest.Way way() {
    return client.contests().known(BLOCK).way();
  }

  /** Reads on until the end or a failure. Returns where. All bytes must be right. */
  private int readAll(VreadReplicaAccessor reader) throws IOException {
    return readAll(reader, PIECE);
  }

  private int readAll(VreadReplicaAccessor reader, int piece) throws IOException {
    byte[] dst = new byte[piece];
    int position = 0;
    while (position < LENGTH) {
      int count;
      try {
        count = reader.read(position, dst, 0, Math.min(piece, LENGTH - position));
      } catch (IOException e) {
        assertTrue(e.getMessage(), e.getMessage().contains("vRead is slower here"));
        return position;
      }
      byte[] expected = Arrays.copyOfRange(block.content, position, position + count);
      assertArrayEquals(expected, Arrays.copyOf(dst, count));
      position += count;
    }
    return position;
  }

  private ReplicaAccessor build() {
    VreadReplicaAccessorBuilder builder = new VreadReplicaAccessorBuilder();
    builder
        .setFileName("/a")
        .setBlock(BLOCK.id(), BLOCK.pool())
        .setGenerationStamp(BLOCK.generationStamp())
        .setVisibleLength(LENGTH)
        .setAllowShortCircuitReads(true)
        .setConfiguration(conf);
    return builder.build(Settings.of(conf), client, null, duel);
  }

  /** The stock client then asks for another reader of the rest, and gets none. */
  @Test
  public void aSlowReaderLeavesTheRestToTheStockClient() throws IOException {
    VreadReplicaAccessor reader = reader(null);
    int end = readAll(reader);
    assertTrue("left at " + end, end > 0 && end <= 12 * PIECE);
    assertSame(Contest.Way.STOCK, way());
    assertEquals("no failure of vRead", 0, statistics.failures());
    assertNull(build());
    assertEquals((Long) 1L, statistics.fallbackReasons().get("slower"));
    assertEquals(end, statistics.bytes());
    reader.close();
    int pairs = Duel.PAIRS;
    assertEquals("short pieces, because a reader waits", pairs * (256 << 10), sum(stockLengths));
  }

  private static int sum(List<Integer> numbers) {
    return numbers.stream().mapToInt(Integer::intValue).sum();
  }

  /** Its reader may not fail: the stock client would count the block as missing. */
  @Test
  public void aSlowReaderOfAStripedFileGoesOnByStock() throws IOException {
    VreadReplicaAccessor reader = reader(end -> new FakeStock());
    assertEquals(LENGTH, readAll(reader));
    assertSame(Contest.Way.STOCK, way());
    assertTrue("by vRead " + statistics.bytes(), statistics.bytes() <= 12 * PIECE);
    reader.close();
  }

  /** Both wait for the same disk: vRead stays, and the duels become rarer. */
  @Test
  public void aSlowReaderStaysIfStockIsNoFaster() throws IOException {
    stockMs = 10;
    for (int i = 0; i < 50; i++) {
      VreadReplicaAccessor reader = reader(null);
      assertEquals(LENGTH, readAll(reader));
      reader.close();
    }
    assertSame(Contest.Way.VREAD, way());
    int duels = stockLengths.size() / Duel.FIRST_PAIRS;
    assertTrue("duels: " + duels, duels > 1);
    assertTrue("duels: " + duels, duels <= 8);
  }

  @Test
  public void aFastReaderAsksForNoDuel() throws IOException {
    vreadMs = 1; // 64 KiB: 65 MB/s
    VreadReplicaAccessor reader = reader(null);
    assertEquals(LENGTH, readAll(reader));
    assertEquals(0, stockLengths.size());
    reader.close();
  }

  /** One call of the backend serves many of them, so that each has few bytes of it. */
  @Test
  public void smallReadsOfAFastDiskAskForNoDuel() throws IOException {
    VreadReplicaAccessor reader = reader(null);
    // 2 ms for 128 KiB are 65 MB/s.  The buffer grows to that size by its first four fills.
    backend.duringRead = () -> clock.pass(backend.reads > 4 ? 2 : 0);
    assertEquals(LENGTH, readAll(reader, SMALL));
    assertTrue("reads: " + backend.reads, backend.reads > Race.WINDOW_MS / 2);
    assertEquals(0, stockLengths.size());
    reader.close();
  }

  /** What the buffer has when the race is lost was verified, and is not read again by stock. */
  @Test
  public void aSlowReaderGivesWhatItHas() throws IOException {
    VreadReplicaAccessor reader = reader(null);
    int end = readAll(reader, SMALL);
    assertSame(Contest.Way.STOCK, way());
    assertEquals(end, statistics.bytes());
    int growing = (8 + 16 + 32 + 64) << 10; // the first fills of the buffer
    assertTrue("left at " + end, end > growing && end < LENGTH);
    assertEquals("left within a fill, at " + end, 0, (end - growing) % (128 << 10));
    reader.close();
  }

  /** Another reader has lost the race: this one goes on if little is left of its block. */
  @Test
  public void theEndOfABlockIsReadByVread() throws IOException {
    vreadMs = 0;
    VreadReplicaAccessor reader = reader(null);
    byte[] dst = new byte[PIECE];
    Contest contest = client.contests().known(BLOCK);
    for (int position = 0; position < LENGTH; position += PIECE) {
      if (position == LENGTH - Race.LEAST_REST) {
        assertTrue(contest.suspected());
        for (int i = 0; i < 3; i++) {
          contest.measured(9, 1);
        }
        assertSame(Contest.Way.STOCK, way());
      }
      assertEquals(PIECE, reader.read(position, dst, 0, PIECE));
    }
    reader.close();
  }
}
