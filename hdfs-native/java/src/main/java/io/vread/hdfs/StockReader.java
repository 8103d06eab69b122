// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.io.Closeable;
import java.io.IOException;

/** A block as the stock client reads it. One thread at a time. */
interface StockReader extends Closeable {
  /** Opens one when it is needed. */
  interface Opener {
    StockReader open() throws IOException;
  }

  /** At least one byte, or an exception, which is the stock client's own. */
  int read(long position, byte[] dst, int offset, int length) throws IOException;

  boolean isShortCircuit();

  int networkDistance();
}
