// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Collections;
import javax.management.JMX;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.Test;

/** The publisher's JMX bean. */
public class PublisherBeanTest {
  private static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();

  @Test
  public void theBeanSaysWhatWasPublishedAndWhatNot() throws Exception {
    ObjectName name = new ObjectName("io.vread:type=Publisher");
    try (Bench bench = new Bench().start()) {
      assertEquals(name, VreadFsDatasetFactory.register(bench.publisher));
      bench.stock.finalized(7, 1001, 5, "DS-1");
      ReplicaName replica = new ReplicaName(FakeDataset.POOL, bench.stock.replicas.get(7L));
      bench.publisher.withdraw(Event.APPEND, Collections.singletonList(replica));
      bench.publisher.withdraw(Event.TRUNCATE, Arrays.asList(replica, replica));
      bench.publisher.withdraw(Event.DELETE, Arrays.asList(replica, replica, replica));
      bench.publisher.statistics().failed("overflow");
      bench.publisher.statistics().failed("overflow");
      bench.publisher.statistics().failed("late");
      PublisherMXBean bean = JMX.newMXBeanProxy(SERVER, name, PublisherMXBean.class);
      assertEquals(0, bean.getFinalized());
      assertEquals(1, bean.getAppend());
      assertEquals(2, bean.getTruncate());
      assertEquals(3, bean.getDelete());
      assertEquals(0, bean.getPending());
      assertEquals(3, bean.getFailed());
      assertEquals("{late=1, overflow=2}", bean.getReasons().toString());
      assertTrue(bean.isConnected());
      assertEquals(8, SERVER.getMBeanInfo(name).getAttributes().length);
      VreadFsDatasetFactory.unregister(name);
      assertFalse(SERVER.isRegistered(name));
    }
  }

  @Test
  public void twoDatanodesInOneProcess() throws Exception {
    try (Bench one = new Bench();
        Bench two = new Bench()) {
      ObjectName first = VreadFsDatasetFactory.register(one.publisher);
      ObjectName second = VreadFsDatasetFactory.register(two.publisher);
      assertEquals(new ObjectName("io.vread:type=Publisher,instance=2"), second);
      VreadFsDatasetFactory.unregister(first);
      VreadFsDatasetFactory.unregister(second);
      assertTrue(SERVER.queryNames(new ObjectName("io.vread:type=Publisher,*"), null).isEmpty());
    }
  }
}
