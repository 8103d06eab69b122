// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import java.io.IOException;

/** A stock reader over the network of a made-up block, for tests. */
public class FakeStockReader implements StockReader {
  private final FakeBackend.Block block;
  private final int mostBytes;

  boolean open = true;

  /** mostBytes: of each read. */
  public FakeStockReader(FakeBackend.Block block, int mostBytes) {
    this.block = block;
    this.mostBytes = mostBytes;
  }

  @Override
  public int read(long position, byte[] dst, int offset, int length) throws IOException {
    int count = Math.min(length, mostBytes);
    System.arraycopy(block.content, (int) position, dst, offset, count);
    return count;
  }

  @Override
  public void restart(long end) {}

  @Override
  public boolean isShortCircuit() {
    return false;
  }

  @Override
  public int networkDistance() {
    return 4;
  }

  @Override
  public void close() {
    open = false;
  }
}
