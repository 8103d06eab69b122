// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.metrics;

import io.vread.BackgroundThread;
import io.vread.Clock;
import io.vread.Settings;
import java.lang.management.ManagementFactory;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.management.ObjectName;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.util.ShutdownHookManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What exists once per process, or per class loader with the jar: the daemon thread, the
 * statistics, and when their JMX bean and their file are there.
 *
 * <p>The file is also written while the JVM runs, because a JVM inside another program (libhdfs)
 * does not end in order.
 *
 * <p>While nothing is read there is no thread. A class loader that an application has made for the
 * jar, as Flink and Spark do for the jars of a job, must go when the application drops it. So in
 * such a loader bean and shutdown hook go, too, soon after the last read, and come back with the
 * next. In Hadoop's own class loader they stay.
 */
public final class ClientProcess {
  private static final Logger LOG = LoggerFactory.getLogger(ClientProcess.class);

  /** Runs after Hadoop has closed the file systems (FileSystem.SHUTDOWN_HOOK_PRIORITY is 10). */
  private static final int SHUTDOWN_PRIORITY = 1;

  /** Hadoop's default. Without it Hadoop would parse its configuration files once more. */
  private static final long SHUTDOWN_S = 30;

  /** Only tests change it. */
  public static volatile long tickMs = 1_000;

  private static final long IDLE_MS = 30_000;
  private static final long IDLE_MS_IN_OWN_LOADER = 2_000;

  private final Statistics statistics = new Statistics();
  private final ScheduledThreadPoolExecutor daemon;
  private final boolean inOwnLoader;
  private final Runnable atExit = new AtExit();
  private final Runnable tick = new Tick();

  private volatile long lastUse;
  private volatile boolean awake;

  // Covered by this object's lock:
  private boolean shown; // registering the bean was tried
  private boolean registered;
  private boolean hooked;

  private ClientProcess() {
    inOwnLoader = ClientProcess.class.getClassLoader() != FileSystem.class.getClassLoader();
    daemon = new ScheduledThreadPoolExecutor(1, BackgroundThread.factory("vread-client"));
    daemon.setKeepAliveTime(1_000, TimeUnit.MILLISECONDS);
    daemon.allowCoreThreadTimeOut(true);
    daemon.setRemoveOnCancelPolicy(true);
  }

  private static final class Holder {
    static final ClientProcess INSTANCE = new ClientProcess();
  }

  public static ClientProcess get() {
    return Holder.INSTANCE;
  }

  public Statistics statistics() {
    return statistics;
  }

  public ScheduledExecutorService daemon() {
    return daemon;
  }

  /** After so long without reads clients give back what they have. */
  public long idleMs() {
    return inOwnLoader ? IDLE_MS_IN_OWN_LOADER : IDLE_MS;
  }

  /**
   * A block is about to be read. The first configuration that names a statistics file decides on
   * it.
   */
  public void use(Settings settings) {
    lastUse = Clock.SYSTEM.now();
    if (!awake || namesFile(settings)) {
      wake(settings);
    }
  }

  private boolean namesFile(Settings settings) {
    return !statistics.file().isNamed() && !settings.statisticsFile.isEmpty();
  }

  /**
   * The bean waits for the first tick. To start JMX costs a new JVM 50 ms of a processor, and
   * nobody looks at a process that ends within a second.
   */
  private synchronized void wake(Settings settings) {
    if (namesFile(settings)) {
      statistics.file().name(settings.statisticsFile);
    }
    if (statistics.file().isNamed() && !hooked) {
      hook();
    }
    if (!awake) {
      awake = true;
      daemon.schedule(tick, tickMs, TimeUnit.MILLISECONDS);
    }
  }

  /** Runs once a second until nothing is read any more. */
  private final class Tick implements Runnable {
    @Override
    public void run() {
      try {
        if (!shown) {
          show();
        }
        boolean changed = statistics.refreshFile();
        if (changed || !sleep()) {
          daemon.schedule(this, tickMs, TimeUnit.MILLISECONDS);
        }
      } catch (Throwable e) { // there must be a next one
        LOG.debug("vread: showing the statistics failed", e);
        daemon.schedule(this, tickMs, TimeUnit.MILLISECONDS);
      }
    }
  }

  /** True: nothing was read for a while, and the next use() wakes the process. */
  private synchronized boolean sleep() {
    long before = lastUse;
    if (Clock.SYSTEM.now() - before < idleMs()) {
      return false;
    }
    awake = false;
    if (lastUse != before) { // its reader may have seen the process awake
      awake = true;
      return false;
    }
    if (inOwnLoader) {
      hide();
      unhook();
    }
    return true;
  }

  // ---- the bean ---------------------------------------------------------------------------------

  private static ObjectName name() throws Exception {
    return new ObjectName("io.vread:type=Client");
  }

  private void show() {
    shown = true; // or another class loader's is
    try {
      ManagementFactory.getPlatformMBeanServer().registerMBean(statistics, name());
      registered = true;
    } catch (Throwable e) { // e.g. a JVM without JMX
      LOG.debug("vread: no JMX bean (is the jar loaded twice?)", e);
    }
  }

  private void hide() {
    try {
      if (registered) {
        ManagementFactory.getPlatformMBeanServer().unregisterMBean(name());
      }
    } catch (Throwable e) {
      LOG.debug("vread: the JMX bean cannot be taken back", e);
    }
    shown = false;
    registered = false;
  }

  // ---- the end of the JVM -----------------------------------------------------------------------

  private void hook() {
    try {
      ShutdownHookManager.get()
          .addShutdownHook(atExit, SHUTDOWN_PRIORITY, SHUTDOWN_S, TimeUnit.SECONDS);
      hooked = true;
    } catch (IllegalStateException e) {
      LOG.debug("vread: the JVM is ending already", e);
    }
  }

  private void unhook() {
    try {
      ShutdownHookManager.get().removeShutdownHook(atExit);
    } catch (IllegalStateException e) {
      LOG.debug("vread: the JVM is ending already", e);
    }
    hooked = false;
  }

  private final class AtExit implements Runnable {
    @Override
    public void run() {
      statistics.refreshFile();
    }
  }
}
