// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.Clock;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo.AdminStates;
import org.apache.hadoop.hdfs.protocol.ErasureCodingPolicy;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;
import org.apache.hadoop.hdfs.protocol.LocatedStripedBlock;
import org.apache.hadoop.hdfs.util.StripedBlockUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The storages of files' blocks, as the NameNode knows them. Builders pass it to readers, for
 * blocks that are not on this host ({@link Whereabouts}).
 *
 * <p>The NameNode is asked once for all blocks of a file, and the answer is kept for a while. For a
 * block that is not in the answer (the file has grown, or another file has its name now) the
 * NameNode is asked at once. If it does not know that block either, or does not answer, it is not
 * asked for this block again for a second. An outdated answer only costs an OPEN in vain.
 */
final class FileStorages {
  private static final Logger LOG = LoggerFactory.getLogger(FileStorages.class);
  private static final byte[][] NONE = new byte[0][];
  private static final int FILES = 128;
  private static final long KEPT_MS = 60_000;
  private static final long PAUSE_MS = 1_000;

  static final FileStorages OF_PROCESS = new FileStorages(Clock.SYSTEM, FileStorages::locate);

  /** Asks the NameNode for the storages of a file's blocks of that block's pool, by block id. */
  interface Source {
    Map<Long, byte[][]> storages(Configuration conf, String file, BlockKey block)
        throws IOException;
  }

  private static final class Known {
    boolean asked;
    long askedAt;
    long askedFor; // a block
    boolean failed; // the NameNode did not answer
    Map<Long, byte[][]> storages = Collections.emptyMap();
  }

  private final Clock clock;
  private final Source source;
  private final Map<String, Known> entries =
      new LinkedHashMap<String, Known>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Known> eldest) {
          return size() > FILES;
        }
      };

  FileStorages(Clock clock, Source source) {
    this.clock = clock;
    this.source = source;
  }

  /** The storages of that block; empty if unknown. Readers of one file wait for one answer. */
  byte[][] of(Configuration conf, String file, BlockKey block) {
    Known entry;
    synchronized (entries) {
      // A path alone may be that of another cluster, whose block ids begin with the same number.
      entry = entries.computeIfAbsent(block.pool() + ":" + file, key -> new Known());
    }
    synchronized (entry) {
      byte[][] known = entry.storages.get(block.id());
      if (isDue(entry, block, known)) {
        ask(entry, conf, file, block);
        known = entry.storages.get(block.id());
      }
      return known == null ? NONE : known;
    }
  }

  private boolean isDue(Known entry, BlockKey block, byte[][] known) {
    long age = clock.now() - entry.askedAt;
    if (!entry.asked || known != null) {
      return !entry.asked || age >= KEPT_MS;
    }
    boolean again = entry.failed || entry.askedFor == block.id();
    return !again || age >= PAUSE_MS;
  }

  private void ask(Known entry, Configuration conf, String file, BlockKey block) {
    entry.failed = false;
    try {
      entry.storages = source.storages(conf, file, block);
    } catch (IOException | RuntimeException e) { // neither may reach a reader
      LOG.debug("vread: {} of {}: the NameNode does not say where it is", block, file, e);
      entry.storages = Collections.emptyMap();
      entry.failed = true;
    }
    entry.asked = true;
    entry.askedFor = block.id();
    entry.askedAt = clock.now();
  }

  private static Map<Long, byte[][]> locate(Configuration conf, String file, BlockKey block)
      throws IOException {
    Map<Long, byte[][]> result = new HashMap<>();
    for (LocatedBlock each : blocks(conf, file, block)) {
      if (each.getStorageIDs() != null) {
        result.put(each.getBlock().getBlockId(), inOrder(each));
      }
    }
    return result;
  }

  /**
   * Asks the NameNodes for all blocks of a file that are of that block's pool. Of an erasure-coded
   * file these are its internal blocks. Empty: no NameNode has such a file.
   */
  static List<LocatedBlock> blocks(Configuration conf, String file, BlockKey block)
      throws IOException {
    IOException last = null;
    for (URI nameNode : NameNodes.of(conf)) {
      DFSClient client = new DFSClient(nameNode, conf);
      try {
        List<LocatedBlock> found =
            ofPool(client.getLocatedBlocks(file, 0, Long.MAX_VALUE), block);
        if (!found.isEmpty()) {
          return found;
        }
      } catch (IOException e) {
        last = e;
      } finally {
        client.close();
      }
    }
    if (last != null) {
      throw last;
    }
    return Collections.emptyList();
  }

  private static List<LocatedBlock> ofPool(LocatedBlocks blocks, BlockKey wanted) {
    List<LocatedBlock> result = new ArrayList<>();
    if (blocks == null) {
      return result;
    }
    for (LocatedBlock block : blocks.getLocatedBlocks()) {
      if (!wanted.isOfPool(block.getBlock().getBlockPoolId())) {
        continue;
      }
      for (LocatedBlock each : stored(block, blocks.getErasureCodingPolicy())) {
        if (each != null) {
          result.add(each);
        }
      }
    }
    return result;
  }

  /** The block itself, or the internal blocks of a block group. */
  private static LocatedBlock[] stored(LocatedBlock block, ErasureCodingPolicy policy) {
    if (policy == null || !(block instanceof LocatedStripedBlock)) {
      return new LocatedBlock[] {block};
    }
    return StripedBlockUtil.parseStripedBlockGroup(
        (LocatedStripedBlock) block,
        policy.getCellSize(),
        policy.getNumDataUnits(),
        policy.getNumParityUnits());
  }

  /**
   * The ids of a block's storages, in the order in which a backend should try them. The NameNode
   * names near datanodes first and stale ones last. Its order is kept, but for storages of a slow
   * type, which come later, and those of datanodes that are to leave the cluster, which come last.
   */
  static byte[][] inOrder(LocatedBlock block) {
    String[] ids = block.getStorageIDs();
    return IntStream.range(0, ids.length)
        .boxed()
        .sorted(Comparator.comparingInt(place -> lateness(block, place)))
        .map(place -> ids[place].getBytes(StandardCharsets.US_ASCII))
        .toArray(byte[][]::new);
  }

  private static int lateness(LocatedBlock block, int place) {
    StorageType[] types = block.getStorageTypes();
    DatanodeInfo[] datanodes = block.getLocations();
    int later = 0;
    if (types != null && types[place] != null) {
      String type = types[place].name(); // not every version knows every type
      later = type.equals("PROVIDED") ? 2 : type.equals("ARCHIVE") ? 1 : 0;
    }
    return datanodes[place].getAdminState() == AdminStates.NORMAL ? later : later + 3;
  }
}
