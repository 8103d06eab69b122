// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.Clock;
import io.vread.NativeLibrary;
import io.vread.Settings;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.stream.StreamSupport;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.ObjectName;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.DataStorage;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.FsDatasetFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the datanode's stock data set with a {@link Publisher} beside it. The datanode calls it if
 * {@code dfs.datanode.fsdataset.factory} names this class. If anything keeps the publisher from
 * working, the datanode gets its stock data set and runs.
 */
public final class VreadFsDatasetFactory extends FsDatasetSpi.Factory<FsDatasetSpi<?>> {
  private static final Logger LOG = LoggerFactory.getLogger(VreadFsDatasetFactory.class);
  private static final String BEAN = "io.vread:type=Publisher";

  private final PublisherLimits limits;

  /** Hadoop calls it. */
  public VreadFsDatasetFactory() {
    this(PublisherLimits.STANDARD);
  }

  VreadFsDatasetFactory(PublisherLimits limits) {
    this.limits = limits;
  }

  @Override
  public FsDatasetSpi<?> newInstance(DataNode datanode, DataStorage storage, Configuration conf)
      throws IOException {
    FsDatasetSpi.Factory<?> stockFactory = new FsDatasetFactory();
    FsDatasetSpi<?> stock = stockFactory.newInstance(datanode, storage, conf);
    try {
      Settings settings = Settings.of(conf);
      return usable(stock, settings) ? published(datanode, stock, settings) : stock;
    } catch (RuntimeException | Error | IOException e) {
      LOG.warn("vread: blocks are not published, the datanode works as without vread", e);
      return stock;
    }
  }

  private static boolean usable(FsDatasetSpi<?> stock, Settings settings) throws IOException {
    if (!settings.enabled) {
      return false;
    }
    if (hasRamDisk(stock)) {
      LOG.warn("vread: blocks are not published: not supported on a datanode with RAM_DISK");
      return false;
    }
    NativeLibrary library = NativeLibrary.load(settings.libraryPath); // logs why it fails
    return library.usable() || library.mayLoadLater();
  }

  /** A RAM disk does not work with the proxy, see PublishingDataset.refuseRamDisk(). */
  private static boolean hasRamDisk(FsDatasetSpi<?> stock) throws IOException {
    try (FsDatasetSpi.FsVolumeReferences volumes = stock.getFsVolumeReferences()) {
      return StreamSupport.stream(volumes.spliterator(), false)
          .anyMatch(FsVolumeSpi::isTransientStorage);
    }
  }

  private FsDatasetSpi<?> published(
      DataNode datanode, FsDatasetSpi<?> stock, Settings settings) {
    Publisher publisher =
        new Publisher(
            limits,
            () -> connect(settings),
            NativePublisher.DISK,
            new DatanodeKeys(datanode, stock),
            Clock.SYSTEM,
            Clock.SYSTEM);
    ObjectName bean = register(publisher);
    Runnable end =
        () -> {
          publisher.close();
          unregister(bean);
        };
    try {
      publisher.start();
      return PublishingDataset.wrap(stock, publisher, end);
    } catch (RuntimeException | Error e) { // e.g. no memory for a thread
      end.run();
      throw e;
    }
  }

  /**
   * Registers the publisher as a JMX bean. A second datanode in the JVM gets a name with {@code
   * ,instance=2}. Returns the name, null if there is no bean.
   */
  static ObjectName register(Publisher publisher) {
    for (int i = 1; ; i++) {
      try {
        return ManagementFactory.getPlatformMBeanServer()
            .registerMBean(publisher, new ObjectName(i == 1 ? BEAN : BEAN + ",instance=" + i))
            .getObjectName();
      } catch (InstanceAlreadyExistsException e) {
        LOG.debug("vread: another datanode of this JVM has the bean {}", i);
      } catch (JMException e) {
        LOG.warn("vread: no JMX bean {}: {}", BEAN, e.toString());
        return null;
      }
    }
  }

  static void unregister(ObjectName bean) {
    try {
      if (bean != null) {
        ManagementFactory.getPlatformMBeanServer().unregisterMBean(bean);
      }
    } catch (JMException e) {
      LOG.debug("vread: unregistering {}", bean, e);
    }
  }

  private PublishChannel connect(Settings settings) throws IOException {
    NativeLibrary library = NativeLibrary.load(settings.libraryPath);
    if (!library.usable()) {
      throw new IOException(library.reason());
    }
    return NativePublisher.connect(settings.endpoint, (int) limits.timeoutMs);
  }
}
