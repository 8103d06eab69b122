// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.select;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.vread.FakeClock;
import java.util.Random;
import org.junit.Test;

/**
 * {@link PathSelector} with made-up rates: how much is read the slower way. Each pair of a probe
 * reads as much as a block each way, which is the worst case. Every result is up to twice too short
 * or too long.
 */
public class PathSelectorTest {
  private static final int BLOCKS = 10_000;

  private final FakeClock clock = new FakeClock();
  private final Random random = new Random(7);
  private PathSelector selector = new PathSelector("BP-1", clock, PathSelector.Way.VREAD);

  private long byVread;
  private long byStock;
  private int probes;

  private long noisy(int time) {
    return (long) (time * 1000 * Math.pow(2, random.nextDouble() * 2 - 1));
  }

  /** Reads blocks, one in 100 ms. */
  private void read(int blocks, int vreadTime, int stockTime) {
    for (int i = 0; i < blocks; i++) {
      clock.pass(100);
      if (selector.nextBlock()) {
        probes++;
        long vread = noisy(vreadTime);
        long stock = noisy(stockTime);
        int pairs = selector.isLost(vread, stock) ? PathProbe.PAIRS : PathProbe.FIRST_PAIRS;
        byVread += pairs;
        byStock += pairs;
        selector.measured(vread, stock);
      }
      if (selector.way() == PathSelector.Way.VREAD) {
        byVread++;
      } else {
        byStock++;
      }
    }
  }

  @Test
  public void aFasterVreadStaysOnAndMeasuringIsCheap() {
    read(BLOCKS, 1, 3);
    assertEquals(PathSelector.Way.VREAD, selector.way());
    assertTrue("it is measured again and again: " + probes, probes >= 8);
    assertTrue(byStock + " by stock", byStock <= BLOCKS * 4 / 1000);
  }

  @Test
  public void aShortProgramOnAGoodPathRunsOneProbe() {
    read(PathSelector.FIRST_BLOCKS, 1, 3);
    assertEquals(PathSelector.Way.VREAD, selector.way());
    assertEquals(1, probes);
    assertEquals(PathProbe.FIRST_PAIRS, byStock);
  }

  /** Every 100 ms a block, so nothing is measured in the first second. */
  @Test
  public void aShortProgramOnABadPathFindsOut() {
    for (int seed = 0; seed < 100; seed++) {
      random.setSeed(seed);
      selector = new PathSelector("BP-1", clock, PathSelector.Way.VREAD);
      read(48, 3, 1);
      assertEquals("with seed " + seed, PathSelector.Way.STOCK, selector.way());
    }
  }

  /** A program may read a handful of large blocks. */
  @Test
  public void aFewBlocksAreEnough() {
    clock.pass(1000);
    for (int i = 1; i < PathSelector.EARLY_BLOCKS; i++) {
      assertFalse("block " + i, selector.nextBlock());
    }
    assertTrue(selector.nextBlock() && selector.early());
    selector.measured(2100, 1000);
    assertEquals("by far slower", PathSelector.Way.STOCK, selector.way());
    assertFalse(selector.early());
  }

  /** One probe may be wrong, as all caches of a new process are cold. */
  @Test
  public void aLittleSlowerHasToBeSeenThreeTimes() {
    for (int block = 1, left = 3; left > 0; block++) {
      assertEquals(PathSelector.Way.VREAD, selector.way());
      clock.pass(1000);
      if (selector.nextBlock()) {
        selector.measured(1500, 1000);
        left--;
      }
      assertTrue("blocks: " + block, block < PathSelector.EARLY_BLOCKS + 3);
    }
    assertEquals(PathSelector.Way.STOCK, selector.way());
  }

  /** Once in use for a while, a way is not given up for one bad probe. */
  @Test
  public void onlyEarlyProbesDecideAlone() {
    awaitDuel();
    selector.measured(1000, 1000);
    awaitDuel();
    selector.measured(9000, 1000);
    assertEquals(PathSelector.Way.VREAD, selector.way());
  }

  /** One large block takes long enough to find out within it; a fast path pays nothing. */
  @Test
  public void readersThatWaitedAskOnce() {
    assertFalse(selector.waited(PathSelector.EARLY_WAIT_MS - 1));
    assertTrue(selector.waited(1));
    assertFalse("one probe at a time", selector.waited(1000) || selector.nextBlock());
    selector.measured(1000, 1000);
    assertFalse(selector.waited(100_000));
  }

  @Test
  public void anEarlyProbeThatFailsIsTriedAgainSoon() {
    awaitDuel();
    selector.notMeasured();
    assertTrue(selector.early());
    clock.pass(60_000);
    for (int i = 1; i < 2 * PathSelector.EARLY_BLOCKS; i++) {
      assertFalse("block " + i, selector.nextBlock());
    }
    assertTrue(selector.nextBlock());
  }

  @Test
  public void aSlowerVreadIsSoonOff() {
    read(BLOCKS, 3, 1);
    assertEquals(PathSelector.Way.STOCK, selector.way());
    assertTrue(byVread + " by vRead", byVread <= BLOCKS * 2 / 100);
  }

  @Test
  public void ratesThatChange() {
    read(BLOCKS, 1, 3);
    long before = byVread;
    read(BLOCKS, 3, 1);
    assertEquals(PathSelector.Way.STOCK, selector.way());
    assertTrue(byVread - before + " by vRead", byVread - before <= BLOCKS * 12 / 100);
    before = byStock;
    read(BLOCKS, 1, 3);
    assertEquals(PathSelector.Way.VREAD, selector.way());
    assertTrue(byStock - before + " by stock", byStock - before <= BLOCKS * 12 / 100);
  }

  /** Two ways that take about as long must not take turns. */
  @Test
  public void aTieChangesNothing() {
    for (int i = 0; i < BLOCKS; i++) {
      clock.pass(100);
      if (selector.nextBlock()) {
        selector.measured(1200, 1000);
      }
      assertEquals(PathSelector.Way.VREAD, selector.way());
    }
  }

  /** Two lost probes are no reason, and a probe that is not lost begins the count anew. */
  @Test
  public void onlyThreeLossesInARowCount() {
    awaitDuel();
    selector.measured(1000, 1000);
    for (int i = 1; i <= 30; i++) {
      awaitDuel();
      selector.measured(i % 3 == 0 ? 1000 : 9000, 1000);
      assertEquals(PathSelector.Way.VREAD, selector.way());
    }
    for (int i = 0; i < 3; i++) {
      assertEquals(PathSelector.Way.VREAD, selector.way());
      awaitDuel();
      selector.measured(9000, 1000);
    }
    assertEquals(PathSelector.Way.STOCK, selector.way());
  }

  private void awaitDuel() {
    int blocks = 0;
    do {
      clock.pass(60_000);
      assertTrue(blocks++ < BLOCKS);
    } while (!selector.nextBlock());
  }

  /** Only measurements count: a way that cannot be measured changes nothing, and costs little. */
  @Test
  public void withoutAMeasurementNothingChanges() {
    for (int i = 0; i < BLOCKS; i++) {
      clock.pass(100);
      if (selector.nextBlock()) {
        probes++;
        selector.notMeasured();
      }
      assertEquals(PathSelector.Way.VREAD, selector.way());
    }
    assertTrue("attempts " + probes, probes >= 8 && probes <= 20);
  }

  /** Thousands of small reads in a second must not be thousands of probes, nor two at a time. */
  @Test
  public void oneDuelAtATimeAndAtMostOneInASecond() {
    for (int i = 0; i < BLOCKS; i++) {
      assertFalse("the first second", selector.nextBlock());
    }
    clock.pass(1000);
    assertTrue(selector.nextBlock());
    clock.pass(100_000);
    for (int i = 0; i < BLOCKS; i++) {
      assertFalse("the probe has not ended", selector.nextBlock());
    }
    selector.measured(9000, 1000);
    for (int i = 0; i < BLOCKS; i++) {
      assertFalse("the next second", selector.nextBlock());
    }
  }

  /** A reader that waits need not wait for 64 blocks, nor for three probes. */
  @Test
  public void aSuspicionIsCheckedAtOnce() {
    assertTrue(selector.suspected());
    assertTrue(selector.urgent());
    assertFalse("one probe at a time", selector.suspected() || selector.nextBlock());
    selector.measured(2000, 1000);
    assertEquals(PathSelector.Way.STOCK, selector.way());
    clock.pass(100_000);
    assertFalse("stock reads are in use", selector.suspected());
  }

  /** A slow disk is as slow for the stock client: no probe for each of its readers. */
  @Test
  public void unfoundedSuspicionsAreCheckedMoreAndMoreRarely() {
    for (int i = 0; i < BLOCKS; i++) {
      clock.pass(100);
      if (selector.suspected()) {
        probes++;
        selector.measured(1000, 1000);
        assertFalse(selector.urgent());
      }
    }
    assertEquals(PathSelector.Way.VREAD, selector.way());
    assertTrue("probes " + probes, probes >= 8 && probes <= 25);
  }

  @Test
  public void shortCircuitIsInUseUntilVreadIsMeasuredToBeFaster() {
    selector = new PathSelector("own", clock, PathSelector.Way.STOCK);
    read(BLOCKS, 3, 1);
    assertEquals(PathSelector.Way.STOCK, selector.way());
    assertTrue(byVread + " by vRead", byVread <= BLOCKS * 4 / 1000);
    read(BLOCKS, 1, 3);
    assertEquals(PathSelector.Way.VREAD, selector.way());
  }
}
