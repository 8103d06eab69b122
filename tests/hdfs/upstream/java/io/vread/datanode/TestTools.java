// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.datanode;

import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.FsDatasetTestUtils;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.FsDatasetImplTestUtils;
import org.mockito.Mockito;

/**
 * Makes the tools with which Hadoop's tests spoil replicas behind a datanode's back. Hadoop takes
 * this class from a property, which tests/support/upstream.py sets. The stock tools want the stock
 * data set, so they get a datanode that has the one behind the publisher's proxy.
 */
public final class TestTools extends FsDatasetTestUtils.Factory<FsDatasetTestUtils> {
  private static final int STOCK_DATA_DIRS = 2;

  /** Publishes blocks soon after they are written: Hadoop's tests read them at once. */
  public static VreadFsDatasetFactory quickFactory() {
    PublisherLimits standard = PublisherLimits.STANDARD;
    return new VreadFsDatasetFactory(
        new PublisherLimits(
            standard.timeoutMs, 5, standard.maxDelayMs, standard.queueLimit, standard.backoffMs));
  }

  @Override
  public FsDatasetTestUtils newInstance(DataNode datanode) {
    FsDatasetSpi<?> stock = stock(datanode.getFSDataset());
    DataNode stockDatanode = Mockito.mock(DataNode.class);
    Mockito.doReturn(stock).when(stockDatanode).getFSDataset();
    Mockito.doReturn(datanode.getConf()).when(stockDatanode).getConf();
    return new FsDatasetImplTestUtils(stockDatanode);
  }

  @Override
  public int getDefaultNumOfDataDirs() {
    return STOCK_DATA_DIRS;
  }

  private static FsDatasetSpi<?> stock(FsDatasetSpi<?> dataset) {
    if (!Proxy.isProxyClass(dataset.getClass())) {
      return dataset;
    }
    try {
      Field stock = PublishingDataset.class.getDeclaredField("stock");
      stock.setAccessible(true);
      return (FsDatasetSpi<?>) stock.get(Proxy.getInvocationHandler(dataset));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }
}
