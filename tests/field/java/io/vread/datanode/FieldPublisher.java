// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.NativeLibrary;
import java.io.File;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Collections;
import org.apache.hadoop.hdfs.security.token.block.BlockKey;
import org.apache.hadoop.hdfs.server.datanode.Replica;

/**
 * Makes each native call of the publisher once, in a JVM that a test has made peculiar, and prints
 * the results. arguments: endpoint, pool, id, stamp, storage and length of a block; a folder, which
 * is made durable.
 */
public final class FieldPublisher {
  private FieldPublisher() {}

  public static void main(String[] arguments) throws Exception {
    if (!NativeLibrary.load(null).usable()) {
      throw new IllegalStateException("no library");
    }
    String pool = arguments[1];
    ReplicaName name = new ReplicaName(pool, replica(arguments));
    BlockKeys keys =
        BlockKeys.on(Arrays.asList(new BlockKey(1, Long.MAX_VALUE, new byte[20])));
    PublishChannel channel = NativePublisher.connect(arguments[0], 60_000);
    System.out.println(channel.connected());
    for (Event event : Event.values()) {
      System.out.println(event + " " + channel.publish(event, name));
    }
    System.out.println(channel.publishKeys(pool, arguments[4], keys));
    BlockKeys none = BlockKeys.on(Collections.emptyList());
    System.out.println(channel.publishKeys(pool, arguments[4], none));
    System.out.println(channel.publishKeys(pool, arguments[4], BlockKeys.OFF));
    channel.close();
    File folder = new File(arguments[6]);
    System.out.println(NativePublisher.DISK.syncDirectory(folder));
    System.out.println(NativePublisher.DISK.syncData(new File(folder, "missing")));
  }

  private static Replica replica(String[] block) {
    return (Replica)
        Proxy.newProxyInstance(
            Replica.class.getClassLoader(),
            new Class<?>[] {Replica.class},
            (proxy, method, nothing) -> {
              switch (method.getName()) {
                case "getBlockId":
                  return Long.parseLong(block[2]);
                case "getGenerationStamp":
                  return Long.parseLong(block[3]);
                case "getStorageUuid":
                  return block[4];
                case "getNumBytes":
                  return Long.parseLong(block[5]);
                default:
                  return null;
              }
            });
  }
}
