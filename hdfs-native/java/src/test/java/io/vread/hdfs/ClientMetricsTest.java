// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNotSame;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import io.vread.Eventually;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Map;
import java.util.TreeMap;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.commons.configuration2.SubsetConfiguration;
import org.apache.hadoop.metrics2.AbstractMetric;
import org.apache.hadoop.metrics2.MetricsException;
import org.apache.hadoop.metrics2.MetricsRecord;
import org.apache.hadoop.metrics2.MetricsSink;
import org.apache.hadoop.metrics2.MetricsSource;
import org.apache.hadoop.metrics2.MetricsSystem;
import org.apache.hadoop.metrics2.impl.MetricsSystemImpl;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.junit.After;
import org.junit.BeforeClass;
import org.junit.Test;

/** The source of Hadoop's metrics system, in Hadoop's own metrics system. */
public class ClientMetricsTest {
  private static final MetricsSystem SYSTEM = DefaultMetricsSystem.instance();

  private final Statistics statistics = new Statistics();

  /** Keeps the counters of the last record of the source. */
  private static final class Sink implements MetricsSink {
    private Map<String, Long> counters;

    @Override
    public void init(SubsetConfiguration conf) {}

    @Override
    public synchronized void putMetrics(MetricsRecord record) {
      if (record.name().equals(ClientMetrics.NAME)) {
        assertEquals("vread", record.context());
        counters = new TreeMap<>();
        for (AbstractMetric metric : record.metrics()) {
          counters.put(metric.name(), metric.value().longValue());
        }
      }
    }

    @Override
    public void flush() {}

    synchronized Map<String, Long> counters() {
      return counters;
    }
  }

  /** As in the second application of a server: classes of vRead are not shared with the first. */
  private static final class OtherLoader extends URLClassLoader {
    OtherLoader() {
      super(
          new URL[] {ClientMetrics.class.getProtectionDomain().getCodeSource().getLocation()},
          ClientMetrics.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        if (loaded == null && name.startsWith("io.vread.")) {
          loaded = findClass(name);
        }
        return loaded == null ? super.loadClass(name, resolve) : loaded;
      }
    }
  }

  /** The process registers its source; then the name is free for the tests. */
  @BeforeClass
  public static void theProcessRegisters() {
    Registered.now();
    assertNotNull("the process has not registered a source", source());
    SYSTEM.unregisterSource(ClientMetrics.NAME);
  }

  @After
  public void stop() {
    SYSTEM.unregisterSource(ClientMetrics.NAME);
    DefaultMetricsSystem.shutdown();
  }

  private static MetricsSource source() {
    return SYSTEM.getSource(ClientMetrics.NAME);
  }

  private void count() {
    statistics.opened();
    statistics.read(100);
    statistics.read(11);
    statistics.readFailed("EBADE");
    statistics.refused("ENOENT");
    statistics.refused("no-device");
    statistics.refused("ENOENT");
    statistics.compared(true);
    statistics.compared(true);
    statistics.compared(false);
  }

  private static Map<String, Long> published() {
    Sink sink = new Sink();
    SYSTEM.register("sink", "of the test", sink);
    SYSTEM.publishMetricsNow();
    return sink.counters();
  }

  private static void checkCounters(Map<String, Long> counters) {
    Map<String, Long> expected = new TreeMap<>();
    expected.put("Opens", 1L);
    expected.put("Reads", 2L);
    expected.put("Bytes", 111L);
    expected.put("Failures", 1L);
    expected.put("FailuresEBADE", 1L);
    expected.put("FallbackBlocks", 3L);
    expected.put("FallbackBlocksENOENT", 2L);
    expected.put("FallbackBlocksNoDevice", 1L);
    expected.put("CompeteMeasured", 2L);
    expected.put("CompeteFailed", 1L);
    expected.put("HdfsBytes", Statistics.hdfsBytes());
    assertEquals(expected, counters);
  }

  @Test
  public void sinksGetTheCounters() {
    DefaultMetricsSystem.initialize("Test");
    assertTrue(ClientMetrics.register(SYSTEM, statistics));
    count();
    checkCounters(published());
  }

  @Test
  public void aMetricsSystemThatStartsLaterHasTheSource() {
    assertTrue(ClientMetrics.register(SYSTEM, statistics));
    DefaultMetricsSystem.initialize("Test");
    count();
    checkCounters(published());
  }

  /** HBase restarts its metrics system whenever a source of its own goes. */
  @Test
  public void theSourceOutlivesARestart() {
    DefaultMetricsSystem.initialize("Test");
    assertTrue(ClientMetrics.register(SYSTEM, statistics));
    SYSTEM.stop();
    SYSTEM.start();
    count();
    checkCounters(published());
  }

  @Test
  public void jmxHasTheCountersToo() throws Exception {
    DefaultMetricsSystem.initialize("Test");
    count();
    assertTrue(ClientMetrics.register(SYSTEM, statistics));
    MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    ObjectName bean = new ObjectName("Hadoop:service=Test,name=VreadClient");
    assertEquals(111L, server.getAttribute(bean, "Bytes"));
    assertEquals(2L, server.getAttribute(bean, "FallbackBlocksENOENT"));
  }

  private void checkThatTheFirstStays() throws Exception {
    assertTrue(ClientMetrics.register(SYSTEM, statistics));
    MetricsSource first = source();
    assertFalse(ClientMetrics.register(SYSTEM, new Statistics()));
    assertFalse(registerInAnotherLoader());
    assertSame(first, source());
    count();
  }

  private static boolean registerInAnotherLoader() throws Exception {
    try (OtherLoader loader = new OtherLoader()) {
      Class<?> other = Class.forName(ClientMetrics.class.getName(), true, loader);
      assertNotSame(ClientMetrics.class, other);
      Class<?> counts = Class.forName(Statistics.class.getName(), true, loader);
      Method register = other.getDeclaredMethod("register", MetricsSystem.class, counts);
      register.setAccessible(true);
      Constructor<?> make = counts.getDeclaredConstructor();
      make.setAccessible(true);
      return (boolean) register.invoke(null, SYSTEM, make.newInstance());
    } catch (InvocationTargetException e) {
      throw new AssertionError("register() threw", e.getCause());
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  public void aSecondClassLoaderReplacesNothing() throws Exception {
    DefaultMetricsSystem.initialize("Test");
    checkThatTheFirstStays();
    checkCounters(published());
  }

  @Test
  public void aSecondClassLoaderReplacesNothingBeforeTheStart() throws Exception {
    checkThatTheFirstStays();
    DefaultMetricsSystem.initialize("Test");
    checkCounters(published());
  }

  @Test
  public void aNameThatHadoopHoldsForTakenIsHarmless() {
    DefaultMetricsSystem.initialize("Test");
    DefaultMetricsSystem.sourceName(ClientMetrics.NAME, true);
    assertFalse(ClientMetrics.register(SYSTEM, statistics));
    assertNull(source());
  }

  @Test
  public void aMetricsSystemThatWasShutDownIsHarmless() {
    DefaultMetricsSystem.initialize("Test");
    DefaultMetricsSystem.shutdown();
    assertTrue(ClientMetrics.register(SYSTEM, statistics));
    assertNotNull(source());
  }

  @Test
  public void failuresOfTheMetricsSystemAreHarmless() {
    for (Throwable failure :
        new Throwable[] {new MetricsException("of the test"), new NoClassDefFoundError("X")}) {
      MetricsSystem broken =
          new MetricsSystemImpl() {
            @Override
            public synchronized <T> T register(String name, String description, T source) {
              if (failure instanceof Error) {
                throw (Error) failure;
              }
              throw (RuntimeException) failure;
            }
          };
      assertFalse(ClientMetrics.register(broken, statistics));
    }
  }

  /** While sinks are slow, the metrics system holds its own lock. */
  @Test(timeout = Eventually.HANG_S * 1000L)
  public void nobodyWaitsForABusyMetricsSystem() {
    Thread registration = new Registration(ClientProcess.get(), statistics);
    synchronized (SYSTEM) {
      registration.start();
      registration.interrupt();
      assertNull("a thread that may wait registers", source());
    }
    Eventually.until(() -> source() != null, () -> "no source");
  }

  @Test
  public void namesOfReasons() {
    assertEquals("NoDevice", ClientMetrics.camelCase("no-device"));
    assertEquals("ENOENT", ClientMetrics.camelCase("ENOENT"));
    assertEquals("Errno105", ClientMetrics.camelCase("errno-105"));
    assertEquals("", ClientMetrics.camelCase("-"));
  }
}
