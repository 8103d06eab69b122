// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.Protection;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;

/**
 * The client plug-in's calls of libvread, through hdfs-native/jni/client.c. {@link Client} uses
 * them as a {@link Backend}. Use them only after the native library is loaded.
 */
final class NativeBackend {
  private NativeBackend() {}

  static native long connect(
      byte[] endpoint, long poolBytes, int timeoutMs, int readaheadBytes);

  static native void disconnect(long connection);

  static native int ping(long connection);

  static native long open(
      long connection,
      byte[] poolId,
      long blockId,
      long generationStamp,
      long visibleLength,
      byte[][] storageIds,
      byte[] token,
      int protection);

  static native void close(long file);

  static native long length(long file);

  static native int flags(long file);

  static native int read(long file, long position, byte[] dst, int offset, int length);

  static native int pread(long file, long position, byte[] dst, int offset, int length);

  static native int readDirect(long file, long position, ByteBuffer dst, int offset, int length);

  static native int preadDirect(long file, long position, ByteBuffer dst, int offset, int length);

  /** The native methods as an object. */
  static final Backend INSTANCE =
      new Backend() {
        @Override
        public long connect(
            String endpoint, long poolBytes, int timeoutMs, int readaheadBytes) {
          byte[] path = endpoint.getBytes(Charset.defaultCharset());
          return NativeBackend.connect(path, poolBytes, timeoutMs, readaheadBytes);
        }

        @Override
        public void disconnect(long connection) {
          NativeBackend.disconnect(connection);
        }

        @Override
        public int ping(long connection) {
          return NativeBackend.ping(connection);
        }

        @Override
        public long open(
            long connection,
            BlockKey block,
            long visibleLength,
            byte[][] storageIds,
            byte[] token,
            Protection protection) {
          return NativeBackend.open(
              connection,
              block.poolBytes(),
              block.id(),
              block.generationStamp(),
              visibleLength,
              storageIds,
              token,
              protection.code());
        }

        @Override
        public void close(long file) {
          NativeBackend.close(file);
        }

        @Override
        public long length(long file) {
          return NativeBackend.length(file);
        }

        @Override
        public int flags(long file) {
          return NativeBackend.flags(file);
        }

        @Override
        public int read(long file, long position, byte[] dst, int offset, int length) {
          return NativeBackend.read(file, position, dst, offset, length);
        }

        @Override
        public int readDirect(long file, long position, ByteBuffer dst, int offset, int length) {
          return NativeBackend.readDirect(file, position, dst, offset, length);
        }

        @Override
        public int pread(long file, long position, byte[] dst, int offset, int length) {
          return NativeBackend.pread(file, position, dst, offset, length);
        }

        @Override
        public int preadDirect(long file, long position, ByteBuffer dst, int offset, int length) {
          return NativeBackend.preadDirect(file, position, dst, offset, length);
        }
      };
}
