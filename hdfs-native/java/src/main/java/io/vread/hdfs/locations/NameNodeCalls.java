// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import io.vread.BackgroundThread;
import io.vread.hdfs.metrics.ClientProcess;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
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
public final class NameNodeCalls {
  /** Stops at an interrupt. */
  interface Call extends Callable<Void> {
    void run() throws IOException;

    @Override
    default Void call() throws IOException {
      run();
      return null;
    }
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

  public static NameNodeCalls ofProcess() {
    return Holder.OF_PROCESS;
  }

  public NameNodeCalls(Executor threads, ScheduledExecutorService timer) {
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
    task.limit = timer.schedule(new Limit(task), LIMIT_MS, TimeUnit.MILLISECONDS);
    try {
      threads.execute(task);
    } catch (RejectedExecutionException e) {
      task.end();
      return false;
    }
    return true;
  }

  /** One call. Once cancelled it is interrupted, or not made at all. */
  private final class UnderWay extends FutureTask<Void> {
    private final String nameNode;
    private Future<?> limit;

    UnderWay(String nameNode, Call call) {
      super(call);
      this.nameNode = nameNode;
    }

    @Override
    public void run() {
      try {
        super.run();
      } finally {
        Thread.interrupted(); // meant for the call, not for the thread's next one
        end();
      }
    }

    void end() {
      limit.cancel(false); // it refers to the call
      underWay.remove(nameNode);
    }

    @Override
    protected void setException(Throwable e) { // the caller has gone on
      LOG.debug("vread: {}: a call to the NameNode failed", nameNode, e);
      super.setException(e);
    }
  }

  private static final class Limit implements Runnable {
    private final UnderWay call;

    Limit(UnderWay call) {
      this.call = call;
    }

    @Override
    public void run() {
      call.cancel(true);
    }
  }
}
