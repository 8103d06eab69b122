// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Clock;
import io.vread.Protection;
import io.vread.hdfs.locations.BlockKey;
import io.vread.hdfs.locations.BlockLocation;
import io.vread.hdfs.locations.FileSystemContext;
import io.vread.hdfs.locations.NameNodeCalls;
import java.util.Arrays;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo.DatanodeInfoBuilder;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;

/** Made-up reads, file systems and answers of the NameNode "nn" for tests. */
public final class Reads {
  public static final String FILE = "/a";
  public static final String HERE = "127.0.0.1";
  public static final String ELSEWHERE = "192.0.2.1";

  private Reads() {}

  /** A file system that sees its NameNode's answers, and has no client yet. */
  public static FileSystemContext context(Clock clock) {
    NameNodeCalls calls = new NameNodeCalls(Runnable::run, new ScheduledThreadPoolExecutor(0));
    return new FileSystemContext("nn", null, null, clock, calls);
  }

  public static BlockRead of(BlockKey block, long length) {
    return of(block, length, null, null);
  }

  /** A read of a block on another machine, by a client that does not know of encryption. */
  public static BlockRead of(BlockKey block, long length, byte[] token, StockReader.Opener stock) {
    BlockLocation location = location(block, ELSEWHERE, "DS-1");
    return new BlockRead(
        context(Clock.SYSTEM),
        block,
        length,
        token,
        location,
        stock,
        false,
        Protection.AUTHENTICATION);
  }

  public static BlockLocation location(BlockKey block, String address, String... storages) {
    return new BlockLocation(located(block, address, storages), new BlockLocation.Places());
  }

  public static LocatedBlock located(BlockKey block, String address, String... storages) {
    DatanodeInfo[] datanodes = new DatanodeInfo[storages.length];
    StorageType[] types = new StorageType[storages.length];
    for (int i = 0; i < storages.length; i++) {
      DatanodeID id = new DatanodeID(address, "dn" + i, "uuid-" + i, 1, 2, 3, 4);
      datanodes[i] = new DatanodeInfoBuilder().setNodeID(id).build();
      types[i] = StorageType.DISK;
    }
    ExtendedBlock name =
        new ExtendedBlock(block.pool(), block.id(), 1000, block.generationStamp());
    return new LocatedBlock(name, datanodes, storages, types, 0, false, null);
  }

  public static LocatedBlocks answer(LocatedBlock... blocks) {
    LocatedBlock last = blocks.length == 0 ? null : blocks[blocks.length - 1];
    return new LocatedBlocks(
        1000L * blocks.length, false, Arrays.asList(blocks), last, true, null, null);
  }
}
