// SPDX-License-Identifier: Apache-2.0
package io.vread;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.Timeout;

/** The waits of {@link Clock} for a condition. */
public class ClockTest {
  private static final long WAIT_MS = 10;

  @Rule public final Timeout limit = Timeout.seconds(Eventually.HANG_S);

  private final FakeClock clock = new FakeClock();
  private final AtomicBoolean condition = new AtomicBoolean();
  private final AtomicBoolean interrupted = new AtomicBoolean();

  private final FutureTask<Boolean> wait =
      new FutureTask<>(
          () -> {
            synchronized (condition) {
              boolean result = clock.awaitUninterruptibly(condition, WAIT_MS, condition::get);
              interrupted.set(Thread.interrupted());
              return result;
            }
          });
  private final Thread waiter = new Thread(wait);

  private void fulfil() {
    synchronized (condition) {
      condition.set(true);
      condition.notifyAll();
    }
  }

  @Test
  public void theConditionEndsTheWait() throws Exception {
    waiter.start();
    clock.awaitWait(WAIT_MS);
    fulfil();
    assertTrue(wait.get());
    assertFalse(interrupted.get());
  }

  @Test
  public void theTimeEndsTheWait() throws Exception {
    waiter.start();
    clock.awaitWait(WAIT_MS);
    clock.pass(WAIT_MS - 1);
    clock.awaitWait(1);
    assertFalse(wait.isDone());
    clock.pass(1);
    assertFalse(wait.get());
  }

  @Test
  public void withTheConditionThereIsNoWait() throws Exception {
    condition.set(true);
    waiter.start();
    assertTrue(wait.get());
  }

  /** The thread must wait on after the interrupt, and be interrupted afterwards. */
  @Test
  public void anInterruptDoesNotEndTheWait() throws Exception {
    waiter.start();
    clock.awaitWait(WAIT_MS);
    waiter.interrupt();
    Eventually.until(() -> !waiter.isInterrupted(), () -> "the thread has not woken up");
    clock.awaitWait(WAIT_MS);
    assertFalse(wait.isDone());
    fulfil();
    assertTrue(wait.get());
    assertTrue(interrupted.get());
  }

  @Test
  public void anEarlierInterruptIsKept() throws Exception {
    FutureTask<Boolean> both =
        new FutureTask<>(
            () -> {
              Thread.currentThread().interrupt();
              wait.run();
              return wait.get();
            });
    new Thread(both).start();
    clock.passOnceAwaited(WAIT_MS);
    assertFalse(both.get());
    assertTrue(interrupted.get());
    assertEquals(0, clock.waits().size());
  }
}
