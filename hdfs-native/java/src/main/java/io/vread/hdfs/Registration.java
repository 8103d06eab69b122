// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.lang.management.ManagementFactory;
import javax.management.ObjectName;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that registers the client plug-in's statistics with JMX and with Hadoop's metrics
 * system, and then ends. {@link ClientProcess} starts it at the first block.
 *
 * <p>The thread waits for a second first. To start JMX costs a new JVM 50 ms of a processor, and
 * nobody looks at a process that ends within a second. An interrupt ends the wait.
 *
 * <p>Nobody waits for the thread: while the metrics system is busy with its sinks, it lets nobody
 * register.
 */
final class Registration extends Thread {
  static final String NAME = "vread-metrics";

  private static final Logger LOG = LoggerFactory.getLogger(Registration.class);

  /** How long the thread waits. Only tests change it. */
  static volatile long afterMs = 1_000;

  private final ClientMXBean bean;
  private final Statistics statistics;

  Registration(ClientMXBean bean, Statistics statistics) {
    super(NAME);
    this.bean = bean;
    this.statistics = statistics;
    setDaemon(true);
    setContextClassLoader(Registration.class.getClassLoader());
  }

  @Override
  public void run() {
    try {
      sleep(afterMs);
    } catch (InterruptedException e) {
      LOG.debug("vread: the statistics are wanted at once");
    }
    try {
      ManagementFactory.getPlatformMBeanServer()
          .registerMBean(bean, new ObjectName("io.vread:type=Client"));
    } catch (Throwable e) { // e.g. a JVM without JMX
      LOG.debug("vread: no JMX bean (is the jar loaded twice?)", e);
    }
    try {
      ClientMetrics.register(DefaultMetricsSystem.instance(), statistics);
    } catch (Throwable e) { // e.g. the class cannot be initialised
      LOG.debug("vread: no metrics system", e);
    }
  }
}
