// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.NameNodeProxies;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenIdentifier;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenSecretManager;
import org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol;
import org.apache.hadoop.security.token.Token;

/**
 * Block tokens that expired an hour ago, so that no test must wait until tokens expire. They are
 * the NameNode's tokens with another expiry, signed with the NameNode's key.
 */
final class Expired {
  private static final long LIFETIME_MS = -3_600_000;

  private Expired() {}

  /** Replaces the tokens of the blocks. */
  static void put(Configuration conf, List<LocatedBlock> blocks) throws IOException {
    NamenodeProtocol namenode =
        NameNodeProxies.createProxy(conf, FileSystem.getDefaultUri(conf), NamenodeProtocol.class)
            .getProxy();
    String pool = namenode.versionRequest().getBlockPoolID();
    BlockTokenSecretManager signer = new BlockTokenSecretManager(0, LIFETIME_MS, pool, null, false);
    signer.addKeys(namenode.getBlockKeys());
    for (LocatedBlock block : blocks) {
      block.setBlockToken(new Token<>(identifier(block), signer));
    }
  }

  /** How many of the blocks have a token that has not expired. */
  static long valid(List<LocatedBlock> blocks) throws IOException {
    long valid = 0;
    for (LocatedBlock block : blocks) {
      if (identifier(block).getExpiryDate() > System.currentTimeMillis()) {
        valid++;
      }
    }
    return valid;
  }

  private static BlockTokenIdentifier identifier(LocatedBlock block) throws IOException {
    return block.getBlockToken().decodeIdentifier();
  }
}
