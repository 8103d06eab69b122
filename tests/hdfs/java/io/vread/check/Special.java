// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.client.CreateEncryptionZoneFlag;
import org.apache.hadoop.hdfs.client.HdfsAdmin;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.DatanodeReportType;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;

/** Scenarios with special files: erasure-coded, encrypted, in snapshots, of odd sizes. */
final class Special {
  private static final String EC_POLICY = "XOR-2-1-1024k";

  private Special() {}

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("erasure-coded", Special::erasureCoded);
    scenarios.put("encryption-zone", Special::encryptionZone);
    scenarios.put("snapshot", Special::snapshot);
    scenarios.put("sizes", Special::sizes);
    scenarios.put("checksums", Special::checksums);
    scenarios.put("unverified", Special::unverified);
    scenarios.put("blocks", Special::blocks);
    scenarios.put("health", Special::health);
  }

  private static Map<String, Object> readInAllWays(Context context, Content file)
      throws Exception {
    Reading.once(context.stock, file, Ways.all().get("1m"));
    Statistics before = Statistics.now();
    long bytes = 0;
    for (Ways.Way way : Ways.all().values()) {
      bytes += Reading.once(context.vread, file, way);
    }
    return Map.of("bytes", bytes, "stats", Statistics.now().minus(before));
  }

  /** Makes a folder for erasure-coded files. */
  static void makeStriped(Context context, Path directory) throws IOException {
    context.stock.mkdirs(directory);
    context.stock.enableErasureCodingPolicy(EC_POLICY);
    context.stock.setErasureCodingPolicy(directory, EC_POLICY);
  }

  private static Map<String, Object> erasureCoded(Context context, Args args) throws Exception {
    Path directory = new Path("/erasure-coded");
    makeStriped(context, directory);
    byte[] bytes = Content.random(5, args.number("size", 5 << 20));
    Content file = Content.write(context, directory + "/file", bytes);
    Statistics before = Statistics.now();
    long read = 0;
    for (Map.Entry<String, Ways.Way> way : Ways.all().entrySet()) {
      if (!way.getKey().equals("pool")) { // such files refuse zero-copy reads, also with a copy
        Reading.once(context.stock, file, way.getValue());
        read += Reading.once(context.vread, file, way.getValue());
      }
    }
    return Map.of("bytes", read, "stats", Statistics.now().minus(before));
  }

  /** The key of the zone was made before the NameNode was started. */
  private static Map<String, Object> encryptionZone(Context context, Args args) throws Exception {
    Path zone = new Path("/encrypted");
    context.stock.mkdirs(zone);
    HdfsAdmin admin = new HdfsAdmin(context.stock.getUri(), context.stockConf);
    admin.createEncryptionZone(
        zone, "zone", EnumSet.of(CreateEncryptionZoneFlag.NO_TRASH));
    byte[] bytes = Content.random(6, 2_345_678);
    return readInAllWays(context, Content.write(context, zone + "/file", bytes));
  }

  /** The snapshots must keep their bytes while the file is appended to and deleted. */
  private static Map<String, Object> snapshot(Context context, Args args) throws Exception {
    Path directory = new Path("/snapshots");
    context.stock.mkdirs(directory);
    context.stock.allowSnapshot(directory);
    Content file = Content.write(context, directory + "/file", Content.random(7, 1_700_000));
    long bytes = 0;
    List<Content> expected = new ArrayList<>();
    expected.add(file);
    for (int number = 1; number <= 2; number++) {
      Path snapshot = context.stock.createSnapshot(directory, "s" + number);
      expected.add(new Content(new Path(snapshot, "file"), expected.get(0).bytes));
      byte[] more = Content.random(70 + number, 300_000);
      try (FSDataOutputStream out = context.stock.append(file.path)) {
        out.write(more);
      }
      expected.set(
          0, new Content(file.path, Content.join(expected.get(0).bytes, more)));
      Settled.wait(context);
      for (Content each : expected) {
        Reading.once(context.stock, each, Ways.all().get("1m"));
        bytes += Reading.once(context.vread, each, Ways.all().get("1m"));
        bytes += Reading.once(context.vread, each, Ways.all().get("pread-fully"));
      }
    }
    context.stock.delete(file.path, false);
    for (Content each : expected.subList(1, expected.size())) {
      bytes += Reading.once(context.vread, each, Ways.all().get("4k"));
    }
    return Map.of("bytes", bytes);
  }

  /** Sizes around the borders of checksum chunks, pages and blocks. */
  private static Map<String, Object> sizes(Context context, Args args) throws Exception {
    int block = context.stockConf.getInt("dfs.blocksize", 1 << 20);
    int[] sizes = {0, 1, 511, 512, 513, 4095, 4096, 4097, block - 1, block, block + 1, 2 * block};
    List<Content> files = new ArrayList<>();
    for (int size : sizes) {
      files.add(Content.write(context, "/size-" + size, Content.random(size, size)));
    }
    Statistics before = Statistics.now();
    long bytes = 0;
    for (Content file : files) {
      for (String way : new String[] {"1m", "fully", "direct-buffer", "end"}) {
        Reading.once(context.stock, file, Ways.all().get(way));
        bytes += Reading.once(context.vread, file, Ways.all().get(way));
      }
    }
    return Map.of("bytes", bytes, "stats", Statistics.now().minus(before));
  }

  /** A file with checksums of kind "type", which may be NULL, and "chunk" bytes each. */
  private static Map<String, Object> checksums(Context context, Args args) throws Exception {
    Configuration conf = new Configuration(context.stockConf);
    conf.set("dfs.checksum.type", args.text("type"));
    conf.setInt("dfs.bytes-per-checksum", (int) args.number("chunk", 512));
    byte[] bytes = Content.random(8, 1_500_001);
    Path path = new Path("/checksums-" + args.text("type") + "-" + args.number("chunk", 512));
    try (DistributedFileSystem writer = context.newClient(conf);
        FSDataOutputStream out = writer.create(path, true)) {
      out.write(bytes);
    }
    Settled.wait(context);
    return readInAllWays(context, new Content(path, bytes));
  }

  private static Map<String, Object> unverified(Context context, Args args) throws Exception {
    Content file = context.file(args);
    try (DistributedFileSystem fs = context.newClient(context.vreadConf)) {
      fs.setVerifyChecksum(false);
      return Map.of("bytes", Reading.once(fs, file, Ways.all().get("1m")));
    }
  }

  /** The NameNode's counts of datanodes and replicas. Its metrics would be seconds late. */
  private static Map<String, Object> health(Context context, Args args) throws IOException {
    return Map.of(
        "live", context.stock.getDataNodeStats(DatanodeReportType.LIVE).length,
        "dead", context.stock.getDataNodeStats(DatanodeReportType.DEAD).length,
        "corrupt", context.stock.getCorruptBlocksCount(),
        "missing", context.stock.getMissingBlocksCount());
  }

  /** Where the blocks of a file are, as the NameNode knows it. */
  private static Map<String, Object> blocks(Context context, Args args) throws IOException {
    List<Map<String, Object>> found = new ArrayList<>();
    for (LocatedBlock each :
        context
            .stock
            .getClient()
            .getLocatedBlocks(args.text("file"), 0, Long.MAX_VALUE)
            .getLocatedBlocks()) {
      List<String> addresses = new ArrayList<>();
      for (DatanodeInfo datanode : each.getLocations()) {
        addresses.add(datanode.getXferAddr());
      }
      found.add(
          Map.of(
              "name", each.getBlock().getBlockName(),
              "genstamp", each.getBlock().getGenerationStamp(),
              "corrupt", each.isCorrupt(),
              "locations", addresses,
              "storages", List.of(each.getStorageIDs())));
    }
    return Map.of("blocks", found);
  }
}
