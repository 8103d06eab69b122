// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertSame;

import io.vread.FakeClock;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo.AdminStates;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.junit.Test;

/** How often {@link FileStorages} asks the NameNode where blocks are, and what it then tells. */
public class FileStoragesTest {
  private static final BlockKey ONE = new BlockKey("BP-1", 1, 1001);
  private static final BlockKey TWO = new BlockKey("BP-1", 2, 1001);

  private final FakeClock clock = new FakeClock();
  private final Map<Long, byte[][]> known = new HashMap<>();
  private int asked;
  private IOException failure;
  private final FileStorages storages =
      new FileStorages(
          clock,
          (conf, file, block) -> {
            asked++;
            if (failure != null) {
              throw failure;
            }
            return new HashMap<>(known);
          });

  private byte[][] of(String file, BlockKey block) {
    return storages.of(null, file, block);
  }

  @Test
  public void oncePerFileAndAWhile() {
    known.put(1L, new byte[][] {{'D'}});
    known.put(2L, new byte[][] {{'E'}});
    assertSame(known.get(1L), of("/a", ONE));
    assertSame(known.get(2L), of("/a", TWO));
    assertEquals(1, asked);
    of("/b", ONE);
    assertEquals(2, asked);
    clock.pass(60_000);
    of("/a", ONE);
    assertEquals(3, asked);
  }

  /** Two clusters have the same path and block id. Each must be told its own storage. */
  @Test
  public void clustersAreToldApart() {
    known.put(1L, new byte[][] {{'D'}});
    of("/a", ONE);
    known.put(1L, new byte[][] {{'E'}});
    assertSame(known.get(1L), of("/a", new BlockKey("BP-2", 1, 1001)));
    assertEquals(2, asked);
  }

  /** A file that has grown, or that has another one's name. */
  @Test
  public void aBlockThatIsNewIsAskedForAtOnce() {
    known.put(1L, new byte[][] {{'D'}});
    of("/a", ONE);
    known.put(2L, new byte[][] {{'E'}});
    assertSame(known.get(2L), of("/a", TWO));
    assertEquals(2, asked);
    assertSame(known.get(1L), of("/a", ONE));
    assertEquals(2, asked);
  }

  /** A file that was deleted under its reader. */
  @Test
  public void aBlockThatTheNameNodeDoesNotKnowIsNotAskedForAgainAtOnce() {
    known.put(1L, new byte[][] {{'D'}});
    assertEquals(0, of("/a", TWO).length);
    assertEquals(0, of("/a", TWO).length);
    assertEquals(1, asked);
    known.put(2L, new byte[][] {{'E'}});
    clock.pass(1_000);
    assertSame(known.get(2L), of("/a", TWO));
    assertEquals(2, asked);
  }

  /**
   * The NameNode fails: the answer must be empty, and the NameNode be asked again after a second.
   */
  @Test
  public void failuresAreNoMoreThanNothing() {
    failure = new IOException("no NameNode");
    assertEquals(0, of("/a", ONE).length);
    assertEquals(0, of("/a", TWO).length); // no other block of the file, either
    assertEquals(1, asked);
    failure = null;
    known.put(1L, new byte[][] {{'D'}});
    clock.pass(1_000);
    assertSame(known.get(1L), of("/a", ONE));
  }

  private static DatanodeInfo datanode(int port, AdminStates state) {
    DatanodeID id = new DatanodeID("127.0.0.1", "localhost", "uuid-" + port, port, 0, 0, 0);
    return new DatanodeInfo.DatanodeInfoBuilder().setNodeID(id).setAdminState(state).build();
  }

  /** The NameNode's order counts, but for what is known to be slow or to leave. */
  @Test
  public void theBestStoragesComeFirst() {
    DatanodeInfo[] datanodes = {
      datanode(1, AdminStates.DECOMMISSION_INPROGRESS),
      datanode(2, AdminStates.NORMAL),
      datanode(3, AdminStates.NORMAL),
      datanode(4, AdminStates.NORMAL),
      datanode(5, AdminStates.NORMAL),
    };
    String[] ids = {"leaving", "provided", "archive", "disk", "ssd"};
    StorageType[] types = {
      StorageType.SSD,
      StorageType.PROVIDED,
      StorageType.ARCHIVE,
      StorageType.DISK,
      StorageType.SSD
    };
    ExtendedBlock block = new ExtendedBlock("BP-1", 1, 10, 1001);
    assertEquals(
        Arrays.asList("disk", "ssd", "archive", "provided", "leaving"),
        names(new LocatedBlock(block, datanodes, ids, types)));
    assertEquals(
        "types are not known",
        Arrays.asList("provided", "archive", "disk", "ssd", "leaving"),
        names(new LocatedBlock(block, datanodes, ids, null)));
  }

  private static List<String> names(LocatedBlock block) {
    List<String> names = new ArrayList<>();
    for (byte[] id : FileStorages.inOrder(block)) {
      names.add(new String(id, StandardCharsets.US_ASCII));
    }
    return names;
  }

  @Test
  public void filesAreForgotten() {
    known.put(1L, new byte[][] {{'D'}});
    for (int i = 0; i < 129; i++) {
      of("/" + i, ONE);
    }
    of("/128", ONE);
    assertEquals(129, asked);
    of("/0", ONE);
    assertEquals(130, asked);
  }
}
