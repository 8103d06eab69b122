// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.BackgroundThread;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls to NameNodes in threads of their own, so that no reader waits for a NameNode.
 *
 * <p>At most one call is under way for a NameNode, and a call that takes longer than {@link
 * #LIMIT_MS} is interrupted. So a NameNode that hangs keeps one thread.
 */
final class NameNodeCalls {
  /** Stops at an interrupt. */
  interface Call {
    void run() throws IOException;
  }

  static final long LIMIT_MS = 20_000;

  private static final Logger LOG = LoggerFactory.getLogger(NameNodeCalls.class);
  private static final int THREADS = 4;
  private static final int WAITING = 16;

  private final Set<String> underWay = ConcurrentHashMap.newKeySet();
  private final ExecutorService threads;
  private final ScheduledExecutorService timer;

  private static final class Holder {
    static final NameNodeCalls OF_PROCESS =
        new NameNodeCalls(
            BackgroundThread.pool("vread-namenode", THREADS, WAITING),
            ClientProcess.get().daemon());
  }

  static NameNodeCalls ofProcess() {
    return Holder.OF_PROCESS;
  }

  NameNodeCalls(ExecutorService threads, ScheduledExecutorService timer) {
    this.threads = threads;
    this.timer = timer;
  }

  /**
   * Begins a call and returns at once. False: not begun, because another one to this NameNode is
   * under way, or too many others are. nameNode: any name of it.
   */
  boolean begin(String nameNode, Call call) {
    if (!underWay.add(nameNode)) {
      return false;
    }
    try {
      UnderWay task = new UnderWay(nameNode, call);
      Future<?> running = threads.submit(task);
      task.endBy(timer.schedule(new End(running), LIMIT_MS, TimeUnit.MILLISECONDS));
      return true;
    } catch (RejectedExecutionException e) {
      underWay.remove(nameNode);
      return false;
    }
  }

  private final class UnderWay implements Runnable {
    private final String nameNode;
    private final Call call;
    private Future<?> end;
    private boolean over;

    UnderWay(String nameNode, Call call) {
      this.nameNode = nameNode;
      this.call = call;
    }

    /** A task that interrupts this one, and is not needed after it. */
    synchronized void endBy(Future<?> task) {
      end = task;
      if (over && end != null) {
        end.cancel(false);
      }
    }

    @Override
    public void run() {
      try {
        call.run();
      } catch (Throwable e) { // the caller has gone on
        LOG.debug("vread: {}: a call to the NameNode failed", nameNode, e);
      } finally {
        underWay.remove(nameNode);
        synchronized (this) {
          over = true;
          if (end != null) {
            end.cancel(false);
          }
        }
      }
    }
  }

  private static final class End implements Runnable {
    private final Future<?> call;

    End(Future<?> call) {
      this.call = call;
    }

    @Override
    public void run() {
      call.cancel(true);
    }
  }
}
