// SPDX-License-Identifier: Apache-2.0
package io.vread;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The daemon thread, run by the test's own thread. A task without a delay runs at once, or is held
 * back. A delayed task runs when the fake clock has reached its time.
 */
public final class FakeDaemon extends ScheduledThreadPoolExecutor {
  /** Once cancelled it does nothing. */
  private final class Later extends FutureTask<Void> implements ScheduledFuture<Void> {
    final long at;

    Later(long at, Runnable task) {
      super(task, null);
      this.at = at;
    }

    @Override
    public long getDelay(TimeUnit unit) {
      return unit.convert(at - clock.now(), TimeUnit.MILLISECONDS);
    }

    @Override
    public int compareTo(Delayed other) {
      return Long.compare(at, ((Later) other).at);
    }

    /** A failure is the test's, as that of a task without a delay. */
    @Override
    protected void setException(Throwable e) {
      throw new AssertionError(e);
    }
  }

  private final FakeClock clock;
  private final List<Later> later = new ArrayList<>();
  private final Deque<Runnable> heldBack = new ArrayDeque<>();
  private boolean holding;

  public FakeDaemon(FakeClock clock) {
    super(0);
    this.clock = clock;
  }

  /** Tasks that come from now on wait for {@link #goOn}. */
  public void holdBack() {
    holding = true;
  }

  public void goOn() {
    holding = false;
    while (!heldBack.isEmpty()) {
      heldBack.poll().run();
    }
  }

  /** Lets time pass, and runs the tasks due by then in order. */
  public void pass(long ms) {
    long end = clock.now() + ms;
    Later next;
    while ((next = dueBy(end)) != null) {
      clock.pass(Math.max(0, next.at - clock.now()));
      next.run();
    }
    clock.pass(end - clock.now());
  }

  private Later dueBy(long end) {
    Later first = null;
    for (Later each : later) {
      if (each.at <= end && (first == null || each.at < first.at)) {
        first = each;
      }
    }
    later.remove(first);
    return first;
  }

  @Override
  public void execute(Runnable task) {
    if (holding) {
      heldBack.add(task);
    } else {
      task.run();
    }
  }

  @Override
  public ScheduledFuture<?> schedule(Runnable task, long delay, TimeUnit unit) {
    Later planned = new Later(clock.now() + unit.toMillis(delay), task);
    later.add(planned);
    return planned;
  }

  @Override
  public <V> ScheduledFuture<V> schedule(Callable<V> task, long delay, TimeUnit unit) {
    throw new UnsupportedOperationException();
  }

  @Override
  public ScheduledFuture<?> scheduleWithFixedDelay(
      Runnable task, long first, long delay, TimeUnit unit) {
    return schedule(
        () -> {
          task.run();
          scheduleWithFixedDelay(task, delay, delay, unit);
        },
        first,
        unit);
  }
}
