// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.vread.BackgroundThread;
import io.vread.Eventually;
import io.vread.FakeClock;
import io.vread.FakeDaemon;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.Timeout;

/** How many calls {@link NameNodeCalls} makes at a time, and how long one may take. */
public class NameNodeCallsTest {
  @Rule public final Timeout hang = Timeout.seconds(Eventually.HANG_S);

  private final FakeDaemon timer = new FakeDaemon(new FakeClock());
  private final NameNodeCalls calls =
      new NameNodeCalls(BackgroundThread.pool("test", 2, 1), timer);
  private final CountDownLatch answer = new CountDownLatch(1);
  private final AtomicInteger begun = new AtomicInteger();
  private final AtomicInteger interrupted = new AtomicInteger();
  private final AtomicInteger ended = new AtomicInteger();

  private void hang() {
    begun.incrementAndGet();
    try {
      answer.await();
    } catch (InterruptedException e) {
      interrupted.incrementAndGet();
    } finally {
      ended.incrementAndGet();
    }
  }

  @Test
  public void oneCallForEachNameNode() {
    assertTrue(calls.begin("a", this::hang));
    assertFalse(calls.begin("a", this::hang));
    assertTrue(calls.begin("b", this::hang));
    assertTrue("waits for a thread", calls.begin("c", this::hang));
    assertFalse("no room", calls.begin("d", this::hang));
    answer.countDown();
    Eventually.until(() -> ended.get() == 3, () -> ended + " of 3 calls have ended");
    Eventually.until(() -> calls.begin("a", this::hang), () -> "still under way");
    Eventually.until(() -> calls.begin("d", this::hang), () -> "still no room");
  }

  /** A NameNode that hangs keeps its thread no longer than this. */
  @Test
  public void aCallThatTakesTooLongIsInterrupted() {
    calls.begin("a", this::hang);
    Eventually.until(() -> begun.get() == 1, () -> "not begun");
    timer.pass(NameNodeCalls.LIMIT_MS);
    Eventually.until(() -> interrupted.get() == 1, () -> "not interrupted");
    Eventually.until(() -> calls.begin("a", () -> {}), () -> "still under way");
  }

  /** A call that waits for a thread until its time is over is not made, and is not under way. */
  @Test
  public void aCallThatBeginsTooLateIsNotMade() {
    Deque<Runnable> waiting = new ArrayDeque<>();
    NameNodeCalls busy = new NameNodeCalls(waiting::add, timer);
    assertTrue(busy.begin("a", begun::incrementAndGet));
    timer.pass(NameNodeCalls.LIMIT_MS);
    waiting.poll().run();
    assertEquals(0, begun.get());
    assertTrue(busy.begin("a", begun::incrementAndGet));
    waiting.poll().run();
    assertEquals(1, begun.get());
  }

  @Test
  public void aFailureEndsACallOnly() {
    assertTrue(
        calls.begin(
            "a",
            () -> {
              throw new AssertionError("as a broken class would");
            }));
    Eventually.until(() -> calls.begin("a", this::hang), () -> "still under way");
    answer.countDown();
  }

  /** The timer must not keep what a call refers to for longer than the call. */
  @Test
  public void whatEndedIsNotTimedAnyMore() {
    ScheduledThreadPoolExecutor real = new ScheduledThreadPoolExecutor(1);
    real.setRemoveOnCancelPolicy(true);
    try {
      NameNodeCalls timed = new NameNodeCalls(Runnable::run, real);
      assertTrue(timed.begin("a", () -> {}));
      assertTrue(real.getQueue() + " is left", real.getQueue().isEmpty());
    } finally {
      real.shutdownNow();
    }
  }
}
