// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import io.vread.BoundedMap;
import io.vread.Clock;
import java.io.IOException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.security.UserGroupInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The contexts of stock file systems: those of programs that set the plug-in's property, but not
 * {@code fs.hdfs.impl}.
 *
 * <p>A builder is told the name of the client that reads. This name is unique, and Hadoop keeps all
 * file systems of the process in one map. So the client, with its NameNode and its user, is found
 * by its name and not guessed from a configuration.
 */
public final class StockFileSystems {
  private static final Logger LOG = LoggerFactory.getLogger(StockFileSystems.class);
  private static final int CONTEXTS = 64;

  private static final Map<String, FileSystemContext> BY_CLIENT = BoundedMap.of(CONTEXTS);

  private StockFileSystems() {}

  static FileSystemContext context(String clientName) throws IOException {
    synchronized (BY_CLIENT) {
      FileSystemContext context = BY_CLIENT.get(clientName);
      if (context == null) {
        context =
            new FileSystemContext(
                clientName,
                UserGroupInformation.getCurrentUser(),
                () -> find(clientName),
                Clock.SYSTEM,
                NameNodeCalls.ofProcess());
        BY_CLIENT.put(clientName, context);
      }
      return context;
    }
  }

  /** May wait: Hadoop's map is locked while file systems are closed. Null: not found. */
  private static DFSClient find(String clientName) {
    for (FileSystem each : all()) {
      if (each instanceof DistributedFileSystem) {
        DFSClient client = ((DistributedFileSystem) each).getClient();
        if (client != null && client.getClientName().equals(clientName)) {
          return client;
        }
      }
    }
    return null;
  }

  private static List<FileSystem> all() {
    List<FileSystem> result = new ArrayList<>();
    try {
      Object cache = value(FileSystem.class, "CACHE", null);
      synchronized (cache) {
        for (Object each : ((Map<?, ?>) value(cache.getClass(), "map", cache)).values()) {
          result.add((FileSystem) each);
        }
      }
    } catch (ReflectiveOperationException | RuntimeException e) {
      LOG.debug("vread: Hadoop's file systems cannot be listed", e);
    }
    return result;
  }

  private static Object value(Class<?> type, String name, Object of)
      throws ReflectiveOperationException {
    Field field = type.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(of);
  }
}
