// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.util.function.Function;

/**
 * Where the block of a reader is, as far as the backend has to be told.
 *
 * <p>A block token names the storages that have a replica: they go along with every OPEN. Without
 * tokens nothing is told, and nothing needs to be while the block is on this host. If it is not, and
 * there are hosts the backend could ask, it answers EXDEV; only then are the storages looked up.
 */
final class Whereabouts {
  private static final byte[][] NONE = new byte[0][];

  private final byte[] token;
  private final Function<BlockKey, byte[][]> lookup;
  private volatile byte[][] found = NONE;

  /** lookup: where to find the storages of a block; empty if they cannot be found. */
  Whereabouts(byte[] token, Function<BlockKey, byte[][]> lookup) {
    this.token = token;
    this.lookup = lookup;
  }

  /** Nothing is known but what the token says. */
  static Whereabouts of(byte[] token) {
    return new Whereabouts(token, block -> NONE);
  }

  /** To be shown to the backend; null if there is none. */
  byte[] token() {
    return TokenStorages.present(token) ? token : null;
  }

  /** What is known without asking anybody; perhaps nothing. */
  byte[][] storages() {
    byte[][] known = found;
    return known.length > 0 ? known : TokenStorages.of(token);
  }

  /** Looks the block's storages up, which {@link #storages} knows from then on; false: in vain. */
  boolean lookUp(BlockKey block) {
    found = lookup.apply(block);
    return found.length > 0;
  }
}
