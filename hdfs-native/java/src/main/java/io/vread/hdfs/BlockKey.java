// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.nio.charset.StandardCharsets;

/** Names a block in one of its states: pool, id and generation stamp. */
final class BlockKey {
  private final String pool;
  private final long id;
  private final long generationStamp;

  BlockKey(String pool, long id, long generationStamp) {
    this.pool = pool;
    this.id = id;
    this.generationStamp = generationStamp;
  }

  String pool() {
    return pool;
  }

  byte[] poolBytes() {
    return pool.getBytes(StandardCharsets.UTF_8);
  }

  long id() {
    return id;
  }

  long generationStamp() {
    return generationStamp;
  }

  /** True for an internal block of an erasure-coded block group: only these have negative ids. */
  boolean striped() {
    return id < 0;
  }

  boolean isOfPool(String poolId) {
    return pool.equals(poolId);
  }

  @Override
  public boolean equals(Object other) {
    if (!(other instanceof BlockKey)) {
      return false;
    }
    BlockKey that = (BlockKey) other;
    return id == that.id && generationStamp == that.generationStamp && pool.equals(that.pool);
  }

  @Override
  public int hashCode() {
    return Long.hashCode(id) * 31 + Long.hashCode(generationStamp);
  }

  @Override
  public String toString() {
    return pool + "/blk_" + id + "_" + generationStamp;
  }
}
