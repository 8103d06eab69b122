// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.Closeable;
import java.net.URI;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.HdfsBlockLocation;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.io.IOUtils;

/**
 * Scenarios with files at any URI: in another namespace, below a mount point of ViewFs, with a
 * storage policy. A file's bytes are made from its seed, so that equal names may have other bytes.
 */
final class Elsewhere {
  private Elsewhere() {}

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("write-at", Elsewhere::write);
    scenarios.put("append-at", Elsewhere::append);
    scenarios.put("link-at", Elsewhere::link);
    scenarios.put("read-at", Elsewhere::read);
    scenarios.put("read-in-turn", Elsewhere::readInTurn);
    scenarios.put("delete-at", Elsewhere::delete);
    scenarios.put("where-at", Elsewhere::where);
  }

  private static FileSystem open(Configuration conf, Path path) throws Exception {
    URI uri = path.toUri();
    return FileSystem.newInstance(
        uri.getScheme() == null ? FileSystem.getDefaultUri(conf) : uri, conf);
  }

  private static Content content(Args args) {
    return new Content(
        new Path(args.text("uri")),
        Content.random(args.number("seed", 1), args.number("size", 3_210_987)));
  }

  /** Writes a file. policy: the storage policy of its folder. unsettled: does not wait. */
  private static Map<String, Object> write(Context context, Args args) throws Exception {
    Content file = content(args);
    EnumSet<CreateFlag> flags = EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE);
    if (args.flag("lazy")) {
      flags.add(CreateFlag.LAZY_PERSIST);
    }
    try (FileSystem fs = open(context.stockConf, file.path)) {
      if (args.has("policy")) {
        fs.mkdirs(file.path.getParent());
        fs.setStoragePolicy(file.path.getParent(), args.text("policy"));
      }
      short replicas = (short) args.number("replicas", 2);
      long block = context.stockConf.getLong("dfs.blocksize", 1 << 20);
      try (FSDataOutputStream out =
          fs.create(
              file.path,
              FsPermission.getFileDefault(),
              flags,
              65536,
              replicas,
              block,
              null)) {
        out.write(file.bytes);
      }
      Awaiting.until(file.path + ": " + replicas + " replicas", () -> fewest(fs, file) >= replicas);
    }
    if (!args.flag("unsettled")) {
      Settled.wait(context);
    }
    return Map.of("bytes", file.bytes.length);
  }

  /** Appends "more" bytes: those that a longer file of the seed would have. */
  private static Map<String, Object> append(Context context, Args args) throws Exception {
    Content file = content(args);
    int length = file.bytes.length;
    int more = (int) args.number("more", 0);
    byte[] longer = Content.random(args.number("seed", 1), length + more);
    try (FileSystem fs = open(context.stockConf, file.path);
        FSDataOutputStream out = fs.append(file.path)) {
      out.write(longer, length, more);
    }
    Settled.wait(context);
    return Map.of("bytes", longer.length);
  }

  /** Makes the symbolic link "link" to the file. NameNodes allow this with {@link Links} only. */
  private static Map<String, Object> link(Context context, Args args) throws Exception {
    Path link = new Path(args.text("link"));
    try (FileSystem fs = open(context.stockConf, link)) {
      fs.createSymlink(new Path(args.text("uri")), link, true);
    }
    return Map.of();
  }

  private static int fewest(FileSystem fs, Content file) throws Exception {
    int fewest = Integer.MAX_VALUE;
    for (BlockLocation each : fs.getFileBlockLocations(file.path, 0, file.bytes.length)) {
      fewest = Math.min(fewest, each.getNames().length);
    }
    return fewest;
  }

  /**
   * Reads a file by both clients, in two ways, as a user of {@link Users}. default: the file system
   * of names without one. "stats": of the reading by vRead only.
   */
  private static Map<String, Object> read(Context context, Args args) throws Exception {
    PrivilegedExceptionAction<Map<String, Object>> reading = () -> readAsUser(context, args);
    return Users.of(context.stockConf, args).doAs(reading);
  }

  private static Map<String, Object> readAsUser(Context context, Args args) throws Exception {
    Content file = content(args);
    try (FileSystem stock = open(withDefault(context.stockConf, args), file.path)) {
      readBy(stock, file);
    }
    Statistics before = Statistics.now();
    Map<String, Object> result = new LinkedHashMap<>();
    try (FileSystem vread = open(withDefault(context.vreadConf, args), file.path)) {
      result.put("bytes", readBy(vread, file));
    }
    result.put("stats", Statistics.now().minus(before));
    return result;
  }

  /**
   * Reads the files "uris", made from "seeds", in turn, as a copy between clusters does: a piece of
   * each by its stream and the same piece by a pread. "stats": of the reading by vRead.
   */
  private static Map<String, Object> readInTurn(Context context, Args args) throws Exception {
    int size = (int) args.number("size", 0);
    List<Content> files = new ArrayList<>();
    for (int i = 0; i < args.list("uris").size(); i++) {
      long seed = Long.parseLong(args.list("seeds").get(i));
      files.add(new Content(new Path(args.list("uris").get(i)), Content.random(seed, size)));
    }
    Statistics before = Statistics.now();
    List<FSDataInputStream> streams = new ArrayList<>();
    List<Closeable> opened = new ArrayList<>();
    try {
      for (Content file : files) {
        FileSystem fs = open(context.vreadConf, file.path);
        opened.add(fs);
        streams.add(fs.open(file.path));
        opened.add(0, streams.get(streams.size() - 1));
      }
      byte[] piece = new byte[100_000];
      for (int at = 0; at < size; at += piece.length) {
        for (int i = 0; i < files.size(); i++) {
          int length = Math.min(piece.length, size - at);
          streams.get(i).readFully(piece, 0, length);
          files.get(i).check(at, piece, 0, length);
          streams.get(i).readFully(at, piece, 0, length);
          files.get(i).check(at, piece, 0, length);
        }
      }
    } finally {
      IOUtils.cleanupWithLogger(null, opened.toArray(new Closeable[0]));
    }
    return Map.of("bytes", 2L * size * files.size(), "stats", Statistics.now().minus(before));
  }

  private static Configuration withDefault(Configuration conf, Args args) {
    Configuration result = new Configuration(conf);
    if (args.has("default")) {
      FileSystem.setDefaultUri(result, args.text("default"));
    }
    return result;
  }

  private static long readBy(FileSystem fs, Content file) throws Exception {
    return Reading.once(fs, file, Ways.all().get("1m"))
        + Reading.once(fs, file, Ways.all().get("pread"));
  }

  private static Map<String, Object> delete(Context context, Args args) throws Exception {
    Path path = new Path(args.text("uri"));
    try (FileSystem fs = open(context.stockConf, path)) {
      return Map.of("deleted", fs.delete(path, false));
    }
  }

  /** The names of a file's blocks, their types of storage, and how many of them are cached. */
  private static Map<String, Object> where(Context context, Args args) throws Exception {
    Path path = new Path(args.text("uri"));
    TreeSet<String> types = new TreeSet<>();
    List<String> names = new ArrayList<>();
    int cached = 0;
    BlockLocation[] blocks;
    try (FileSystem fs = open(context.stockConf, path)) {
      blocks = fs.getFileBlockLocations(path, 0, Long.MAX_VALUE);
    }
    for (BlockLocation each : blocks) {
      Arrays.stream(each.getStorageTypes()).forEach(type -> types.add(type.toString()));
      cached += each.getCachedHosts().length > 0 ? 1 : 0;
      names.add(((HdfsBlockLocation) each).getLocatedBlock().getBlock().getLocalBlock().toString());
    }
    return Map.of("types", types, "blocks", names, "cached", cached);
  }
}
