// SPDX-License-Identifier: Apache-2.0
package io.vread;

import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.ipc.CallerContext;

/**
 * Makes the plug-ins' threads. A thread has nothing of the thread that happens to make it: neither
 * its user (the Subject in its access control context), nor its caller context for the NameNode's
 * audit log, nor its class loader.
 */
public final class DaemonThreads implements ThreadFactory {
  private final String name;

  /** name: of every thread. */
  public DaemonThreads(String name) {
    this.name = name;
  }

  /**
   * An executor of at most {@code count} threads, which end after a second without work. At most
   * {@code waiting} tasks, at least one, wait for a thread; others are refused with a
   * RejectedExecutionException.
   */
  public static ThreadPoolExecutor pool(String name, int count, int waiting) {
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(
            count,
            count,
            1,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(waiting),
            new DaemonThreads(name));
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  @Override
  public Thread newThread(Runnable task) {
    return AccessController.doPrivileged(new Make(task));
  }

  private final class Make implements PrivilegedAction<Thread> {
    private final Runnable task;

    Make(Runnable task) {
      this.task = task;
    }

    @Override
    public Thread run() {
      Thread thread = new Thread(new Forgetting(task), name);
      thread.setDaemon(true);
      thread.setContextClassLoader(DaemonThreads.class.getClassLoader());
      return thread;
    }
  }

  /** Begins a thread by forgetting what threads inherit. */
  private static final class Forgetting implements Runnable {
    private final Runnable task;

    Forgetting(Runnable task) {
      this.task = task;
    }

    @Override
    public void run() {
      CallerContext.setCurrent(null);
      task.run();
    }
  }
}
