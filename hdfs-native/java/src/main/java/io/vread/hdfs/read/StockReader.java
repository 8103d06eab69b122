// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import java.io.Closeable;
import java.io.IOException;

/** Reads a block as the stock client does. One thread at a time. */
public interface StockReader extends Closeable {
  /** Opens a reader when it is needed, to read up to position end of the block. */
  interface Opener {
    StockReader open(long end) throws IOException;
  }

  /** Returns at least one byte, or throws the stock client's own exception. */
  int read(long position, byte[] dst, int offset, int length) throws IOException;

  /** The next reads are those of a new reader, up to position end. The NameNode is not asked. */
  void restart(long end) throws IOException;

  boolean isShortCircuit();

  int networkDistance();
}
