// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.upstream;

import io.vread.hdfs.VreadReplicaAccessorBuilder;
import java.lang.management.ManagementFactory;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.ReplicaAccessor;
import org.apache.hadoop.hdfs.ReplicaAccessorBuilder;

/**
 * vRead's builder, but it waits until the datanodes of this JVM have published what they have
 * finalized. Hadoop's tests read a block some ms after it was written, and would nearly always read
 * it by TCP. Datanodes and client of these tests are in one JVM, so the beans of the publishers are
 * here. A publisher that does not get done in {@link #LONGEST_MS} is not waited for.
 */
public final class PatientBuilder extends ReplicaAccessorBuilder {
  private static final long LONGEST_MS = 1500;
  private static final long PAUSE_MS = 5;
  private static final MBeanServer BEANS = ManagementFactory.getPlatformMBeanServer();

  private final ReplicaAccessorBuilder vread = new VreadReplicaAccessorBuilder();

  @Override
  public ReplicaAccessorBuilder setFileName(String name) {
    vread.setFileName(name);
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setBlock(long id, String pool) {
    vread.setBlock(id, pool);
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setGenerationStamp(long stamp) {
    vread.setGenerationStamp(stamp);
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setVerifyChecksum(boolean verify) {
    vread.setVerifyChecksum(verify);
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setClientName(String name) {
    vread.setClientName(name);
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setAllowShortCircuitReads(boolean allow) {
    vread.setAllowShortCircuitReads(allow);
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setVisibleLength(long length) {
    vread.setVisibleLength(length);
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setConfiguration(Configuration conf) {
    vread.setConfiguration(conf);
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setBlockAccessToken(byte[] token) {
    vread.setBlockAccessToken(token);
    return this;
  }

  @Override
  public ReplicaAccessor build() {
    try {
      awaitPublishers();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the test wants this thread to end
    } catch (JMException e) {
      throw new IllegalStateException(e);
    }
    return vread.build();
  }

  private static void awaitPublishers() throws InterruptedException, JMException {
    long end = System.nanoTime() + LONGEST_MS * 1_000_000;
    while (pending() && System.nanoTime() < end) {
      Thread.sleep(PAUSE_MS);
    }
  }

  private static boolean pending() throws JMException {
    for (ObjectName name : BEANS.queryNames(new ObjectName("io.vread:type=Publisher,*"), null)) {
      try {
        if ((long) BEANS.getAttribute(name, "Pending") > 0) {
          return true;
        }
      } catch (InstanceNotFoundException e) {
        continue; // the datanode has ended meanwhile
      }
    }
    return false;
  }
}
