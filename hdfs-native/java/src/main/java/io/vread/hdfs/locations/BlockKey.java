// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import java.nio.charset.StandardCharsets;

/**
 * Names a block in one of its states: cluster, pool, id and generation stamp.
 *
 * <p>Pool, id and stamp alone are no unique name: a cloned cluster, or one whose NameNode was
 * restored from a backup, gives out the same ones for other bytes. So the cluster, named by its
 * NameNode's address, is part of the key. The backend is told the storages beside the name.
 */
public final class BlockKey {
  private static final long GROUP_MASK = 15; // HdfsServerConstants.BLOCK_GROUP_INDEX_MASK

  private final String cluster;
  private final String pool;
  private final long id;
  private final long generationStamp;

  /** cluster: the authority of its URI; empty if it is not known. */
  public BlockKey(String cluster, String pool, long id, long generationStamp) {
    this.cluster = cluster;
    this.pool = pool;
    this.id = id;
    this.generationStamp = generationStamp;
  }

  public String pool() {
    return pool;
  }

  public byte[] poolBytes() {
    return pool.getBytes(StandardCharsets.UTF_8);
  }

  public long id() {
    return id;
  }

  public long generationStamp() {
    return generationStamp;
  }

  /**
   * True if it may be an internal block of an erasure-coded block group: these have negative ids.
   * So have some blocks that HDFS 1 wrote, whose ids are random numbers.
   */
  public boolean mayBeStriped() {
    return id < 0;
  }

  /** The id under which the NameNode knows the block's group, if the block is striped. */
  long groupId() {
    return id & ~GROUP_MASK;
  }

  /** The place of a striped block in its group. */
  int indexInGroup() {
    return (int) (id & GROUP_MASK);
  }

  @Override
  public boolean equals(Object other) {
    if (!(other instanceof BlockKey)) {
      return false;
    }
    BlockKey that = (BlockKey) other;
    return id == that.id
        && generationStamp == that.generationStamp
        && pool.equals(that.pool)
        && cluster.equals(that.cluster);
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
