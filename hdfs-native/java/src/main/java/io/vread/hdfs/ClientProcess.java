// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.Settings;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.util.ShutdownHookManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What exists once per process: the daemon thread, the statistics, and the places that show the
 * statistics (the JMX bean, Hadoop's metrics system, a log line when the JVM ends, and a file).
 * {@link VreadReplicaAccessorBuilder} and {@link Client} use it.
 *
 * <p>The file is also written while the JVM runs, because a JVM inside another program (libhdfs)
 * does not end in order.
 */
final class ClientProcess implements ClientMXBean {
  private static final Logger LOG = LoggerFactory.getLogger(ClientProcess.class);

  /** Runs after Hadoop has closed the file systems (FileSystem.SHUTDOWN_HOOK_PRIORITY is 10). */
  private static final int SHUTDOWN_PRIORITY = 1;

  /** Hadoop's default. Without it Hadoop would parse its configuration files once more. */
  private static final long SHUTDOWN_S = 30;

  private static final long WRITE_INTERVAL_MS = 1000;

  private final Statistics statistics = new Statistics();
  private final ScheduledThreadPoolExecutor daemon;
  private volatile String statisticsFile = "";
  private String written = "";
  private boolean writeFailed;

  private ClientProcess() {
    daemon = new ScheduledThreadPoolExecutor(1, new DaemonThread());
  }

  private static final class DaemonThread implements ThreadFactory {
    @Override
    public Thread newThread(Runnable task) {
      Thread thread = new Thread(task, "vread-client");
      thread.setDaemon(true);
      thread.setContextClassLoader(ClientProcess.class.getClassLoader());
      return thread;
    }
  }

  private static final class Holder {
    static final ClientProcess INSTANCE = new ClientProcess();

    static {
      INSTANCE.begin();
    }
  }

  static ClientProcess get() {
    return Holder.INSTANCE;
  }

  Statistics statistics() {
    return statistics;
  }

  ScheduledExecutorService daemon() {
    return daemon;
  }

  /** Sets the statistics file. The first configuration that names a file decides. */
  synchronized void configure(Settings settings) {
    if (statisticsFile.isEmpty() && !settings.statisticsFile().isEmpty()) {
      statisticsFile = settings.statisticsFile().replace("%p", Long.toString(pid()));
      daemon.scheduleWithFixedDelay(
          this::refreshFile, WRITE_INTERVAL_MS, WRITE_INTERVAL_MS, TimeUnit.MILLISECONDS);
    }
  }

  @Override
  public long getOpens() {
    return statistics.opens();
  }

  @Override
  public long getReads() {
    return statistics.reads();
  }

  @Override
  public long getBytes() {
    return statistics.bytes();
  }

  @Override
  public long getFailures() {
    return statistics.failures();
  }

  @Override
  public Map<String, Long> getFailureReasons() {
    return statistics.failureReasons();
  }

  @Override
  public long getFallbackBlocks() {
    return statistics.fallbackBlocks();
  }

  @Override
  public Map<String, Long> getFallbackReasons() {
    return statistics.fallbackReasons();
  }

  @Override
  public long getCompeteMeasured() {
    return statistics.measured();
  }

  @Override
  public long getCompeteFailed() {
    return statistics.notMeasured();
  }

  @Override
  public long getHdfsBytes() {
    return Statistics.hdfsBytes();
  }

  @Override
  public String json() {
    return statistics.json(pid());
  }

  /** Replaces the file as a whole: writes a file beside it and renames that file. */
  @Override
  public synchronized String writeStatistics() throws IOException {
    if (statisticsFile.isEmpty()) {
      return "";
    }
    Path file = Paths.get(statisticsFile).toAbsolutePath();
    Path fresh = file.resolveSibling("." + file.getFileName() + "." + pid());
    String text = json();
    Files.write(fresh, text.getBytes(StandardCharsets.US_ASCII));
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    written = text;
    return file.toString();
  }

  private void begin() {
    try {
      new Registration(this, statistics).start();
    } catch (RuntimeException | Error e) { // e.g. no memory for a thread
      LOG.debug("vread: neither a JMX bean nor metrics", e);
    }
    try {
      ShutdownHookManager.get()
          .addShutdownHook(new AtExit(), SHUTDOWN_PRIORITY, SHUTDOWN_S, TimeUnit.SECONDS);
    } catch (IllegalStateException e) {
      LOG.debug("vread: the JVM is ending already", e);
    }
  }

  private final class AtExit implements Runnable {
    @Override
    public void run() {
      if (LOG.isInfoEnabled() && !statistics.nothingHappened()) {
        LOG.info("{}", statistics.summary());
      }
      refreshFile();
    }
  }

  /** Writes the file if the statistics have changed. Warns once until a write succeeds. */
  private synchronized void refreshFile() {
    if (statisticsFile.isEmpty() || json().equals(written)) {
      return;
    }
    try {
      writeStatistics();
      writeFailed = false;
    } catch (IOException | RuntimeException e) {
      if (!writeFailed) {
        LOG.warn("vread: cannot write {}: {}", statisticsFile, e.toString());
      }
      writeFailed = true;
    }
  }

  /** Parses the JVM's name, because Java 8 has no other way. 0: unknown. */
  private static long pid() {
    String name = ManagementFactory.getRuntimeMXBean().getName();
    int at = name.indexOf('@');
    try {
      return Long.parseLong(at < 0 ? name : name.substring(0, at));
    } catch (NumberFormatException e) {
      return 0;
    }
  }
}
