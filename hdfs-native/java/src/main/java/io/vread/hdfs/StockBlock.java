// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.BlockReader;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.client.HdfsClientConfigKeys;
import org.apache.hadoop.hdfs.client.impl.BlockReaderFactory;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.ErasureCodingPolicy;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;
import org.apache.hadoop.hdfs.protocol.LocatedStripedBlock;
import org.apache.hadoop.hdfs.util.StripedBlockUtil;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Reads a block with the stock client's own block reader: by short-circuit or from the nearest
 * datanode. {@link VreadReplicaAccessor} goes on with it after a read of an internal block of an
 * erasure-coded file has failed. {@link Duel} measures it.
 *
 * <p>For a striped file the stock client makes no second reader for a block whose reader failed: it
 * counts the block as missing and decodes. If the backend goes away, the readers of all blocks fail
 * at once. More blocks are then missing than parity can replace, and a read fails that would have
 * succeeded without vRead. So a reader of such a block must not fail: it asks the NameNode where
 * the block is and goes on with the stock block reader.
 */
final class StockBlock implements StockReader {
  private final DFSClient client;
  private final LocatedBlock block;
  private final String file;
  private final Configuration conf;
  private long end;

  private BlockReader reader;
  private long readerPosition;

  private StockBlock(
      DFSClient client, LocatedBlock block, String file, Configuration conf, long end) {
    this.client = client;
    this.block = block;
    this.file = file;
    this.conf = conf;
    this.end = end;
  }

  static StockReader open(Configuration conf, String file, BlockKey key, long end)
      throws IOException {
    Configuration stock = new Configuration(conf);
    stock.unset(HdfsClientConfigKeys.REPLICA_ACCESSOR_BUILDER_CLASSES_KEY);
    IOException last = new EOFException(key + ": no NameNode of the configuration knows it");
    for (URI nameNode : NameNodes.of(stock)) {
      DFSClient client = new DFSClient(nameNode, stock);
      try {
        LocatedBlock block = locate(client, file, key);
        if (block != null) {
          StockBlock opened = new StockBlock(client, block, file, stock, end);
          client = null; // the reader closes it
          return opened;
        }
      } catch (IOException e) {
        last = e;
      } finally {
        if (client != null) {
          client.close();
        }
      }
    }
    throw last;
  }

  @Override
  public int read(long position, byte[] dst, int offset, int length) throws IOException {
    if (reader == null || position < readerPosition) {
      start(position);
    }
    if (position > readerPosition) {
      readerPosition += reader.skip(position - readerPosition);
    }
    int count = position == readerPosition ? reader.read(dst, offset, length) : -1;
    if (count <= 0) {
      throw new EOFException(block.getBlock() + " ends at " + position);
    }
    readerPosition += count;
    return count;
  }

  @Override
  public void restart(long newEnd) throws IOException {
    stop();
    end = newEnd;
  }

  @Override
  public boolean isShortCircuit() {
    return reader != null && reader.isShortCircuit();
  }

  @Override
  public int networkDistance() {
    return reader == null ? Integer.MAX_VALUE : reader.getNetworkDistance();
  }

  @Override
  public void close() throws IOException {
    try {
      stop();
    } finally {
      client.close();
    }
  }

  private void stop() throws IOException {
    if (reader != null) {
      reader.close();
      reader = null;
    }
  }

  private void start(long position) throws IOException {
    stop();
    DatanodeInfo datanode = block.getLocations()[0]; // the nearest; an internal block has one
    StorageType[] types = block.getStorageTypes();
    String name = datanode.getXferAddr(client.getConf().isConnectToDnViaHostname());
    InetSocketAddress address = NetUtils.createSocketAddr(name);
    reader =
        new BlockReaderFactory(client.getConf())
            .setInetSocketAddress(address)
            .setRemotePeerFactory(client)
            .setDatanodeInfo(datanode)
            .setStorageType(types != null && types.length > 0 ? types[0] : null)
            .setFileName(file)
            .setBlock(block.getBlock())
            .setBlockToken(block.getBlockToken())
            .setStartOffset(position)
            .setVerifyChecksum(true)
            .setClientName(client.getClientName())
            .setLength(end - position)
            .setCachingStrategy(client.getDefaultReadCachingStrategy())
            .setAllowShortCircuitLocalReads(true)
            .setClientCacheContext(client.getClientContext())
            .setUserGroupInformation(UserGroupInformation.getCurrentUser())
            .setConfiguration(conf)
            .build();
    readerPosition = position;
  }

  private static LocatedBlock locate(DFSClient client, String file, BlockKey key)
      throws IOException {
    LocatedBlocks blocks = client.getLocatedBlocks(file, 0, Long.MAX_VALUE);
    if (blocks == null) {
      return null;
    }
    ErasureCodingPolicy policy = blocks.getErasureCodingPolicy();
    for (LocatedBlock block : blocks.getLocatedBlocks()) {
      long index = key.id() - block.getBlock().getBlockId();
      int units = policy == null ? 1 : policy.getNumDataUnits() + policy.getNumParityUnits();
      if (index < 0 || index >= units || !key.isOfPool(block.getBlock().getBlockPoolId())) {
        continue;
      }
      LocatedBlock found = policy == null ? block : internal(block, policy, (int) index);
      return found != null && found.getLocations().length > 0 ? found : null;
    }
    return null;
  }

  private static LocatedBlock internal(
      LocatedBlock group, ErasureCodingPolicy policy, int index) {
    return StripedBlockUtil.parseStripedBlockGroup(
        (LocatedStripedBlock) group,
        policy.getCellSize(),
        policy.getNumDataUnits(),
        policy.getNumParityUnits())[index];
  }
}
