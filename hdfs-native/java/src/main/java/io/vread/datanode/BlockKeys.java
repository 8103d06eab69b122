// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.Collections;
import java.util.List;

/**
 * Whether a block pool uses tokens, and the keys that sign them, at one moment.
 * {@link DatanodeKeys} makes objects of this class; {@link KeyPublisher} compares and sends them.
 * Two objects are the same ({@link #sameAs}) if the backend would judge tokens alike by both.
 */
final class BlockKeys {
  /** One key and the algorithm that uses it. */
  static final class Key {
    final int id;
    final int algorithm; // VREAD_HMAC_* of vread.h
    final long expiryMs;
    final byte[] bytes;

    Key(int id, int algorithm, long expiryMs, byte[] bytes) {
      this.id = id;
      this.algorithm = algorithm;
      this.expiryMs = expiryMs;
      this.bytes = bytes.clone();
    }

    private boolean sameAs(Key other) {
      return id == other.id
          && algorithm == other.algorithm
          && expiryMs == other.expiryMs
          && java.security.MessageDigest.isEqual(bytes, other.bytes);
    }
  }

  /** The pool does not use tokens. */
  static final BlockKeys OFF = new BlockKeys(false, Collections.emptyList());

  final boolean tokens;
  final List<Key> keys; // ascending by id

  private BlockKeys(boolean tokens, List<Key> keys) {
    this.tokens = tokens;
    this.keys = keys;
  }

  /** The pool uses tokens. With an empty list no token is right. */
  static BlockKeys on(List<Key> keysById) {
    return new BlockKeys(true, Collections.unmodifiableList(keysById));
  }

  boolean sameAs(BlockKeys other) {
    if (other == null || tokens != other.tokens || keys.size() != other.keys.size()) {
      return false;
    }
    for (int i = 0; i < keys.size(); i++) {
      if (!keys.get(i).sameAs(other.keys.get(i))) {
        return false;
      }
    }
    return true;
  }

  /** Shows no key, because the text may be logged. */
  @Override
  public String toString() {
    return tokens ? keys.size() + " keys" : "no tokens";
  }
}
