// SPDX-License-Identifier: Apache-2.0
package io.vread;

import java.util.ArrayList;
import java.util.List;

/**
 * A clock for tests. Its time passes only when the test says so. A thread that waits for a point in
 * time goes on once that point has passed.
 */
public final class FakeClock implements Clock {
  private static final class Waiter {
    final Object monitor;
    final long time;

    Waiter(Object monitor, long time) {
      this.monitor = monitor;
      this.time = time;
    }
  }

  private final List<Waiter> waiters = new ArrayList<>();
  private static final long EPOCH = 1_795_000_000_000L;

  private long now = 1_000_000;

  @Override
  public synchronized long now() {
    return now;
  }

  @Override
  public synchronized long sinceEpoch() {
    return EPOCH + now;
  }

  /**
   * The waiter holds the monitor until it waits, and pass() needs the monitor to wake it. So no
   * wake-up is missed.
   */
  @Override
  public void waitUntil(Object monitor, long time) throws InterruptedException {
    Waiter waiter = new Waiter(monitor, time);
    synchronized (this) {
      if (time <= now) {
        return;
      }
      waiters.add(waiter);
    }
    try {
      monitor.wait();
    } finally {
      synchronized (this) {
        waiters.remove(waiter);
      }
    }
  }

  public void pass(long ms) {
    List<Waiter> due = new ArrayList<>();
    synchronized (this) {
      now += ms;
      for (Waiter each : waiters) {
        if (each.time <= now) {
          due.add(each);
        }
      }
      waiters.removeAll(due);
    }
    for (Waiter each : due) {
      synchronized (each.monitor) {
        each.monitor.notifyAll();
      }
    }
  }

  /** Blocks until a thread waits for exactly so many milliseconds more, then lets them pass. */
  public void passOnceAwaited(long ms) {
    awaitWait(ms);
    pass(ms);
  }

  /** Blocks until a thread waits for exactly so many milliseconds more. */
  public void awaitWait(long ms) {
    Eventually.until(() -> waits().contains(ms), () -> "nobody waits " + ms + " ms: " + waits());
  }

  /** The milliseconds that each waiting thread still waits. */
  public synchronized List<Long> waits() {
    List<Long> result = new ArrayList<>();
    waiters.forEach(each -> result.add(each.time - now));
    return result;
  }
}
