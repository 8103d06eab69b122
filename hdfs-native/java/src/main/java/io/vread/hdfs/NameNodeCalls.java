// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.BackgroundThread;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
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
  private final Executor threads;
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

  NameNodeCalls(Executor threads, ScheduledExecutorService timer) {
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
    UnderWay task = new UnderWay(nameNode, call);
    try {
      threads.execute(task);
    } catch (RejectedExecutionException e) {
      underWay.remove(nameNode);
      return false;
    }
    task.endBy(timer.schedule(new Limit(task), LIMIT_MS, TimeUnit.MILLISECONDS));
    return true;
  }

  /** One call. */
  private final class UnderWay implements Runnable {
    private final String nameNode;
    private final Call call;

    // Covered by this object's lock:
    private Thread thread; // null: not begun, or over
    private boolean late;
    private boolean over;
    private Future<?> limit; // not needed once the call is over

    UnderWay(String nameNode, Call call) {
      this.nameNode = nameNode;
      this.call = call;
    }

    @Override
    public void run() {
      try {
        if (begin()) {
          call.run();
        }
      } catch (Throwable e) { // the caller has gone on
        LOG.debug("vread: {}: a call to the NameNode failed", nameNode, e);
      } finally {
        end();
        underWay.remove(nameNode);
      }
    }

    private synchronized boolean begin() {
      thread = Thread.currentThread();
      return !late;
    }

    private synchronized void end() {
      thread = null;
      over = true;
      Thread.interrupted(); // meant for the call, not for the thread's next one
      if (limit != null) {
        limit.cancel(false);
      }
    }

    synchronized void endBy(Future<?> task) {
      limit = task;
      if (over && limit != null) {
        limit.cancel(false);
      }
    }

    synchronized void interrupt() {
      late = true;
      if (thread != null) {
        thread.interrupt();
      }
    }
  }

  private static final class Limit implements Runnable {
    private final UnderWay call;

    Limit(UnderWay call) {
      this.call = call;
    }

    @Override
    public void run() {
      call.interrupt();
    }
  }
}
