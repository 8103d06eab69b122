// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.vread.FakeClock;
import java.util.Random;
import org.junit.Test;

/**
 * {@link Contest} with made-up rates: how much is read the slower way. Each pair of a duel reads as
 * much as a block each way, which is the worst case. Every result is up to twice too short or too
 * long.
 */
public class ContestTest {
  private static final int BLOCKS = 10_000;

  private final FakeClock clock = new FakeClock();
  private final Random random = new Random(7);
  private Contest contest = new Contest("BP-1", clock, Contest.Way.VREAD);

  private long byVread;
  private long byStock;
  private int duels;

  private long noisy(int time) {
    return (long) (time * 1000 * Math.pow(2, random.nextDouble() * 2 - 1));
  }

  /** Reads blocks, one in 100 ms. */
  private void read(int blocks, int vreadTime, int stockTime) {
    for (int i = 0; i < blocks; i++) {
      clock.pass(100);
      if (contest.nextBlock()) {
        duels++;
        long vread = noisy(vreadTime);
        long stock = noisy(stockTime);
        int pairs = contest.isLost(vread, stock) ? Duel.PAIRS : Duel.FIRST_PAIRS;
        byVread += pairs;
        byStock += pairs;
        contest.measured(vread, stock);
      }
      if (contest.way() == Contest.Way.VREAD) {
        byVread++;
      } else {
        byStock++;
      }
    }
  }

  @Test
  public void aFasterVreadStaysOnAndMeasuringIsCheap() {
    read(BLOCKS, 1, 3);
    assertEquals(Contest.Way.VREAD, contest.way());
    assertTrue("it is measured again and again: " + duels, duels >= 8);
    assertTrue(byStock + " by stock", byStock <= BLOCKS * 4 / 1000);
  }

  @Test
  public void noShortProgramReadsByStock() {
    read(Contest.FIRST_BLOCKS - 1, 1, 3);
    assertEquals(0, duels);
  }

  @Test
  public void aSlowerVreadIsSoonOff() {
    read(BLOCKS, 3, 1);
    assertEquals(Contest.Way.STOCK, contest.way());
    assertTrue(byVread + " by vRead", byVread <= BLOCKS * 2 / 100);
  }

  @Test
  public void ratesThatChange() {
    read(BLOCKS, 1, 3);
    long before = byVread;
    read(BLOCKS, 3, 1);
    assertEquals(Contest.Way.STOCK, contest.way());
    assertTrue(byVread - before + " by vRead", byVread - before <= BLOCKS * 12 / 100);
    before = byStock;
    read(BLOCKS, 1, 3);
    assertEquals(Contest.Way.VREAD, contest.way());
    assertTrue(byStock - before + " by stock", byStock - before <= BLOCKS * 12 / 100);
  }

  /** Two ways that take about as long must not take turns. */
  @Test
  public void aTieChangesNothing() {
    for (int i = 0; i < BLOCKS; i++) {
      clock.pass(100);
      if (contest.nextBlock()) {
        contest.measured(1200, 1000);
      }
      assertEquals(Contest.Way.VREAD, contest.way());
    }
  }

  /** Two lost duels are no reason, and a duel that is not lost begins the count anew. */
  @Test
  public void onlyThreeLossesInARowCount() {
    for (int i = 1; i <= 30; i++) {
      awaitDuel();
      contest.measured(i % 3 == 0 ? 1000 : 9000, 1000);
      assertEquals(Contest.Way.VREAD, contest.way());
    }
    for (int i = 0; i < 3; i++) {
      assertEquals(Contest.Way.VREAD, contest.way());
      awaitDuel();
      contest.measured(9000, 1000);
    }
    assertEquals(Contest.Way.STOCK, contest.way());
  }

  private void awaitDuel() {
    int blocks = 0;
    do {
      clock.pass(60_000);
      assertTrue(blocks++ < BLOCKS);
    } while (!contest.nextBlock());
  }

  /** Only measurements count: a way that cannot be measured changes nothing, and costs little. */
  @Test
  public void withoutAMeasurementNothingChanges() {
    for (int i = 0; i < BLOCKS; i++) {
      clock.pass(100);
      if (contest.nextBlock()) {
        duels++;
        contest.notMeasured();
      }
      assertEquals(Contest.Way.VREAD, contest.way());
    }
    assertTrue("attempts " + duels, duels >= 8 && duels <= 20);
  }

  /** Thousands of small reads in a second must not be thousands of duels, nor two at a time. */
  @Test
  public void oneDuelAtATimeAndAtMostOneInASecond() {
    for (int i = 0; i < BLOCKS; i++) {
      assertFalse("the first second", contest.nextBlock());
    }
    clock.pass(1000);
    assertTrue(contest.nextBlock());
    clock.pass(100_000);
    for (int i = 0; i < BLOCKS; i++) {
      assertFalse("the duel has not ended", contest.nextBlock());
    }
    contest.measured(9000, 1000);
    for (int i = 0; i < BLOCKS; i++) {
      assertFalse("the next second", contest.nextBlock());
    }
  }

  /** A reader that waits need not wait for 64 blocks, nor for three duels. */
  @Test
  public void aSuspicionIsCheckedAtOnce() {
    assertTrue(contest.suspected());
    assertTrue(contest.urgent());
    assertFalse("one duel at a time", contest.suspected() || contest.nextBlock());
    contest.measured(2000, 1000);
    assertEquals(Contest.Way.STOCK, contest.way());
    clock.pass(100_000);
    assertFalse("stock reads are in use", contest.suspected());
  }

  /** A slow disk is as slow for the stock client: no duel for each of its readers. */
  @Test
  public void unfoundedSuspicionsAreCheckedMoreAndMoreRarely() {
    for (int i = 0; i < BLOCKS; i++) {
      clock.pass(100);
      if (contest.suspected()) {
        duels++;
        contest.measured(1000, 1000);
        assertFalse(contest.urgent());
      }
    }
    assertEquals(Contest.Way.VREAD, contest.way());
    assertTrue("duels " + duels, duels >= 8 && duels <= 25);
  }

  @Test
  public void shortCircuitIsInUseUntilVreadIsMeasuredToBeFaster() {
    contest = new Contest("own", clock, Contest.Way.STOCK);
    read(BLOCKS, 3, 1);
    assertEquals(Contest.Way.STOCK, contest.way());
    assertTrue(byVread + " by vRead", byVread <= BLOCKS * 4 / 1000);
    read(BLOCKS, 1, 3);
    assertEquals(Contest.Way.VREAD, contest.way());
  }
}
