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
 * Makes the daemon threads of the plug-ins.
 *
 * <p>A new Java thread inherits from the thread that makes it: the access control context, in which
 * Hadoop keeps the user; inheritable thread-locals, such as Hadoop's caller context; the context
 * class loader, the thread group and the priority. A thread that serves a whole process must not
 * act as the user who happened to need it first, nor keep that user's objects alive. So these
 * threads inherit none of them.
 */
public final class BackgroundThread implements ThreadFactory {
  private final String name;

  private BackgroundThread(String name) {
    this.name = name;
  }

  /** Returns a thread that the caller starts. Its context class loader is that of this class. */
  public static Thread of(Runnable task, String name) {
    return factory(name).newThread(task);
  }

  /** Makes threads of one name, each as {@link #of}. */
  public static ThreadFactory factory(String name) {
    return new BackgroundThread(name);
  }

  /**
   * An executor of at most {@code count} such threads, which end after a second without work. At
   * most {@code waiting} tasks, at least one, wait for a thread; others are refused with a
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
            factory(name));
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  @Override
  public Thread newThread(Runnable task) {
    // The access control context of a privileged action is that of this class alone.
    Thread thread =
        AccessController.doPrivileged(
            new PrivilegedAction<Thread>() {
              @Override
              public Thread run() {
                return withoutInheritance(task);
              }
            });
    thread.setDaemon(true);
    thread.setPriority(Thread.NORM_PRIORITY);
    thread.setContextClassLoader(BackgroundThread.class.getClassLoader());
    return thread;
  }

  private Thread withoutInheritance(Runnable task) {
    try {
      return Thread.class
          .getConstructor(
              ThreadGroup.class, Runnable.class, String.class, long.class, boolean.class)
          .newInstance(topGroup(), task, name, 0L, false);
    } catch (ReflectiveOperationException e) { // Java 8 has no such constructor
      Runnable withoutCaller =
          new Runnable() {
            @Override
            public void run() {
              CallerContext.setCurrent(null); // the inheritable thread-local that NameNodes get
              task.run();
            }
          };
      return new Thread(topGroup(), withoutCaller, name);
    }
  }

  /** The highest group that a security manager lets this class see. */
  private static ThreadGroup topGroup() {
    ThreadGroup group = Thread.currentThread().getThreadGroup();
    try {
      while (group.getParent() != null) {
        group = group.getParent();
      }
    } catch (SecurityException e) {
      return group;
    }
    return group;
  }
}
