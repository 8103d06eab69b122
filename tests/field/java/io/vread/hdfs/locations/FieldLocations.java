// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import io.vread.Clock;
import io.vread.NativeLibrary;
import io.vread.Settings;
import io.vread.hdfs.VreadReplicaAccessorBuilder;
import io.vread.hdfs.metrics.ClientProcess;
import io.vread.hdfs.read.Client;
import io.vread.hdfs.select.PathProbe;
import java.io.IOException;
import java.net.URI;
import java.util.Arrays;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.ReplicaAccessor;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo.DatanodeInfoBuilder;
import org.apache.hadoop.hdfs.protocol.ErasureCodingPolicy;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;
import org.apache.hadoop.hdfs.protocol.LocatedStripedBlock;
import org.apache.hadoop.io.erasurecode.ECSchema;

/**
 * Reads one block through the client plug-in, after a peculiar answer of the NameNode, and prints
 * what came of it. There is no HDFS. arguments: endpoint; pool, id, stamp and length of the block;
 * the lengths up to which it is visible, one after the other, by commas; the storages that the
 * NameNode names, by commas; for a striped file the indices of the group's blocks on them.
 */
public final class FieldLocations {
  private static final String FILE = "/file";

  private final String pool;
  private final long id;
  private final long stamp;
  private final Configuration conf = new Configuration(false);
  private final FileSystemContext context =
      new FileSystemContext("nn", null, null, Clock.SYSTEM, NameNodeCalls.ofProcess());

  private FieldLocations(String[] arguments) throws IOException {
    conf.set("io.vread.endpoint", arguments[0]);
    // Nobody listens there. The client is not used while vRead can read.
    context.use(new DFSClient(URI.create("hdfs://127.0.0.1:1"), conf, null));
    pool = arguments[1];
    id = Long.parseLong(arguments[2]);
    stamp = Long.parseLong(arguments[3]);
  }

  public static void main(String[] arguments) throws Exception {
    FieldLocations program = new FieldLocations(arguments);
    long length = Long.parseLong(arguments[4]);
    LocatedBlocks answer = program.answer(length, arguments[6].split(","), arguments);
    program.context.learn(FILE, answer);
    for (String visible : arguments[5].split(",")) {
      System.out.println(program.read(Long.parseLong(visible)));
    }
    Runtime.getRuntime().exit(answer.locatedBlockCount() - 1); // it is known while somebody has it
  }

  private LocatedBlocks answer(long length, String[] storages, String[] arguments) {
    DatanodeInfo[] datanodes = new DatanodeInfo[storages.length];
    StorageType[] types = new StorageType[storages.length];
    for (int i = 0; i < storages.length; i++) {
      DatanodeID datanode = new DatanodeID("192.0.2.1", "dn" + i, "uuid-" + i, 1, 2, 3, 4);
      datanodes[i] = new DatanodeInfoBuilder().setNodeID(datanode).build();
      types[i] = StorageType.DISK;
    }
    if (arguments.length < 8) {
      ExtendedBlock block = new ExtendedBlock(pool, id, length, stamp);
      return answer(
          new LocatedBlock(block, datanodes, storages, types, 0, false, null), length, null);
    }
    String[] places = arguments[7].split(",");
    byte[] indices = new byte[places.length];
    for (int i = 0; i < places.length; i++) {
      indices[i] = Byte.parseByte(places[i]);
    }
    ErasureCodingPolicy policy =
        new ErasureCodingPolicy(new ECSchema("rs", 2, 1), 1 << 20, (byte) 65);
    ExtendedBlock group = new ExtendedBlock(pool, id & ~15, 2 * length, stamp);
    return answer(
        new LocatedStripedBlock(group, datanodes, storages, types, indices, 0, false, null),
        2 * length,
        policy);
  }

  private static LocatedBlocks answer(LocatedBlock block, long length, ErasureCodingPolicy policy) {
    return new LocatedBlocks(length, false, Arrays.asList(block), block, true, null, policy);
  }

  /** The CRC32 of the bytes, or why they were not read through vRead. */
  private String read(long visible) throws IOException {
    Settings settings = Settings.of(conf);
    Client client = Client.of(settings, NativeLibrary.load(null));
    VreadReplicaAccessorBuilder builder = new VreadReplicaAccessorBuilder();
    builder
        .setFileName(FILE)
        .setBlock(id, pool)
        .setGenerationStamp(stamp)
        .setVisibleLength(visible)
        .setConfiguration(conf);
    ReplicaAccessor accessor =
        builder.build(settings, context, client, false, PathProbe.OF_PROCESS);
    if (accessor == null) {
      return "refused " + ClientProcess.get().statistics().getFallbackReasons().keySet();
    }
    CRC32 sum = new CRC32();
    byte[] piece = new byte[50_000];
    long at = 0;
    for (int count; (count = accessor.read(at, piece, 0, piece.length)) > 0; at += count) {
      sum.update(piece, 0, count);
    }
    accessor.close();
    return at + " " + sum.getValue();
  }
}
