// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.select;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import io.vread.Errno;
import io.vread.FakeClock;
import io.vread.FakeDaemon;
import io.vread.Protection;
import io.vread.Settings;
import io.vread.hdfs.VreadReplicaAccessorBuilder;
import io.vread.hdfs.locations.BlockKey;
import io.vread.hdfs.locations.FileSystemContext;
import io.vread.hdfs.metrics.Statistics;
import io.vread.hdfs.read.Backend;
import io.vread.hdfs.read.BlockRead;
import io.vread.hdfs.read.Client;
import io.vread.hdfs.read.FakeBackend;
import io.vread.hdfs.read.FakeStockReader;
import io.vread.hdfs.read.Reads;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.LongSupplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.ReplicaAccessor;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;
import org.junit.Test;

/** What a {@link PathProbe} measures, and what the builder does with the winner. */
public class PathProbeTest {
  private static final int LENGTH = 1_000_000;
  private static final BlockKey BLOCK = new BlockKey("nn", "BP-1", 1, 1001);

  private final FakeClock clock = new FakeClock();
  private final FakeBackend backend = new FakeBackend();
  private final Statistics statistics = new Statistics();
  private final Configuration conf = new Configuration(false);
  private final Client client =
      new Client(Settings.of(conf), backend, new FakeDaemon(clock), clock, 30_000, statistics);
  private final PathSelector selector = new PathSelector("BP-1", clock, PathSelector.Way.VREAD);

  private long nanos = 1;
  private long vreadNanos = 1000;
  private long stockNanos = 1000;
  private LongSupplier stockTime = () -> stockNanos;
  private IOException stockFailure;
  private int openStock;
  private boolean openedStock; // and not read yet
  private final List<Long> stockEnds = new ArrayList<>();
  private final List<Long> stockReads = new ArrayList<>();
  private boolean opens;
  private final FileSystemContext context = Reads.context(clock);
  private Executor executor = Runnable::run;
  private final PathProbe probe = new PathProbe(task -> executor.execute(task), () -> nanos);

  public PathProbeTest() {
    backend.blocks.put(BLOCK, new FakeBackend.Block(LENGTH));
    backend.duringRead = () -> nanos += vreadNanos;
  }

  /** Reads all that is asked for at once. Its bytes are thrown away, so it has none. */
  private final class FakeStock extends FakeStockReader {
    FakeStock() {
      super(null, 0);
      openStock++;
    }

    @Override
    public void restart(long end) {
      stockEnds.add(end);
      openedStock = true;
    }

    @Override
    public int read(long position, byte[] dst, int offset, int length) throws IOException {
      if (stockFailure != null) {
        throw stockFailure;
      }
      nanos += stockTime.getAsLong();
      openedStock = false;
      stockReads.add(position);
      return length;
    }

    @Override
    public void close() {
      openStock--;
    }
  }

  private BlockRead read(boolean isOwn) {
    return new BlockRead(
        context,
        BLOCK,
        0,
        null,
        Reads.location(BLOCK, isOwn ? Reads.HERE : Reads.ELSEWHERE, "DS-1"),
        end -> new FakeStock(),
        true,
        Protection.AUTHENTICATION);
  }

  private void probe(boolean isOwn) {
    int blocks = 0;
    do {
      clock.pass(60_000);
      assertTrue(blocks++ < 10_000);
    } while (!selector.nextBlock());
    probe.begin(selector, client, read(isOwn), opens);
    assertEquals("every reader is closed", 0, openStock);
  }

  private PathSelector.Way winner() {
    for (int i = 0; i < 4; i++) {
      probe(false);
    }
    return selector.way();
  }

  @Test
  public void theFasterWayWins() {
    stockNanos = 3000;
    assertEquals(PathSelector.Way.VREAD, winner());
    vreadNanos = 9000;
    assertEquals(PathSelector.Way.STOCK, winner());
    vreadNanos = 1000;
    assertEquals(PathSelector.Way.VREAD, winner());
    long seen = statistics.getBytes() + statistics.getFailures();
    assertEquals("nothing an application sees", 0, seen);
  }

  /** While all processors are busy, now and then a read waits long. */
  @Test
  public void oneReadThatWaitsDecidesNothing() {
    for (int i = 0; i < 10; i++) {
      waitIn(1 + i % 2);
      probe(false);
      assertEquals("pairs", PathProbe.PAIRS, backend.preads);
      assertEquals(PathSelector.Way.VREAD, selector.way());
    }
  }

  /** vreadd hardly gets a processor. A stock read that waits excuses nothing. */
  @Test
  public void twoReadsThatWaitDecide() {
    probe(false); // early probes are over
    stockReads.clear();
    stockTime = () -> stockReads.size() % PathProbe.PAIRS == 2 ? 50_000 : 1000;
    for (int i = 0; i < 3; i++) {
      assertEquals(PathSelector.Way.VREAD, selector.way());
      waitIn(1, 4);
      probe(false);
    }
    assertEquals(PathSelector.Way.STOCK, selector.way());
  }

  /** Of the next probe, vRead's reads of these numbers wait. */
  private void waitIn(Integer... numbers) {
    backend.preads = 0;
    backend.duringRead =
        () -> nanos += Arrays.asList(numbers).contains(backend.preads) ? 50_000 : 1000;
  }

  @Test
  public void onlyALosingWayIsMeasuredAgain() {
    probe(false);
    assertEquals(PathProbe.FIRST_PAIRS, backend.preads);
    vreadNanos = 9000;
    probe(false);
    assertEquals(PathProbe.FIRST_PAIRS + PathProbe.PAIRS, backend.preads);
    assertEquals(backend.preads, stockReads.size());
  }

  /** Ranges of the average size, beside each other, at changing places. */
  @Test
  public void rangesAreUsualAndChange() {
    statistics.opened();
    statistics.read(10_000);
    for (int i = 0; i < 20; i++) {
      probe(false);
    }
    for (int i = 0; i < stockReads.size(); i++) {
      assertEquals(stockReads.get(i) + 10_000, (long) stockEnds.get(i));
      assertTrue(stockEnds.get(i) <= LENGTH);
    }
    Set<Long> places = new HashSet<>(stockReads);
    assertTrue("places: " + places, places.size() > 10);
    assertEquals(20 * PathProbe.FIRST_PAIRS, backend.preads);
  }

  /** The beginning of a stock read counts only if there is one for each few bytes. */
  @Test
  public void longRangesAreReadInPiecesOnceTheyHaveBegun() {
    backend.blocks.put(BLOCK, new FakeBackend.Block(36 << 20));
    statistics.opened();
    statistics.read(30 << 20);
    stockTime = () -> openedStock ? 100_000 : 1000;
    backend.duringOpen = () -> nanos += 900_000;
    opens = true;
    probe(false);
    assertEquals("an early probe", PathProbe.FIRST_PAIRS, backend.preads);
    assertEquals(PathProbe.EARLY_BYTES, stockEnds.get(0) - stockReads.get(0));
    assertEquals(PathSelector.Way.VREAD, selector.way());
    backend.preads = 0;
    stockReads.clear();
    stockEnds.clear();
    probe(false);
    assertEquals("4 MiB each", PathProbe.FIRST_PAIRS * 4, backend.preads);
    assertEquals(16L << 20, stockEnds.get(0) - stockReads.get(0));
    vreadNanos = 2000;
    for (int i = 0; i < 3; i++) {
      probe(false);
    }
    assertEquals(PathSelector.Way.STOCK, selector.way());
  }

  /** Small files: each reader opens a block of its own, so that opening counts. */
  @Test
  public void openingCountsIfReadersOpen() {
    statistics.opened();
    statistics.read(4096);
    stockNanos = 5000;
    backend.duringOpen = () -> nanos += 9000;
    assertEquals("open already", PathSelector.Way.VREAD, winner());
    opens = true;
    assertEquals(PathSelector.Way.STOCK, winner());
    opens = false;
    assertEquals(1, backend.openFiles());
  }

  @Test
  public void failuresAreNoMeasurements() {
    vreadNanos = 9000;
    stockFailure = new IOException("no datanode");
    assertEquals(PathSelector.Way.VREAD, winner());
    stockFailure = null;
    executor =
        task -> {
          throw new RejectedExecutionException("another probe is running");
        };
    assertEquals(PathSelector.Way.VREAD, winner());
    executor = Runnable::run;
    for (int i = 0; i < 4; i++) {
      backend.readErrnos.add(Errno.EIO);
    }
    assertEquals(PathSelector.Way.VREAD, winner());
    assertEquals(PathSelector.Way.STOCK, winner());
    assertEquals("no reader failed", 0, statistics.getFailures());
  }

  /** A datanode may still be writing its end. */
  @Test
  public void aBlockUnderConstructionIsNotMeasured() {
    backend.blocks.get(BLOCK).flags = 0;
    vreadNanos = 9000;
    assertEquals(PathSelector.Way.VREAD, winner());
    assertEquals(0, backend.preads + stockReads.size());
  }

  /** vRead would read a block of this machine from another host: there is nothing to compare. */
  @Test
  public void anotherHostIsNoAlternativeToShortCircuit() {
    backend.blocks.get(BLOCK).flags |= Backend.FLAG_REMOTE;
    vreadNanos = 9000;
    for (int i = 0; i < 4; i++) {
      probe(true);
    }
    assertEquals(PathSelector.Way.VREAD, selector.way());
    assertEquals(0, backend.preads + stockReads.size());
  }

  /** A datanode of this machine is an alternative if the client does not read by short-circuit. */
  @Test
  public void aBlockOfThisMachineIsComparedWithTcp() {
    backend.blocks.get(BLOCK).flags |= Backend.FLAG_REMOTE;
    vreadNanos = 9000;
    BlockRead read =
        new BlockRead(
            context,
            BLOCK,
            0,
            null,
            Reads.location(BLOCK, Reads.HERE, "DS-1"),
            end -> new FakeStock(),
            false,
            Protection.AUTHENTICATION);
    assertTrue(selector.suspected());
    probe.begin(selector, client, read, false);
    assertEquals(PathSelector.Way.STOCK, selector.way());
  }

  // ---- the builder ------------------------------------------------------------------------------

  private ReplicaAccessor build(Configuration of, String address, BlockKey block) {
    LocatedBlocks answer = Reads.answer(Reads.located(block, address, "DS-1"));
    context.learn(Reads.FILE, answer);
    VreadReplicaAccessorBuilder builder = new VreadReplicaAccessorBuilder();
    builder
        .setFileName(Reads.FILE)
        .setBlock(block.id(), block.pool())
        .setGenerationStamp(block.generationStamp())
        .setVisibleLength(LENGTH)
        .setAllowShortCircuitReads(true)
        .setConfiguration(of);
    ReplicaAccessor built = builder.build(Settings.of(of), context, client, true, probe);
    assertEquals(1, answer.locatedBlockCount()); // is known as long as somebody has it
    return built;
  }

  private ReplicaAccessor build(Configuration of) {
    return build(of, Reads.ELSEWHERE, BLOCK);
  }

  private void lose(PathSelector of) {
    PathSelector.Way way = of.way();
    boolean vread = way == PathSelector.Way.VREAD;
    for (int i = 0; i < 10_000 && of.way() == way; i++) {
      clock.pass(60_000);
      if (of.nextBlock()) {
        of.measured(vread ? 9000 : 1000, vread ? 1000 : 9000);
      }
    }
    assertNotEquals(way, of.way());
  }

  @Test
  public void whatVreadIsSlowerAtIsLeftToTheStockClient() {
    assertNotNull(build(conf));
    lose(client.selectors().known(BLOCK));
    int opens = backend.opens;
    assertNull(build(conf));
    assertEquals((Long) 1L, statistics.getFallbackReasons().get("slower"));
    assertEquals(opens, backend.opens);
    Configuration off = new Configuration(false);
    off.set(Settings.COMPETE, "false");
    assertNotNull("it does not compete", build(off));
    lose(client.selectors().known(BLOCK));
    assertNotNull(build(conf));
  }

  /** Blocks of other hosts may be slower than by TCP while those of this host are faster. */
  @Test
  public void placesAreToldApart() {
    byte[][] none = {};
    byte[][] one = {{'D'}};
    PathSelectors selectors = client.selectors();
    PathSelector here = selectors.of(BLOCK, false, none);
    BlockKey two = new BlockKey("nn", "BP-1", 2, 1001);
    assertEquals(here, selectors.of(two, false, none));
    assertEquals(here, selectors.known(two));
    lose(selectors.of(two, true, none));
    assertEquals(PathSelector.Way.STOCK, selectors.known(two).way());
    assertEquals(PathSelector.Way.VREAD, here.way());
    assertEquals(PathSelector.Way.VREAD, selectors.of(two, true, one).way());
    PathSelector other = selectors.of(new BlockKey("nn", "BP-2", 2, 1), true, none);
    assertEquals(PathSelector.Way.VREAD, other.way());
  }

  @Test
  public void aBlockOfThisMachineIsReadByVreadOnlyIfThatIsFasterAndNear() {
    assertNull(build(conf, Reads.HERE, BLOCK));
    lose(client.selectors().ofOwn(BLOCK));
    assertNotNull(build(conf, Reads.HERE, BLOCK));
    BlockKey far = new BlockKey("nn", "BP-1", BLOCK.id(), 1002);
    FakeBackend.Block remote = new FakeBackend.Block(LENGTH);
    remote.flags |= Backend.FLAG_REMOTE;
    backend.blocks.put(far, remote);
    assertNull(build(conf, Reads.HERE, far));
    assertEquals((Long) 2L, statistics.getFallbackReasons().get("short-circuit"));
  }

  @Test
  public void withoutLocationsTheStockClientReads() {
    VreadReplicaAccessorBuilder builder = new VreadReplicaAccessorBuilder();
    builder
        .setFileName(Reads.FILE)
        .setBlock(BLOCK.id(), BLOCK.pool())
        .setGenerationStamp(BLOCK.generationStamp())
        .setVisibleLength(LENGTH)
        .setConfiguration(conf);
    assertNull(builder.build(Settings.of(conf), context, client, false, probe));
    assertEquals((Long) 1L, statistics.getFallbackReasons().get("no-locations"));
    assertEquals(0, backend.opens);
  }
}
