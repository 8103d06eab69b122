// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.server.datanode.ReplicaHandler;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.StorageLocation;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;

/**
 * The data set that the datanode gets: a proxy that forwards calls to the stock data set and tells
 * the publisher what they change.
 *
 * <p>It is a proxy because {@code FsDatasetSpi} differs from version to version, and because the
 * stock class cannot be extended from outside its package. The stock data set gets every call with
 * its own arguments, and the caller gets the stock result or exception. Only addVolume() of a RAM
 * disk is refused. An error of the publisher can neither fail a call nor change it.
 */
final class PublishingDataset implements InvocationHandler {
  private final FsDatasetSpi<?> stock;
  private final Publisher publisher;
  private final Runnable onShutdown;

  private PublishingDataset(FsDatasetSpi<?> stock, Publisher publisher, Runnable onShutdown) {
    this.stock = stock;
    this.publisher = publisher;
    this.onShutdown = onShutdown;
  }

  /**
   * Returns the data set for the datanode. onShutdown runs before the stock data set is shut down.
   */
  static FsDatasetSpi<?> wrap(FsDatasetSpi<?> stock, Publisher publisher, Runnable onShutdown) {
    return (FsDatasetSpi<?>)
        Proxy.newProxyInstance(
            stock.getClass().getClassLoader(),
            new Class<?>[] {FsDatasetSpi.class},
            new PublishingDataset(stock, publisher, onShutdown));
  }

  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    switch (method.getName()) {
      case "equals":
        return proxy == arguments[0] || stock.equals(arguments[0]);
      case "shutdown":
        onShutdown.run();
        break;
      case "addVolume":
        refuseRamDisk((StorageLocation) arguments[0]);
        break;
      default:
        break;
    }
    Change change = withdraw(method, arguments);
    try {
      return call(method, arguments);
    } finally {
      for (long blockId : change.lookAgainAt) {
        announceIfFinalized(change.poolId, blockId);
      }
    }
  }

  private Object call(Method method, Object[] arguments) throws Throwable {
    try {
      Object result = method.invoke(stock, arguments);
      noteWriting(result);
      return result;
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  /**
   * Refuses a RAM disk. Its lazy writer casts the datanode's data set to the stock class, which
   * fails for a proxy: replicas would stay in memory only.
   */
  private static void refuseRamDisk(StorageLocation location) throws IOException {
    if (location.getStorageType() == StorageType.RAM_DISK) {
      throw new IOException(
          location
              + ": restart the datanode for its first RAM_DISK (vRead's publisher does not "
              + "support RAM_DISK, and is off after the restart)");
    }
  }

  // ---- the publisher's part: no error leaves it --------------------------------

  /** Publishes what a call is about to change. */
  private Change withdraw(Method method, Object[] arguments) {
    Change change = Change.NONE;
    try {
      change = Change.by(stock, method.getName(), arguments);
      if (!change.withdrawn.isEmpty()) {
        publisher.withdraw(change.event, change.withdrawn);
      }
    } catch (RuntimeException | Error e) {
      publisher.statistics().unexpected(e);
    }
    return change;
  }

  private void noteWriting(Object result) {
    try {
      if (result instanceof ReplicaHandler) {
        publisher.writingBegan(((ReplicaHandler) result).getReplica());
      }
    } catch (RuntimeException | Error e) {
      publisher.statistics().unexpected(e);
    }
  }

  private void announceIfFinalized(String poolId, long blockId) {
    try {
      ReplicaInfo replica = Change.findFinalized(stock, poolId, blockId);
      if (replica != null && !replica.isOnTransientStorage()) {
        publisher.announce(new ReplicaName(poolId, replica), replica);
      }
    } catch (RuntimeException | Error e) {
      publisher.statistics().unexpected(e);
    }
  }
}
