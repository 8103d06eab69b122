// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Protection;
import io.vread.hdfs.locations.BlockKey;
import io.vread.hdfs.locations.BlockLocation;
import io.vread.hdfs.locations.BlockToken;
import io.vread.hdfs.locations.FileSystemContext;
import java.io.IOException;

/**
 * One reader's read of one block: which block, by which file system, with which token, and where
 * its NameNode says that replicas are. It is captured in build() and never changes.
 */
public final class BlockRead {
  private static final byte[][] NONE = new byte[0][];

  public final BlockKey block;
  public final long visibleLength;

  /** The token to show to the backend; null: none. */
  public final byte[] token;

  private final FileSystemContext context;
  private final BlockToken parsed;
  private final BlockLocation location;
  private final StockReader.Opener stock;
  private final boolean shortCircuit;
  private final Protection protection;

  /**
   * location: null if it is not known. stock: opens the stock client's own reader of the block;
   * null if there is none. shortCircuit: it reads blocks of this machine by short-circuit.
   * protection: what the client's own configuration wants for bytes of other hosts.
   */
  public BlockRead(
      FileSystemContext context,
      BlockKey block,
      long visibleLength,
      byte[] token,
      BlockLocation location,
      StockReader.Opener stock,
      boolean shortCircuit,
      Protection protection) {
    this.context = context;
    this.block = block;
    this.visibleLength = visibleLength;
    this.token = BlockToken.present(token) ? token : null;
    this.parsed = BlockToken.of(token);
    this.location = location;
    this.stock = stock;
    this.shortCircuit = shortCircuit;
    this.protection = protection;
  }

  /** When the token ends, in ms since 1970. Long.MAX_VALUE: there is none. */
  long expiry() {
    return parsed.expiry();
  }

  /** The ids of the storages that the NameNode named; none if it is not known. */
  public byte[][] storages() {
    byte[][] told = location == null ? NONE : location.storages();
    return told.length > 0 ? told : parsed.storages();
  }

  /** Equal for equal storages. */
  String storagesName() {
    return location == null ? BlockLocation.nameOf(storages()) : location.storagesName();
  }

  /** How bytes of other hosts must be protected on their way. */
  Protection protection() {
    return context.encryptionRequired() ? Protection.PRIVACY : protection;
  }

  /** True if the stock client reads the block by short-circuit. */
  public boolean isShortCircuit() {
    return shortCircuit && location != null && location.onThisMachine();
  }

  /** Whether {@link #openStock} can work. */
  public boolean canOpenStock() {
    return stock != null;
  }

  /** Opens the stock client's own reader of the block, up to position end. Asks no NameNode. */
  public StockReader openStock(long end) throws IOException {
    return stock.open(end);
  }

  @Override
  public String toString() {
    return block.toString();
  }
}
