// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hdfs.security.token.block.BlockKey;

/**
 * Whether a block pool uses tokens, and the keys that sign them, at one moment. Two objects are the
 * same ({@link #sameAs}) if the backend would judge tokens alike by both.
 */
final class BlockKeys {
  /** An algorithm's index + 1 is its VREAD_HMAC_* code of {@code vread.h}. */
  private static final List<String> ALGORITHMS =
      Arrays.asList("HmacSHA1", "HmacSHA256", "HmacSHA384", "HmacSHA512");

  /** The pool does not use tokens. */
  static final BlockKeys OFF = new BlockKeys(false, Collections.emptyList());

  final boolean tokens;
  final List<BlockKey> keys; // ascending by id

  private BlockKeys(boolean tokens, List<BlockKey> keys) {
    this.tokens = tokens;
    this.keys = keys;
  }

  /** The pool uses tokens. With an empty list no token is right. */
  static BlockKeys on(List<BlockKey> keysById) {
    return new BlockKeys(true, Collections.unmodifiableList(keysById));
  }

  /** The VREAD_HMAC_* code of the key's algorithm. 0: the backend does not know the algorithm. */
  static int algorithm(BlockKey key) {
    return ALGORITHMS.indexOf(key.getKey().getAlgorithm()) + 1;
  }

  boolean sameAs(BlockKeys other) {
    return other != null && tokens == other.tokens && keys.equals(other.keys);
  }

  /** Shows no key, because the text may be logged. */
  @Override
  public String toString() {
    return tokens ? keys.size() + " keys" : "no tokens";
  }
}
