// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Errno;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One open replica, counted. Its readers and the {@link ReplicaCache} hold references; the last
 * release closes it.
 *
 * <p>Any number of positional reads share the replica. Its one position, with the read-ahead behind
 * it, belongs to one sequential reader at a time, which takes it by {@link #takeCursor}.
 */
public final class Replica extends Counted {
  private final Connection connection;
  private final long file;
  private final long length;
  private final int flags;
  private final AtomicBoolean cursorTaken = new AtomicBoolean();

  /** Takes over file, and a reference to connection. */
  Replica(Connection connection, long file) {
    this.connection = connection;
    this.file = file;
    this.length = connection.backend().length(file);
    this.flags = connection.backend().flags(file);
  }

  Connection connection() {
    return connection;
  }

  /** The position at which reads end. */
  public long length() {
    return length;
  }

  public boolean finalised() {
    return flags >= 0 && (flags & Backend.FLAG_FINALIZED) != 0;
  }

  public boolean remote() {
    return flags >= 0 && (flags & Backend.FLAG_REMOTE) != 0;
  }

  @Override
  void end() {
    connection.backend().close(file);
    connection.release();
  }

  boolean takeCursor() {
    return cursorTaken.compareAndSet(false, true);
  }

  void giveCursor() {
    cursorTaken.set(false);
  }

  // An unusable connection is not asked: it may hang, and a reader has waited for it already.

  /**
   * Reads with read-ahead, to dst's position, and moves it by the bytes read. Returns their number
   * or a negative errno. Only the reader that has the cursor may call it.
   */
  int read(long position, ByteBuffer dst, int count) {
    return moved(
        dst,
        connection.usable()
            ? connection.backend().read(file, position, dst, count)
            : Errno.ENOTCONN);
  }

  /** The same without read-ahead and cursor. */
  public int pread(long position, ByteBuffer dst, int count) {
    return moved(
        dst,
        connection.usable()
            ? connection.backend().pread(file, position, dst, count)
            : Errno.ENOTCONN);
  }

  private static int moved(ByteBuffer dst, int result) {
    dst.position(dst.position() + Math.max(result, 0));
    return result;
  }
}
