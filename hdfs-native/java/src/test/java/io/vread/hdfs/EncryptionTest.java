// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.vread.FakeClock;
import io.vread.Protection;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.RejectedExecutionException;
import org.junit.Test;

/** How often {@link Encryption} asks the NameNode, and what holds until it has answered. */
public class EncryptionTest {
  private static final long HOUR_MS = 3_600_000;

  private final FakeClock clock = new FakeClock();
  private final Deque<Runnable> heldBack = new ArrayDeque<>();
  private boolean holding;
  private boolean required;
  private IOException failure;
  private int asked;
  private final Encryption encryption =
      new Encryption(
          clock,
          task -> {
            if (holding) {
              heldBack.add(task);
            } else {
              task.run();
            }
          },
          conf -> {
            asked++;
            if (failure != null) {
              throw failure;
            }
            return required;
          });
  private final Encryption.OfPool pool = encryption.of(null, "BP-1", Protection.INTEGRITY);

  @Test
  public void onceAnHour() {
    assertFalse(pool.required());
    assertFalse(pool.required());
    assertEquals(1, asked);
    required = true;
    clock.pass(HOUR_MS);
    assertTrue(pool.required());
    assertEquals(2, asked);
    assertEquals(Protection.PRIVACY, pool.known());
  }

  @Test
  public void nobodyIsAskedForWhatIsKnown() {
    assertEquals(Protection.INTEGRITY, pool.known());
    assertEquals(0, asked);
    required = true;
    pool.required();
    assertEquals(Protection.PRIVACY, pool.known());
    assertEquals(
        Protection.AUTHENTICATION,
        encryption.of(null, "BP-2", Protection.AUTHENTICATION).known());
  }

  @Test
  public void theOwnConfigurationIsEnough() {
    Encryption.OfPool configured = encryption.of(null, "BP-1", Protection.PRIVACY);
    assertEquals(Protection.PRIVACY, configured.known());
    assertTrue(configured.required());
    assertEquals(0, asked);
  }

  /** Without an answer bytes come encrypted. The NameNode is asked again after a minute. */
  @Test
  public void aFailureMeansEncryption() {
    failure = new IOException("no NameNode");
    assertTrue(pool.required());
    assertTrue(pool.required());
    assertEquals(Protection.INTEGRITY, pool.known());
    assertEquals(1, asked);
    failure = null;
    clock.pass(60_000);
    assertFalse(pool.required());
  }

  /** An answer that was had holds while the NameNode does not answer again. */
  @Test
  public void aFailureChangesNoAnswer() {
    assertFalse(pool.required());
    failure = new IOException("no NameNode");
    clock.pass(HOUR_MS);
    assertFalse(pool.required());
    assertEquals(2, asked);
  }

  /** The NameNode hangs: one reader waits for two seconds, and no reader after it. */
  @Test
  public void aNameNodeThatHangsIsAwaitedOnce() throws InterruptedException {
    holding = true;
    boolean[] seen = {false};
    Thread first = new Thread(() -> seen[0] = pool.required());
    first.start();
    clock.passOnceAwaited(2_000);
    first.join();
    assertTrue(seen[0]);
    assertTrue(pool.required());
    assertEquals(1, heldBack.size());
    heldBack.poll().run();
    assertFalse(pool.required());
    assertEquals(1, asked);
  }

  @Test
  public void noThreadToAskWith() {
    Encryption without =
        new Encryption(
            clock,
            task -> {
              throw new RejectedExecutionException();
            },
            conf -> false);
    assertTrue(without.of(null, "BP-1", Protection.INTEGRITY).required());
  }
}
