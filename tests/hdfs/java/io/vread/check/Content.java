// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/** A file in HDFS and the bytes it must have. */
final class Content {
  private static final int USUAL_SIZE = (7 << 19) + 12345;

  final Path path;
  final byte[] bytes;

  Content(Path path, byte[] bytes) {
    this.path = path;
    this.bytes = bytes;
  }

  static byte[] random(long seed, long size) {
    byte[] bytes = new byte[Math.toIntExact(size)];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  static byte[] join(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.write(part, 0, part.length);
    }
    return all.toByteArray();
  }

  /** The file that write() wrote with the same arguments. Null: there is no such file. */
  static Content present(Context context, String name, Args args) throws IOException {
    Path path = new Path(name);
    byte[] bytes = made(name, args);
    boolean found =
        context.stock.exists(path) && context.stock.getFileStatus(path).getLen() == bytes.length;
    return found ? new Content(path, bytes) : null;
  }

  private static byte[] made(String name, Args args) {
    return random(args.number("seed", name.hashCode()), args.number("size", USUAL_SIZE));
  }

  /**
   * Writes a file. Arguments: size; seed, by which files of one name have other bytes; on: names of
   * the datanodes that get it; block: its size.
   */
  static Content write(Context context, String name, Args args) throws Exception {
    byte[] bytes = made(name, args);
    Path path = new Path(name);
    try (FSDataOutputStream out = create(context, path, args)) {
      out.write(bytes);
    }
    awaitReplicas(context, path, replicas(context, args));
    Settled.wait(context);
    return new Content(path, bytes);
  }

  /** Creates a file with the arguments "on" and "block" of write(). */
  static FSDataOutputStream create(Context context, Path path, Args args) throws IOException {
    return context.stock.create(
        path,
        FsPermission.getFileDefault(),
        true,
        65536,
        replicas(context, args),
        args.number("block", context.stockConf.getLong("dfs.blocksize", 1 << 20)),
        null,
        addresses(context, args.list("on")));
  }

  private static short replicas(Context context, Args args) {
    int usual = context.stockConf.getInt("dfs.replication", 1);
    return (short) (args.has("on") ? args.list("on").size() : usual);
  }

  /** The NameNode may hear of all replicas but one only after the file was closed. */
  private static void awaitReplicas(Context context, Path path, int replicas) throws Exception {
    Awaiting.until(path + ": " + replicas + " replicas", () -> fewest(context, path) >= replicas);
  }

  private static int fewest(Context context, Path path) throws IOException {
    return context
        .stock
        .getClient()
        .getLocatedBlocks(path.toString(), 0, Long.MAX_VALUE)
        .getLocatedBlocks()
        .stream()
        .mapToInt(block -> block.getLocations().length)
        .min()
        .orElse(Integer.MAX_VALUE);
  }

  static Content write(Context context, String name, byte[] bytes) throws Exception {
    Path path = new Path(name);
    try (FSDataOutputStream out = context.stock.create(path, true)) {
      out.write(bytes);
    }
    Settled.wait(context);
    return new Content(path, bytes);
  }

  private static InetSocketAddress[] addresses(Context context, List<String> names) {
    if (names.isEmpty()) {
      return null;
    }
    return names.stream()
        .map(name -> context.own.get("address." + name).split(":"))
        .map(part -> new InetSocketAddress(part[0], Integer.parseInt(part[1])))
        .toArray(InetSocketAddress[]::new);
  }

  /** Throws unless the bytes were read right; the message has the place of the first wrong one. */
  void check(long offset, byte[] read, int start, int length) throws IOException {
    check(bytes, offset, read, start, length);
  }

  static void check(byte[] expected, long offset, byte[] read, int start, int length)
      throws IOException {
    if (offset + length > expected.length) {
      throw new IOException(
          length + " bytes at " + offset + " of a file of " + expected.length + " bytes");
    }
    int at = (int) offset;
    int wrong = Arrays.mismatch(expected, at, at + length, read, start, start + length);
    if (wrong >= 0) {
      throw new IOException("wrong byte at " + (offset + wrong) + " of " + expected.length);
    }
  }
}
