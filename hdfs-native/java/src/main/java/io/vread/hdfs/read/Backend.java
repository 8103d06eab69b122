// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Errno;
import io.vread.Protection;
import io.vread.hdfs.locations.BlockKey;
import java.nio.ByteBuffer;

/**
 * The calls of libvread that the client plug-in needs (see vread.h). Tests use a fake.
 *
 * <p>Connections and files are positive numbers; every negative result is an errno (see
 * {@link Errno}). No call throws.
 */
public interface Backend {
  int FLAG_FINALIZED = 1;
  int FLAG_REMOTE = 2;

  /** endpoint: empty for libvread's default. */
  long connect(String endpoint, long poolBytes, int timeoutMs, int readaheadBytes);

  /** Call only when all files of the connection are closed and no call on it is running. */
  void disconnect(long connection);

  /** Returns 0 if the backend answered. */
  int ping(long connection);

  /**
   * visibleLength 0: the replica's own length. token may be null. protection: how bytes of another
   * host must be protected on their way.
   */
  long open(
      long connection,
      BlockKey block,
      long visibleLength,
      byte[][] storageIds,
      byte[] token,
      Protection protection);

  /** Call only when no call on the file is running. */
  void close(long file);

  /** Where reads of the file end. */
  long length(long file);

  int flags(long file);

  /**
   * Reads with read-ahead; one thread at a time. Short only at the end or before an error. dst: a
   * buffer that is direct or has an array, and room for length bytes at its position, which stays.
   */
  int read(long file, long position, ByteBuffer dst, int length);

  /** As {@link #read}, but without read-ahead, and by any number of threads. */
  int pread(long file, long position, ByteBuffer dst, int length);
}
