// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.vread.Eventually;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.ipc.CallerContext;
import org.junit.After;
import org.junit.Test;

/** On behalf of whom the threads run their tasks. */
public class UserThreadsTest {
  private final UserThreads threads = new UserThreads("test", 1, 2);
  private final List<CallerContext> seen = Collections.synchronizedList(new ArrayList<>());

  @After
  public void forget() {
    CallerContext.setCurrent(null);
  }

  private CallerContext caller(String name) {
    CallerContext context =
        name == null ? null : new CallerContext.Builder(name, ";").append("test").build();
    CallerContext.setCurrent(context);
    return context;
  }

  /** All three tasks run in one thread: the first ends when the others are waiting. */
  @Test
  public void eachTaskHasItsCallersContext() {
    CountDownLatch allWait = new CountDownLatch(1);
    CallerContext first = caller("first");
    threads.execute(
        () -> {
          try {
            assertTrue(allWait.await(Eventually.HANG_S, TimeUnit.SECONDS));
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
          seen.add(CallerContext.getCurrent());
        });
    CallerContext second = caller("second");
    threads.execute(() -> seen.add(CallerContext.getCurrent()));
    caller(null);
    threads.execute(() -> seen.add(CallerContext.getCurrent()));
    allWait.countDown();
    Eventually.until(() -> seen.size() == 3, () -> "only " + seen.size() + " tasks have run");
    assertSame(first, seen.get(0));
    assertSame(second, seen.get(1));
    assertNull(seen.get(2));
  }

  /** A task that hangs must not collect others behind it without end. */
  @Test
  public void whatFindsNoRoomIsRefused() {
    CountDownLatch end = new CountDownLatch(1);
    threads.execute(
        () -> {
          try {
            end.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        });
    threads.execute(() -> {});
    threads.execute(() -> {});
    try {
      assertThrows(RejectedExecutionException.class, () -> threads.execute(() -> {}));
    } finally {
      end.countDown();
    }
  }
}
