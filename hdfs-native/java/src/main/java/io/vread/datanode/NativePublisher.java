// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.Errno;
import io.vread.SystemPath;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.hdfs.security.token.block.BlockKey;

/**
 * The publisher's calls of libvread and of the kernel, through hdfs-native/jni/publisher.c. Use
 * them only after the native library is loaded. An object is one connection.
 */
final class NativePublisher implements PublishChannel {
  private final long connection;

  private NativePublisher(long connection) {
    this.connection = connection;
  }

  /** Returns a connection, or a negative errno. */
  private static native long connect(byte[] endpoint, int timeoutMs);

  private static native void disconnect(long connection);

  private static native boolean connected(long connection);

  private static native int publish(
      long connection,
      int event,
      byte[] poolId,
      long blockId,
      long generationStamp,
      byte[] storageId,
      long length);

  /** numbers: for each key its id, algorithm and expiry. */
  private static native int publishKeys(
      long connection,
      byte[] poolId,
      byte[] storageId,
      boolean tokens,
      long[] numbers,
      byte[][] keys);

  private static native int startWriting(byte[] path);

  private static native int sync(byte[] path, boolean dataOnly);

  static final Disk DISK =
      new Disk() {
        @Override
        public void startWriting(File file) {
          NativePublisher.startWriting(SystemPath.bytes(file.getPath()));
        }

        @Override
        public int syncData(File file) {
          return sync(SystemPath.bytes(file.getPath()), true);
        }

        @Override
        public int syncDirectory(File directory) {
          return sync(SystemPath.bytes(directory.getPath()), false);
        }
      };

  static PublishChannel connect(String endpoint, int timeoutMs) throws IOException {
    long connection = connect(SystemPath.bytes(endpoint), timeoutMs);
    if (connection < 0) {
      String name = Errno.name((int) connection);
      throw new IOException("no connection to the backend through " + endpoint + ": " + name);
    }
    return new NativePublisher(connection);
  }

  @Override
  public int publish(Event event, ReplicaName replica) {
    return publish(
        connection,
        event.code,
        replica.poolId.getBytes(StandardCharsets.US_ASCII),
        replica.blockId,
        replica.generationStamp,
        replica.storageId.getBytes(StandardCharsets.US_ASCII),
        replica.length);
  }

  @Override
  public int publishKeys(String poolId, String storageId, BlockKeys keys) {
    int count = keys.keys.size();
    long[] numbers = new long[3 * count];
    byte[][] bytes = new byte[count][];
    for (int i = 0; i < count; i++) {
      BlockKey key = keys.keys.get(i);
      numbers[3 * i] = key.getKeyId();
      numbers[3 * i + 1] = BlockKeys.algorithm(key);
      numbers[3 * i + 2] = key.getExpiryDate();
      bytes[i] = key.getEncodedKey();
    }
    return publishKeys(
        connection,
        poolId.getBytes(StandardCharsets.US_ASCII),
        storageId.getBytes(StandardCharsets.US_ASCII),
        keys.tokens,
        numbers,
        bytes);
  }

  @Override
  public boolean connected() {
    return connected(connection);
  }

  @Override
  public void close() {
    disconnect(connection);
  }
}
