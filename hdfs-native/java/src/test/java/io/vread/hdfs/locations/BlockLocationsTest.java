// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import io.vread.Eventually;
import io.vread.hdfs.read.Reads;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.ErasureCodingPolicy;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;
import org.apache.hadoop.hdfs.protocol.LocatedStripedBlock;
import org.apache.hadoop.io.erasurecode.ECSchema;
import org.junit.Test;

/** What is known of an answer of the NameNode, and for how long. */
public class BlockLocationsTest {
  private static final BlockKey BLOCK = new BlockKey("nn", "BP-1", 1, 1001);

  private final BlockLocations locations = new BlockLocations();

  private static String[] storages(BlockLocation location) {
    String[] names = new String[location.storages().length];
    for (int i = 0; i < names.length; i++) {
      names[i] = new String(location.storages()[i]);
    }
    return names;
  }

  @Test
  public void whatTheNameNodeSaid() {
    LocatedBlock block = Reads.located(BLOCK, Reads.ELSEWHERE, "DS-2", "DS-1");
    locations.learn("/a", Reads.answer(block));
    assertArrayEquals(
        new String[] {"DS-2", "DS-1"}, storages(locations.find("/a", BLOCK)));
    assertSame(block, locations.find("/a", BLOCK).block());
    assertEquals("DS-1,DS-2", locations.find("/a", BLOCK).storagesName());
    assertNull("another file", locations.find("/b", BLOCK));
    assertNull("another pool", locations.find("/a", new BlockKey("nn", "BP-2", 1, 1001)));
    assertNull("another stamp", locations.find("/a", new BlockKey("nn", "BP-1", 1, 1002)));
    locations.learn("/a", null);
    assertNotNull(locations.find("/a", BLOCK));
  }

  @Test
  public void theNewestAnswerCountsWhileSomebodyHasIt() {
    LocatedBlock old = Reads.located(BLOCK, Reads.ELSEWHERE, "DS-1");
    locations.learn("/a", Reads.answer(old));
    learnAndForget("DS-2");
    LocatedBlock third = Reads.located(BLOCK, Reads.ELSEWHERE, "DS-3");
    locations.learn("/a", Reads.answer(third));
    assertSame(third, locations.find("/a", BLOCK).block());
    third = null;
    Eventually.until(
        () -> {
          System.gc();
          return storages(locations.find("/a", BLOCK))[0].equals("DS-1");
        },
        () -> "the answer that is still in use was not found");
    assertSame(old, locations.find("/a", BLOCK).block());
    old = null;
    Eventually.until(
        () -> {
          System.gc();
          return locations.size() == 0;
        },
        () -> locations.size() + " blocks are kept that nobody reads");
    assertNull(locations.find("/a", BLOCK));
  }

  private void learnAndForget(String storage) {
    locations.learn("/a", Reads.answer(Reads.located(BLOCK, Reads.ELSEWHERE, storage)));
  }

  @Test
  public void aFileBeingWrittenHasItsLastBlockApart() {
    LocatedBlock last = Reads.located(BLOCK, Reads.ELSEWHERE, "DS-1");
    locations.learn(
        "/a",
        new LocatedBlocks(
            0, true, java.util.Collections.emptyList(), last, false, null, null));
    assertSame(last, locations.find("/a", BLOCK).block());
  }

  @Test
  public void blocksOfAGroupHaveOneStorageEach() {
    ErasureCodingPolicy policy =
        new ErasureCodingPolicy(new ECSchema("rs", 2, 1), 64 << 10, (byte) 65);
    LocatedBlock three = Reads.located(BLOCK, Reads.ELSEWHERE, "DS-0", "DS-2", "DS-1");
    DatanodeInfo[] datanodes = three.getLocations();
    LocatedStripedBlock group =
        new LocatedStripedBlock(
            new ExtendedBlock("BP-1", -64, 300_000, 1001),
            datanodes,
            three.getStorageIDs(),
            new StorageType[] {StorageType.DISK, StorageType.DISK, StorageType.DISK},
            new byte[] {0, 2, 1},
            0,
            false,
            null);
    locations.learn(
        "/ec",
        new LocatedBlocks(
            300_000,
            false,
            java.util.Collections.singletonList(group),
            group,
            true,
            null,
            policy));
    for (int index = 0; index < 3; index++) {
      BlockLocation found =
          locations.find("/ec", new BlockKey("nn", "BP-1", -64 + index, 1001));
      assertArrayEquals(new String[] {"DS-" + index}, storages(found));
      assertEquals(-64 + index, found.block().getBlock().getBlockId());
    }
    assertNull(locations.find("/ec", new BlockKey("nn", "BP-1", -64 + 3, 1001)));
  }

  /** The NameNode's order is kept, but for slow storages and datanodes that leave. */
  @Test
  public void slowStoragesAndLeavingDatanodesComeLast() {
    LocatedBlock block =
        Reads.located(BLOCK, Reads.ELSEWHERE, "leaves", "archive", "provided", "one", "two");
    block.getStorageTypes()[1] = StorageType.ARCHIVE;
    block.getStorageTypes()[2] = StorageType.PROVIDED;
    block.getLocations()[0].startDecommission();
    assertArrayEquals(
        new String[] {"one", "two", "archive", "provided", "leaves"},
        storages(new BlockLocation(block, new BlockLocation.Places())));
  }

  @Test
  public void datanodesOfThisMachine() {
    assertTrue(Reads.location(BLOCK, Reads.HERE, "DS-1").onThisMachine());
    assertFalse(Reads.location(BLOCK, Reads.ELSEWHERE, "DS-1").onThisMachine());
    assertFalse("no address", Reads.location(BLOCK, "nowhere.invalid", "DS-1").onThisMachine());
  }
}
