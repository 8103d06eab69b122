// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Protection;
import io.vread.SystemPath;
import io.vread.hdfs.locations.BlockKey;
import java.nio.ByteBuffer;

/**
 * The client plug-in's calls of libvread, through hdfs-native/jni/client.c. Use it only after the
 * native library is loaded.
 */
final class NativeBackend implements Backend {
  static final Backend INSTANCE = new NativeBackend();

  private NativeBackend() {}

  private native long connectTo(
      byte[] endpoint, long poolBytes, int timeoutMs, int readaheadBytes);

  private native long openBlock(
      long connection,
      byte[] poolId,
      long blockId,
      long generationStamp,
      long visibleLength,
      byte[][] storageIds,
      byte[] token,
      int protection);

  private native int readArray(long file, long position, byte[] dst, int offset, int length);

  private native int preadArray(long file, long position, byte[] dst, int offset, int length);

  private native int readDirect(long file, long position, ByteBuffer dst, int offset, int length);

  private native int preadDirect(long file, long position, ByteBuffer dst, int offset, int length);

  @Override
  public native void disconnect(long connection);

  @Override
  public native int ping(long connection);

  @Override
  public native void close(long file);

  @Override
  public native long length(long file);

  @Override
  public native int flags(long file);

  @Override
  public long connect(String endpoint, long poolBytes, int timeoutMs, int readaheadBytes) {
    return connectTo(SystemPath.bytes(endpoint), poolBytes, timeoutMs, readaheadBytes);
  }

  @Override
  public long open(
      long connection,
      BlockKey block,
      long visibleLength,
      byte[][] storageIds,
      byte[] token,
      Protection protection) {
    return openBlock(
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
  public int read(long file, long position, ByteBuffer dst, int length) {
    return dst.isDirect()
        ? readDirect(file, position, dst, dst.position(), length)
        : readArray(file, position, dst.array(), dst.arrayOffset() + dst.position(), length);
  }

  @Override
  public int pread(long file, long position, ByteBuffer dst, int length) {
    return dst.isDirect()
        ? preadDirect(file, position, dst, dst.position(), length)
        : preadArray(file, position, dst.array(), dst.arrayOffset() + dst.position(), length);
  }
}
