// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.nio.ByteBuffer;

/**
 * Where a read's bytes go: a part of an array, or a buffer from its position on.
 * {@link VreadReplicaAccessor} makes one per read.
 */
interface Target {
  /** How many bytes still fit. */
  int remaining();

  /** True if replicas can write into it without a copy in between. */
  boolean reachable();

  /**
   * Reads count bytes into it with read-ahead, and moves on by the bytes read. Returns their number
   * or a negative errno.
   */
  int read(Replica replica, long position, int count);

  /** The same without read-ahead. */
  int pread(Replica replica, long position, int count);

  void put(byte[] src, int offset, int count);

  final class OfArray implements Target {
    private final byte[] array;
    private int offset;
    private final int end;

    OfArray(byte[] array, int offset, int count) {
      this.array = array;
      this.offset = offset;
      this.end = offset + count;
    }

    @Override
    public int remaining() {
      return end - offset;
    }

    @Override
    public boolean reachable() {
      return true;
    }

    @Override
    public int read(Replica replica, long position, int count) {
      return moved(replica.read(position, array, offset, count));
    }

    @Override
    public int pread(Replica replica, long position, int count) {
      return moved(replica.pread(position, array, offset, count));
    }

    @Override
    public void put(byte[] src, int from, int count) {
      System.arraycopy(src, from, array, offset, count);
      offset += count;
    }

    private int moved(int count) {
      offset += Math.max(count, 0);
      return count;
    }
  }

  final class OfBuffer implements Target {
    private final ByteBuffer buffer;

    OfBuffer(ByteBuffer buffer) {
      this.buffer = buffer;
    }

    @Override
    public int remaining() {
      return buffer.remaining();
    }

    @Override
    public boolean reachable() {
      return buffer.isDirect() || buffer.hasArray();
    }

    @Override
    public int read(Replica replica, long position, int count) {
      return moved(
          buffer.isDirect()
              ? replica.read(position, buffer, count)
              : replica.read(position, buffer.array(), arrayOffset(), count));
    }

    @Override
    public int pread(Replica replica, long position, int count) {
      return moved(
          buffer.isDirect()
              ? replica.pread(position, buffer, count)
              : replica.pread(position, buffer.array(), arrayOffset(), count));
    }

    @Override
    public void put(byte[] src, int from, int count) {
      buffer.put(src, from, count);
    }

    private int arrayOffset() {
      return buffer.arrayOffset() + buffer.position();
    }

    private int moved(int count) {
      buffer.position(buffer.position() + Math.max(count, 0));
      return count;
    }
  }
}
