// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.BlockReader;
import org.apache.hadoop.hdfs.client.impl.BlockReaderFactory;
import org.apache.hadoop.hdfs.client.impl.DfsClientConf;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.net.NetUtils;

/**
 * Reads a block with the stock client's own block reader: by short-circuit or from a datanode, the
 * nearest first. The application's own DFSClient makes the connections, as the user who made it. No
 * NameNode is asked.
 *
 * <p>If a datanode fails, the next one is tried. If all have failed, the exception is that of the
 * last.
 */
public final class StockBlock implements StockReader {
  private final StockOpener of;
  private final LocatedBlock block;
  private long end;

  private int place; // of the datanode in use, in the block's locations
  private BlockReader reader;
  private long readerPosition;

  StockBlock(StockOpener of, long end) {
    this.of = of;
    this.block = of.block;
    this.end = end;
  }

  @Override
  public int read(long position, byte[] dst, int offset, int length) throws IOException {
    while (true) {
      try {
        return readHere(position, dst, offset, length);
      } catch (IOException e) {
        stop();
        place = (place + 1) % block.getLocations().length;
        if (place == 0 || Thread.currentThread().isInterrupted()) {
          throw e;
        }
      }
    }
  }

  private int readHere(long position, byte[] dst, int offset, int length) throws IOException {
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
    stop();
  }

  private void stop() throws IOException {
    BlockReader old = reader;
    reader = null;
    if (old != null) {
      old.close();
    }
  }

  private void start(long position) throws IOException {
    stop();
    DatanodeInfo datanode = block.getLocations()[place];
    StorageType[] types = block.getStorageTypes();
    DfsClientConf settings = of.context.stockSettings(of.conf);
    String name = datanode.getXferAddr(settings.isConnectToDnViaHostname());
    InetSocketAddress address = NetUtils.createSocketAddr(name);
    reader =
        new BlockReaderFactory(settings)
            .setInetSocketAddress(address)
            .setRemotePeerFactory(of.client)
            .setDatanodeInfo(datanode)
            .setStorageType(types != null && types.length > place ? types[place] : null)
            .setFileName(of.file)
            .setBlock(block.getBlock())
            .setBlockToken(block.getBlockToken())
            .setStartOffset(position)
            .setVerifyChecksum(true)
            .setClientName(of.client.getClientName())
            .setLength(end - position)
            .setCachingStrategy(of.client.getDefaultReadCachingStrategy())
            .setAllowShortCircuitLocalReads(true)
            .setClientCacheContext(of.client.getClientContext())
            .setUserGroupInformation(of.context.user())
            .setConfiguration(of.conf)
            .build();
    readerPosition = position;
  }
}
