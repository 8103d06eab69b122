// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.util.function.Function;

/**
 * What the backend is told about the place of a reader's block: block token, storage ids, and
 * whether bytes must come encrypted from there. Each reader has one; {@link Client} uses it for
 * every OPEN.
 *
 * <p>A block token names the storages that have a replica, and these are sent with every OPEN.
 * Without tokens no storages are sent, and none are needed while the block is on one datanode of
 * this host. If the block is not on this host and there are hosts the backend could ask, or if two
 * datanodes of this host have the block, the backend answers EXDEV. Only then are the storages
 * looked up.
 */
final class Whereabouts {
  private static final byte[][] NONE = new byte[0][];

  private final byte[] token;
  private final Function<BlockKey, byte[][]> lookup;
  private final Encryption.OfPool encryption;
  private volatile byte[][] found = NONE;

  /** lookup: finds the storages of a block; returns none if it cannot. */
  Whereabouts(
      byte[] token, Function<BlockKey, byte[][]> lookup, Encryption.OfPool encryption) {
    this.token = token;
    this.lookup = lookup;
    this.encryption = encryption;
  }

  /** Only what the token says is known. */
  static Whereabouts of(byte[] token) {
    return new Whereabouts(token, block -> NONE, Encryption.OfPool.NOT_NEEDED);
  }

  /** The token to show to the backend; null: none. */
  byte[] token() {
    return BlockToken.present(token) ? token : null;
  }

  Encryption.OfPool encryption() {
    return encryption;
  }

  /** When the token ends, in ms since 1970. Long.MAX_VALUE: there is none, or it does not say. */
  long expiry() {
    return BlockToken.of(token).expiry();
  }

  /** The storage ids known without asking anybody; perhaps none. */
  byte[][] storages() {
    byte[][] known = found;
    return known.length > 0 ? known : BlockToken.of(token).storages();
  }

  /**
   * Looks up the block's storages. {@link #storages} returns them from then on. False: not found.
   */
  boolean lookUp(BlockKey block) {
    found = lookup.apply(block);
    return found.length > 0;
  }
}
