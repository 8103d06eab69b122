// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DFSUtilClient;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo.AdminStates;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;

/**
 * Where one block is, as its NameNode said: the answer itself, and what vRead needs of it.
 * Immutable but for what is computed at the first question.
 */
public final class BlockLocation {
  // How late a storage is tried: 0, 1 (ARCHIVE), 2 (PROVIDED), and more if its datanode leaves.
  private static final int LEAVES = 3;
  private static final int LATEST = LEAVES + 2;

  private final LocatedBlock block;
  private final Places places;

  /** What is computed from an answer. It does not refer to the answer, which may be collected. */
  public static final class Places {
    private byte[][] storages;
    private String storagesName;
    private Boolean onThisMachine;
  }

  public BlockLocation(LocatedBlock block, Places places) {
    this.block = block;
    this.places = places;
  }

  /** The stock client's own object. Of a striped file: an internal block. */
  public LocatedBlock block() {
    return block;
  }

  /** The ids of the storages, in the order in which a backend should try them. */
  public byte[][] storages() {
    synchronized (places) {
      if (places.storages == null) {
        places.storages = inOrder(block);
      }
      return places.storages;
    }
  }

  /** Equal for equal storages in any order. */
  public String storagesName() {
    synchronized (places) {
      if (places.storagesName == null) {
        places.storagesName = nameOf(storages());
      }
      return places.storagesName;
    }
  }

  /** A name of these storages that does not depend on their order. */
  public static String nameOf(byte[][] storages) {
    String[] ids = new String[storages.length];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = new String(storages[i], StandardCharsets.US_ASCII);
    }
    Arrays.sort(ids);
    return String.join(",", ids);
  }

  /** True if a datanode of this machine has a replica, which short-circuit reads can read. */
  public boolean onThisMachine() {
    synchronized (places) {
      if (places.onThisMachine == null) {
        places.onThisMachine = isOnThisMachine(block);
      }
      return places.onThisMachine;
    }
  }

  private static boolean isOnThisMachine(LocatedBlock block) {
    for (DatanodeInfo datanode : block.getLocations()) {
      InetSocketAddress address =
          new InetSocketAddress(datanode.getIpAddr(), datanode.getXferPort());
      try {
        if (DFSUtilClient.isLocalAddress(address)) {
          return true;
        }
      } catch (IOException e) {
        continue; // the NameNode gave no address
      }
    }
    return false;
  }

  /**
   * The NameNode names near datanodes first and stale ones last. Its order is kept, but for
   * storages of a slow type, which come later, and those of datanodes that are to leave the
   * cluster, which come last.
   */
  static byte[][] inOrder(LocatedBlock block) {
    String[] ids = block.getStorageIDs();
    if (ids == null) {
      return new byte[0][];
    }
    byte[][] result = new byte[ids.length][];
    int count = 0;
    for (int late = 0; late <= LATEST; late++) {
      for (int place = 0; place < ids.length; place++) {
        if (lateness(block, place) == late) {
          result[count++] = ids[place].getBytes(StandardCharsets.US_ASCII);
        }
      }
    }
    return result;
  }

  private static int lateness(LocatedBlock block, int place) {
    StorageType[] types = block.getStorageTypes();
    DatanodeInfo[] datanodes = block.getLocations();
    int later = 0;
    if (types != null && types[place] != null) {
      String type = types[place].name(); // not every version knows every type
      later = type.equals("PROVIDED") ? 2 : type.equals("ARCHIVE") ? 1 : 0;
    }
    return datanodes[place].getAdminState() == AdminStates.NORMAL ? later : later + LEAVES;
  }

  @Override
  public String toString() {
    return block.getBlock() + " at " + Arrays.toString(block.getStorageIDs());
  }
}
