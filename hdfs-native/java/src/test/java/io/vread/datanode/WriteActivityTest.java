// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

/** What {@link WriteActivity} counts as the datanode receiving data. */
public class WriteActivityTest {
  private static final long BLOCK = 7;

  private final WriteActivity activity = new WriteActivity();
  private final GrowingReplica writing = new GrowingReplica(BLOCK);

  @Test
  public void aReplicaThatGrowsIsActivity() {
    activity.begun(writing.replica);
    assertTrue(activity.sinceLastLook());
    assertTrue(activity.sinceLastLook());
  }

  /** An open replica that does not grow is no activity. */
  @Test
  public void oneThatIsOpenOnlyIsNot() {
    writing.growing = false;
    activity.begun(writing.replica);
    activity.sinceLastLook();
    assertFalse(activity.sinceLastLook());
  }

  /**
   * A replica that ended since the last look is activity. Otherwise the time between two blocks of
   * a file would count as quiet.
   */
  @Test
  public void oneThatEndedSinceIs() {
    activity.begun(writing.replica);
    activity.sinceLastLook();
    activity.ended(BLOCK);
    assertTrue(activity.sinceLastLook());
    assertFalse(activity.sinceLastLook());
  }

  /** The end of a replica that was not watched is no activity. */
  @Test
  public void theEndOfAnUnknownOneIsNot() {
    activity.ended(BLOCK);
    assertFalse(activity.sinceLastLook());
  }
}
