// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.security.PrivilegedAction;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.ipc.CallerContext;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Daemon threads for what may hang and must not make a reader wait. {@link OwnReplicas} and {@link
 * Duel} use them.
 *
 * <p>A task runs as the user of the thread that passes the task, and with its caller context, which
 * the NameNode writes to its audit log. A task for which there is no room is refused with a
 * RejectedExecutionException. Threads without work end after a second.
 */
final class UserThreads implements Executor, ThreadFactory {
  private final String name;
  private final ThreadPoolExecutor threads;

  /** waiting: how many tasks may wait for a thread, at least one. */
  UserThreads(String name, int count, int waiting) {
    this.name = name;
    threads =
        new ThreadPoolExecutor(
            count, count, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(waiting), this);
    threads.allowCoreThreadTimeOut(true);
  }

  @Override
  public Thread newThread(Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.setContextClassLoader(UserThreads.class.getClassLoader());
    return thread;
  }

  @Override
  public void execute(Runnable task) {
    UserGroupInformation user;
    try {
      user = UserGroupInformation.getCurrentUser();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    PrivilegedAction<Void> action =
        () -> {
          task.run();
          return null;
        };
    CallerContext context = CallerContext.getCurrent();
    threads.execute(
        () -> {
          CallerContext.setCurrent(context); // a thread would keep that of the task that made it
          user.doAs(action);
        });
  }
}
