// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.nio.ByteBuffer;

/**
 * What the plug-in needs of libvread (see vread.h), so that tests can stand in for it.
 *
 * <p>Connections and files are positive numbers; every negative result is an errno (see {@link
 * Errno}). Nothing here throws.
 */
interface Backend {
  int FLAG_FINALIZED = 1;
  int FLAG_REMOTE = 2;

  /** endpoint: empty for libvread's default. */
  long connect(String endpoint, long poolBytes, int timeoutMs, int readaheadBytes);

  /** Only when all files of the connection are closed and no call on it is running. */
  void disconnect(long connection);

  /** 0 if the backend gave a sign of life. */
  int ping(long connection);

  /** visibleLength 0: the replica's own length. token may be null. */
  long open(long connection, BlockKey block, long visibleLength, byte[][] storageIds, byte[] token);

  /** Only when no call on the file is running. */
  void close(long file);

  /** Where reads of the file end. */
  long length(long file);

  int flags(long file);

  /** With read-ahead; one thread at a time. Short only at the end or before an error. */
  int read(long file, long position, byte[] dst, int offset, int length);

  int readDirect(long file, long position, ByteBuffer dst, int offset, int length);

  /** Without; any number of threads. */
  int pread(long file, long position, byte[] dst, int offset, int length);

  int preadDirect(long file, long position, ByteBuffer dst, int offset, int length);
}
