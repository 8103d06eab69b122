// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.Clock;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * The contests of a client, one for each place that blocks are read from. {@link
 * VreadReplicaAccessorBuilder} looks a block's contest up.
 *
 * <p>A place is a block pool on this host, on other hosts, or on this machine. If one storage alone
 * is known to have the block, that storage is a place of its own. Whether a block is on another
 * host is known once it was opened. The contest of a block is remembered, so that a block that
 * vRead does not read is opened once and not for each read.
 */
final class Contests {
  private static final int PLACES = 1024;
  private static final int BLOCKS = 4096;

  private final Clock clock;
  private final Map<String, Contest> places = BoundedMap.of(PLACES);
  private final Map<BlockKey, Contest> blocks = BoundedMap.of(BLOCKS);

  Contests(Clock clock) {
    this.clock = clock;
  }

  /** The contest of blocks that short-circuit reads can read. These are in use at first. */
  synchronized Contest ofOwn(BlockKey block) {
    return at(block.pool() + " on this machine", Contest.Way.STOCK);
  }

  /** The contest that {@link #of} returned for the block; null: none or forgotten. */
  synchronized Contest known(BlockKey block) {
    return blocks.get(block);
  }

  /** The contest of an opened block. storages: those known to have the block. */
  synchronized Contest of(BlockKey block, boolean remote, byte[][] storages) {
    String place = block.pool() + (remote ? " on other hosts" : " on this host");
    if (storages.length == 1) {
      place += ", storage " + new String(storages[0], StandardCharsets.US_ASCII);
    }
    Contest contest = at(place, Contest.Way.VREAD);
    blocks.put(block, contest);
    return contest;
  }

  private Contest at(String place, Contest.Way first) {
    Contest contest = places.get(place);
    if (contest == null) {
      contest = new Contest(place, clock, first);
      places.put(place, contest);
    }
    return contest;
  }
}
