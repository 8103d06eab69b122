// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenIdentifier;
import org.apache.hadoop.security.token.Token;

/**
 * What a block token says: the storage ids, which say where the replicas are, as the NameNode knew
 * it, and the time the token ends. The backend judges tokens. So a token that cannot be parsed only
 * means that it names no storage, and that nobody may rely on its time. The NameNode is believed:
 * Hadoop's parser allocates as much as a length in the token says.
 */
public final class BlockToken {
  private static final byte[][] NONE = new byte[0][];
  private static final BlockToken ABSENT = new BlockToken(NONE, Long.MAX_VALUE);
  private static final BlockToken UNPARSABLE = new BlockToken(NONE, 0);

  private final byte[][] storages;
  private final long expiry;

  private BlockToken(byte[][] storages, long expiry) {
    this.storages = storages;
    this.expiry = expiry;
  }

  /** True if the token has content: without security it is empty. */
  public static boolean present(byte[] token) {
    return token != null && token.length > 0 && token[0] != 0;
  }

  /** token: as Token.write() makes it; null: none. */
  public static BlockToken of(byte[] token) {
    if (!present(token)) {
      return ABSENT;
    }
    try {
      Token<BlockTokenIdentifier> whole = new Token<>();
      whole.readFields(stream(token));
      BlockTokenIdentifier identifier = new BlockTokenIdentifier();
      identifier.readFields(stream(whole.getIdentifier()));
      String[] ids = identifier.getStorageIds();
      byte[][] storages = new byte[ids.length][];
      for (int i = 0; i < ids.length; i++) {
        storages[i] = ids[i].getBytes(StandardCharsets.UTF_8);
      }
      return new BlockToken(storages, identifier.getExpiryDate());
    } catch (IOException | RuntimeException | OutOfMemoryError e) { // e.g. a senseless length
      return UNPARSABLE;
    }
  }

  private static DataInputStream stream(byte[] bytes) {
    return new DataInputStream(new ByteArrayInputStream(bytes));
  }

  /** The storage ids. Never null; empty if none are known. */
  public byte[][] storages() {
    return storages;
  }

  /** The time the token ends, in ms since 1970. Long.MAX_VALUE: there is no token. */
  public long expiry() {
    return expiry;
  }
}
