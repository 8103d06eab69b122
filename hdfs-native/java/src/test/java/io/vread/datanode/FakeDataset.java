// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.File;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.channels.ClosedChannelException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaBeingWritten;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeReference;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;

/**
 * A data set with the replicas and behaviours that a test gives it. Every call but getReplica adds
 * "call NAME" to the story.
 */
final class FakeDataset implements InvocationHandler {
  static final String POOL = "BP-1";

  /** What a method of the fake does. */
  interface Behaviour {
    Object call(Object[] arguments) throws Throwable;
  }

  final Story story;
  final FsDatasetSpi<?> spi;
  final Map<Long, ReplicaInfo> replicas = new ConcurrentHashMap<>();
  final Map<String, Behaviour> behaviours = new ConcurrentHashMap<>();
  final AtomicInteger references = new AtomicInteger();
  volatile boolean volumesClosed;

  FakeDataset(Story story) {
    this.story = story;
    this.spi = proxy(FsDatasetSpi.class, this);
  }

  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    if (method.getName().equals("getReplica")) {
      if (behaviours.containsKey("getReplica")) {
        return behaviours.get("getReplica").call(arguments);
      }
      return POOL.equals(arguments[0]) ? replicas.get((Long) arguments[1]) : null;
    }
    story.add("call " + method.getName());
    Behaviour behaviour = behaviours.get(method.getName());
    return behaviour == null ? nothing(method.getReturnType()) : behaviour.call(arguments);
  }

  private static Object nothing(Class<?> type) {
    if (type == boolean.class) {
      return false;
    }
    return type == int.class ? (Object) 0 : type == long.class ? (Object) 0L : null;
  }

  void finalized(long id, long stamp, long length, String storage) {
    replicas.put(id, new FinalizedReplica(id, length, stamp, volume(storage, false), dir(storage)));
  }

  void finalizedInMemory(long id, long stamp) {
    replicas.put(id, new FinalizedReplica(id, 1, stamp, volume("RAM", true), dir("RAM")));
  }

  void beingWritten(long id, long stamp, long length, String storage) {
    FsVolumeSpi volume = volume(storage, false);
    replicas.put(
        id, new ReplicaBeingWritten(id, length, stamp, volume, dir(storage), null, length));
  }

  private static File dir(String storage) {
    return new File("/data/" + storage + "/current/" + POOL + "/current/finalized/dir-" + storage);
  }

  FsVolumeSpi volume(String storage, boolean inMemory) {
    return proxy(
        FsVolumeSpi.class,
        (proxy, method, arguments) -> {
          switch (method.getName()) {
            case "getStorageID":
              return storage;
            case "isTransientStorage":
              return inMemory;
            case "getBaseURI":
              return new File("/data/" + storage).toURI();
            case "obtainReference":
              return reference();
            default:
              return nothing(method.getReturnType());
          }
        });
  }

  private FsVolumeReference reference() throws ClosedChannelException {
    if (volumesClosed) {
      throw new ClosedChannelException();
    }
    references.incrementAndGet();
    return proxy(
        FsVolumeReference.class,
        (proxy, method, arguments) -> {
          references.decrementAndGet();
          return null;
        });
  }

  static <T> T proxy(Class<T> type, InvocationHandler handler) {
    ClassLoader loader = FakeDataset.class.getClassLoader();
    return type.cast(Proxy.newProxyInstance(loader, new Class<?>[] {type}, handler));
  }
}
