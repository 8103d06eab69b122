// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import io.vread.FakeClock;
import io.vread.hdfs.locations.BlockKey;
import org.junit.Test;

/** The pauses of {@link Backoff} and {@link HoldOff}. */
public class BackoffTest {
  private static final BlockKey BLOCK = new BlockKey("nn", "BP-1", 7, 1001);

  private final FakeClock clock = new FakeClock();

  @Test
  public void doublesUpToTheLimit() {
    Backoff backoff = new Backoff(1000, 30_000);
    assertFalse(backoff.pausing(clock.now()));
    for (long expected : new long[] {1000, 2000, 4000, 8000, 16_000, 30_000, 30_000}) {
      assertEquals(expected, backoff.failed(clock.now()));
      assertTrue(backoff.pausing(clock.now()));
      clock.pass(expected - 1);
      assertTrue(backoff.pausing(clock.now()));
      clock.pass(1);
      assertFalse(backoff.pausing(clock.now()));
    }
  }

  @Test
  public void startsOverAfterATimeWithoutFailures() {
    Backoff backoff = new Backoff(1000, 30_000);
    backoff.failed(clock.now());
    clock.pass(1000);
    assertEquals(2000, backoff.failed(clock.now()));
    clock.pass(2000 + 2001);
    assertEquals(1000, backoff.failed(clock.now()));
  }

  @Test
  public void manyReadersOfOneFailureArePausedOnce() {
    Backoff backoff = new Backoff(1000, 30_000);
    for (int reader = 0; reader < 8; reader++) {
      assertEquals(1000, backoff.failed(clock.now()));
      clock.pass(10);
    }
    clock.pass(989);
    assertTrue(backoff.pausing(clock.now()));
    clock.pass(1);
    assertFalse(backoff.pausing(clock.now()));
  }

  @Test
  public void aBlockThatIsNotHereIsSoonAskedForAgain() {
    HoldOff holdOff = new HoldOff(clock, 1000, 30_000);
    assertNull(holdOff.reason(BLOCK));
    long held = 0;
    for (int i = 0; i < 12; i++) {
      holdOff.openFailed(BLOCK, "ENOENT");
      assertEquals("ENOENT", holdOff.reason(BLOCK));
      long start = clock.now();
      while (holdOff.reason(BLOCK) != null) {
        clock.pass(1);
      }
      held = clock.now() - start;
      assertTrue(i > 0 || held == 10);
    }
    assertEquals(1000, held);
    assertNull(holdOff.reason(new BlockKey("nn", "BP-1", 7, 1002)));
  }

  @Test
  public void aFailedReadHoldsLonger() {
    HoldOff holdOff = new HoldOff(clock, 1000, 30_000);
    holdOff.openFailed(BLOCK, "ENOENT");
    holdOff.readFailed(BLOCK, "EBADMSG");
    holdOff.openFailed(BLOCK, "ENOENT");
    clock.pass(999);
    assertEquals("EBADMSG", holdOff.reason(BLOCK));
    clock.pass(1);
    assertNull(holdOff.reason(BLOCK));
    holdOff.readFailed(BLOCK, "EBADMSG");
    clock.pass(1999);
    assertEquals("EBADMSG", holdOff.reason(BLOCK));
  }

  @Test
  public void holdsABoundedNumberOfBlocks() {
    HoldOff holdOff = new HoldOff(clock, 1000, 30_000);
    for (int id = 0; id < 100_000; id++) {
      holdOff.readFailed(new BlockKey("nn", "BP-1", id, 1), "EIO");
    }
    assertNull(holdOff.reason(new BlockKey("nn", "BP-1", 0, 1)));
    assertEquals("EIO", holdOff.reason(new BlockKey("nn", "BP-1", 99_999, 1)));
  }
}
