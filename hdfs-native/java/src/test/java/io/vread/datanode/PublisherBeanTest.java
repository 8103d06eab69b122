// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.Test;

/** The publisher's JMX bean. */
public class PublisherBeanTest {
  private static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();

  private static final Map<String, Class<?>> TYPES = new HashMap<>();

  static {
    TYPES.put("long", Long.class);
    TYPES.put("boolean", Boolean.class);
    TYPES.put("java.lang.String", String.class);
  }

  @Test
  public void theBeanSaysWhatWasPublishedAndWhatNot() throws Exception {
    ObjectName name = new ObjectName("io.vread:type=Publisher");
    try (Bench bench = new Bench().start()) {
      PublisherBean bean = new PublisherBean(bench.publisher);
      bean.register();
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.publisher.withdraw(
          Event.DELETE,
          Collections.singletonList(
              new ReplicaName(FakeDataset.POOL, bench.stock.replicas.get(7L))));
      bench.publisher.statistics().failed("overflow");
      for (MBeanAttributeInfo attribute : SERVER.getMBeanInfo(name).getAttributes()) {
        Object value = SERVER.getAttribute(name, attribute.getName());
        assertTrue(attribute.toString(), TYPES.get(attribute.getType()).isInstance(value));
      }
      assertEquals(1L, SERVER.getAttribute(name, "delete"));
      assertEquals(0L, SERVER.getAttribute(name, "finalized"));
      assertEquals(1L, SERVER.getAttribute(name, "failed"));
      assertEquals("{\"overflow\":1}", SERVER.getAttribute(name, "reasons"));
      assertEquals(true, SERVER.getAttribute(name, "connected"));
      assertEquals(8, SERVER.getMBeanInfo(name).getAttributes().length);
      bean.unregister();
      assertFalse(SERVER.isRegistered(name));
    }
  }

  @Test
  public void twoDatanodesInOneProcess() throws Exception {
    try (Bench one = new Bench();
        Bench two = new Bench()) {
      PublisherBean first = new PublisherBean(one.publisher);
      PublisherBean second = new PublisherBean(two.publisher);
      first.register();
      second.register();
      assertTrue(SERVER.isRegistered(new ObjectName("io.vread:type=Publisher,instance=2")));
      first.unregister();
      second.unregister();
      assertTrue(SERVER.queryNames(new ObjectName("io.vread:type=Publisher,*"), null).isEmpty());
    }
  }
}
