// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.Clock;
import io.vread.NativeLibrary;
import io.vread.Settings;
import java.io.IOException;
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
      return usable(stock, conf) ? published(datanode, stock, conf) : stock;
    } catch (RuntimeException | Error | IOException e) {
      LOG.warn("vread: blocks are not published, the datanode works as without vread", e);
      return stock;
    }
  }

  private static boolean usable(FsDatasetSpi<?> stock, Configuration conf) throws IOException {
    Settings settings = Settings.of(conf);
    if (!settings.enabled()) {
      return false;
    }
    if (hasRamDisk(stock)) {
      LOG.warn("vread: blocks are not published: not supported on a datanode with RAM_DISK");
      return false;
    }
    NativeLibrary library = NativeLibrary.load(settings.libraryPath()); // logs why it fails
    return library.usable() || library.mayLoadLater();
  }

  /** A RAM disk does not work with the proxy, see PublishingDataset.refuseRamDisk(). */
  private static boolean hasRamDisk(FsDatasetSpi<?> stock) throws IOException {
    try (FsDatasetSpi.FsVolumeReferences volumes = stock.getFsVolumeReferences()) {
      for (FsVolumeSpi volume : volumes) {
        if (volume.isTransientStorage()) {
          return true;
        }
      }
      return false;
    }
  }

  private FsDatasetSpi<?> published(
      DataNode datanode, FsDatasetSpi<?> stock, Configuration conf) {
    Settings settings = Settings.of(conf);
    Publisher publisher =
        new Publisher(
            limits,
            () -> connect(settings),
            NativePublisher.DISK,
            new DatanodeKeys(datanode, stock),
            Clock.SYSTEM,
            Clock.SYSTEM);
    PublisherBean bean = new PublisherBean(publisher);
    Runnable end =
        () -> {
          publisher.close();
          bean.unregister();
        };
    FsDatasetSpi<?> dataset = PublishingDataset.wrap(stock, publisher, end);
    try {
      bean.register();
      publisher.start();
    } catch (RuntimeException | Error e) { // e.g. no memory for a thread
      end.run();
      throw e;
    }
    return dataset;
  }

  private PublishChannel connect(Settings settings) throws IOException {
    NativeLibrary library = NativeLibrary.load(settings.libraryPath());
    if (!library.usable()) {
      throw new IOException(library.reason());
    }
    return NativePublisher.connect(settings.endpoint(), (int) limits.timeoutMs);
  }
}
