// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.Errno;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One open replica, shared by whoever reads it and by the cache, and closed by the last to let go.
 *
 * <p>Positional reads share it freely; its one position, with the read-ahead behind it, belongs to
 * one sequential reader at a time, who takes it by {@link #takeCursor}.
 */
final class Replica extends Counted {
  private final Connection connection;
  private final long file;
  private final long length;
  private final int flags;
  private final AtomicBoolean cursorTaken = new AtomicBoolean();

  /** Takes over file, and a reference of connection. */
  Replica(Connection connection, long file) {
    this.connection = connection;
    this.file = file;
    this.length = connection.backend().length(file);
    this.flags = connection.backend().flags(file);
  }

  Connection connection() {
    return connection;
  }

  /** Where reads of it end. */
  long length() {
    return length;
  }

  boolean finalised() {
    return flags >= 0 && (flags & Backend.FLAG_FINALIZED) != 0;
  }

  boolean remote() {
    return flags >= 0 && (flags & Backend.FLAG_REMOTE) != 0;
  }

  @Override
  void end() {
    connection.backend().close(file);
    connection.release();
  }

  /** By anybody but the cache. */
  boolean unused() {
    return heldByOne();
  }

  boolean takeCursor() {
    return cursorTaken.compareAndSet(false, true);
  }

  void giveCursor() {
    cursorTaken.set(false);
  }

  // An unusable connection is not asked: it may hang, and that has been waited for already.

  /** With read-ahead; only for who has the cursor. */
  int read(long position, byte[] dst, int offset, int count) {
    return connection.usable()
        ? connection.backend().read(file, position, dst, offset, count)
        : Errno.ENOTCONN;
  }

  /** At the buffer's position, which is left alone. */
  int read(long position, ByteBuffer direct, int count) {
    return connection.usable()
        ? connection.backend().readDirect(file, position, direct, direct.position(), count)
        : Errno.ENOTCONN;
  }

  int pread(long position, byte[] dst, int offset, int count) {
    return connection.usable()
        ? connection.backend().pread(file, position, dst, offset, count)
        : Errno.ENOTCONN;
  }

  int pread(long position, ByteBuffer direct, int count) {
    return connection.usable()
        ? connection.backend().preadDirect(file, position, direct, direct.position(), count)
        : Errno.ENOTCONN;
  }
}
