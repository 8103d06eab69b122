// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.select;

import io.vread.BoundedMap;
import io.vread.Clock;
import io.vread.hdfs.locations.BlockKey;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * The selectors of a client, one for each place that blocks are read from.
 *
 * <p>A place is a block pool on this host, on other hosts, or on this machine. If one storage alone
 * is known to have the block, that storage is a place of its own. Whether a block is on another
 * host is known once it was opened. The selector of a block is remembered, so that a block that
 * vRead does not read is opened once and not for each read.
 */
public final class PathSelectors {
  private static final int PLACES = 1024;
  private static final int BLOCKS = 4096;

  private final Clock clock;
  private final Map<String, PathSelector> places = BoundedMap.of(PLACES);
  private final Map<BlockKey, PathSelector> blocks = BoundedMap.of(BLOCKS);

  public PathSelectors(Clock clock) {
    this.clock = clock;
  }

  /** The selector of blocks that short-circuit reads can read. These are in use at first. */
  public synchronized PathSelector ofOwn(BlockKey block) {
    return at(block.pool() + " on this machine", PathSelector.Way.STOCK);
  }

  /** The selector that {@link #of} returned for the block; null: none or forgotten. */
  public synchronized PathSelector known(BlockKey block) {
    return blocks.get(block);
  }

  /** The selector of an opened block. storages: those known to have the block. */
  public synchronized PathSelector of(BlockKey block, boolean remote, byte[][] storages) {
    String place = block.pool() + (remote ? " on other hosts" : " on this host");
    if (storages.length == 1) {
      place += ", storage " + new String(storages[0], StandardCharsets.US_ASCII);
    }
    PathSelector selector = at(place, PathSelector.Way.VREAD);
    blocks.put(block, selector);
    return selector;
  }

  private PathSelector at(String place, PathSelector.Way first) {
    PathSelector selector = places.get(place);
    if (selector == null) {
      selector = new PathSelector(place, clock, first);
      places.put(place, selector);
    }
    return selector;
  }
}
