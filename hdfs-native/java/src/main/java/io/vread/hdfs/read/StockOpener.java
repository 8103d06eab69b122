// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.hdfs.locations.BlockLocation;
import io.vread.hdfs.locations.FileSystemContext;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;

/** Opens the stock client's own readers of one block, and asks nobody. */
public final class StockOpener implements StockReader.Opener {
  final FileSystemContext context;
  final DFSClient client;
  final Configuration conf;
  final String file;
  final LocatedBlock block;

  private StockOpener(
      FileSystemContext context,
      DFSClient client,
      Configuration conf,
      String file,
      LocatedBlock block) {
    this.context = context;
    this.client = client;
    this.conf = conf;
    this.file = file;
    this.block = block;
  }

  /** Null: the client or the datanodes are not known. conf: that of the client. */
  public static StockReader.Opener of(
      FileSystemContext context, Configuration conf, String file, BlockLocation location) {
    DFSClient client = context.client();
    return client == null || location == null || location.block().getLocations().length == 0
        ? null
        : new StockOpener(context, client, conf, file, location.block());
  }

  @Override
  public StockReader open(long end) {
    return new StockBlock(this, end);
  }
}
