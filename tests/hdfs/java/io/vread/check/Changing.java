// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;

/**
 * Scenarios in which files change between reads, and under open streams. matrix/test_changes.py
 * asks for them.
 *
 * <p>The client "by" reads, the stock client writes. block() is the size of the cluster's blocks:
 * changes are made within blocks and at their borders.
 */
final class Changing {
  private Changing() {}

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("under-construction", Changing::underConstruction);
    scenarios.put("append-then-read", Changing::appendThenRead);
    scenarios.put("truncate-then-read", Changing::truncateThenRead);
    scenarios.put("append-between", Changing::appendBetween);
    scenarios.put("truncate-between", Changing::truncateBetween);
    scenarios.put("rewrite-between", Changing::rewriteBetween);
    scenarios.put("delete-under-stream", Changing::deleteUnderStream);
    scenarios.put("replace-under-stream", Changing::replaceUnderStream);
    scenarios.put("same-name-again", Changing::sameNameAgain);
    scenarios.put("rename", Changing::rename);
    scenarios.put("concat", Changing::concat);
  }

  private static int block(Context context) {
    return context.stockConf.getInt("dfs.blocksize", 1 << 20);
  }

  private static DistributedFileSystem reader(Context context, Args args) {
    return context.client(args.text("by", "vread"));
  }

  private static Path path(Args args) {
    return new Path("/changing-" + args.text("do") + "-" + args.text("by", "vread"));
  }

  /** Reads the file in several ways and checks all bytes. Returns how many bytes were read. */
  private static long readAll(DistributedFileSystem fs, Content file) throws Exception {
    long bytes = 0;
    for (String way : new String[] {"1m", "4k", "pread-fully", "direct-buffer"}) {
      bytes += Reading.once(fs, file, Ways.all().get(way));
    }
    return bytes;
  }

  private static Map<String, Object> underConstruction(Context context, Args args)
      throws Exception {
    DistributedFileSystem fs = reader(context, args);
    Path path = path(args);
    byte[] all = Content.random(1, block(context) * 5L / 2);
    int[] ends = {1000, 4096, block(context) / 2, block(context), block(context) + 1, all.length};
    try (FSDataOutputStream out = context.stock.create(path, true)) {
      FSDataInputStream early = null;
      int written = 0;
      for (int end : ends) {
        out.write(all, written, end - written);
        written = end;
        if (end % 2 == 0) {
          out.hsync();
        } else {
          out.hflush();
        }
        readAll(fs, new Content(path, Arrays.copyOf(all, written)));
        if (early == null) {
          early = fs.open(path);
        }
      }
      byte[] start = new byte[ends[0]];
      early.readFully(0, start);
      Content.check(all, 0, start, 0, start.length);
      early.close();
    }
    Settled.wait(context);
    return readOnceServed(fs, new Content(path, all));
  }

  /** As readAll(), but first waits until vRead serves the blocks that it refused earlier. */
  private static Map<String, Object> readOnceServed(DistributedFileSystem fs, Content file)
      throws Exception {
    Awaiting.until(
        file.path + ": read through vRead after it was changed",
        () -> {
          Statistics before = Statistics.now();
          Reading.once(fs, file, Ways.all().get("1m"));
          return !Statistics.now().minus(before).numbers().containsKey("fallback.blocks");
        });
    Statistics before = Statistics.now();
    long bytes = readAll(fs, file);
    return Map.of("bytes", bytes, "stats", Statistics.now().minus(before));
  }

  private static Map<String, Object> appendThenRead(Context context, Args args) throws Exception {
    DistributedFileSystem fs = reader(context, args);
    Path path = path(args);
    Content file = Content.write(context, path.toString(), Content.random(1, 700_001));
    long bytes = readAll(fs, file);
    for (int length : new int[] {1, 511, 100_000, block(context), 3}) {
      file = append(context, file, length);
      Settled.wait(context);
      bytes += readAll(fs, file);
    }
    return Map.of("bytes", bytes);
  }

  private static Content append(Context context, Content file, int length) throws IOException {
    byte[] more = Content.random(length, length);
    try (FSDataOutputStream out = context.stock.append(file.path)) {
      out.write(more);
    }
    return new Content(file.path, Content.join(file.bytes, more));
  }

  private static Map<String, Object> truncateThenRead(Context context, Args args)
      throws Exception {
    DistributedFileSystem fs = reader(context, args);
    int block = block(context);
    Content file =
        Content.write(context, path(args).toString(), Content.random(1, block * 3L + 77_777));
    long bytes = readAll(fs, file);
    for (int length : new int[] {block * 3, block * 2 + 12_345, block + 1, 1000}) {
      file = truncate(context, file, length);
      Settled.wait(context);
      bytes += readAll(fs, file);
    }
    file = append(context, file, 99_999);
    Settled.wait(context);
    bytes += readAll(fs, file);
    return Map.of("bytes", bytes);
  }

  private static Content truncate(Context context, Content file, int length) throws Exception {
    boolean done = context.stock.truncate(file.path, length);
    Awaiting.until(
        file.path + ": closed after its truncation",
        () -> done || context.stock.isFileClosed(file.path));
    return new Content(file.path, Arrays.copyOf(file.bytes, length));
  }

  /** The open stream must go on to read the content of its opening. */
  private static Map<String, Object> appendBetween(Context context, Args args) throws Exception {
    DistributedFileSystem fs = reader(context, args);
    Content file =
        Content.write(
            context, path(args).toString(), Content.random(1, block(context) + 500_000L));
    long bytes = 0;
    try (FSDataInputStream in = fs.open(file.path)) {
      byte[] first = new byte[block(context) + 1000];
      in.readFully(first);
      file.check(0, first, 0, first.length);
      Content longer = append(context, file, 300_000);
      byte[] rest = new byte[file.bytes.length - first.length];
      in.readFully(rest);
      file.check(first.length, rest, 0, rest.length);
      byte[] some = new byte[10_000];
      in.readFully(block(context) - 5000, some);
      file.check(block(context) - 5000, some, 0, some.length);
      bytes = first.length + rest.length + some.length;
      Settled.wait(context);
      bytes += readAll(fs, longer);
    }
    return Map.of("bytes", bytes);
  }

  /** Where the file was cut off, the stream may give the old bytes, an error or the end. */
  private static Map<String, Object> truncateBetween(Context context, Args args) throws Exception {
    DistributedFileSystem fs = reader(context, args);
    Content file =
        Content.write(context, path(args).toString(), Content.random(1, block(context) - 1));
    try (FSDataInputStream in = fs.open(file.path)) {
      byte[] first = new byte[100_000];
      in.readFully(first);
      Content shorter = truncate(context, file, 200_000);
      Map<String, Object> result = remainder(in, first.length, file.bytes, shorter.bytes);
      Settled.wait(context);
      result.putAll(readOnceServed(fs, shorter));
      return result;
    }
  }

  /** The file is truncated and appended to: the stream may give old or new bytes, no others. */
  private static Map<String, Object> rewriteBetween(Context context, Args args) throws Exception {
    DistributedFileSystem fs = reader(context, args);
    Content file =
        Content.write(context, path(args).toString(), Content.random(1, block(context) - 1));
    try (FSDataInputStream in = fs.open(file.path)) {
      byte[] first = new byte[100_000];
      in.readFully(first);
      Content other = append(context, truncate(context, file, 200_000), 600_000);
      Map<String, Object> result = remainder(in, first.length, file.bytes, other.bytes);
      Settled.wait(context);
      result.putAll(readOnceServed(fs, other));
      return result;
    }
  }

  /** Reads to the end. Every chunk must equal that of one of the two contents. */
  private static Map<String, Object> remainder(
      FSDataInputStream in, int position, byte[] old, byte[] other) throws IOException {
    Map<String, Object> result = new LinkedHashMap<>();
    byte[] chunk = new byte[4096];
    long fromOld = 0;
    long fromOther = 0;
    String end = "end";
    try {
      for (int got; (got = in.read(chunk)) >= 0; position += got) {
        if (is(old, position, chunk, got)) {
          fromOld += got;
        } else if (is(other, position, chunk, got)) {
          fromOther += got;
        } else {
          throw new AssertionError("bytes of neither content in the chunk at " + position);
        }
      }
    } catch (IOException | IllegalStateException told) {
      // The stock client throws IllegalStateException for a position behind the file's new end.
      end = told.getClass().getSimpleName();
    }
    result.put("old", fromOld);
    result.put("new", fromOther);
    result.put("end", end);
    return result;
  }

  private static boolean is(byte[] content, int position, byte[] chunk, int length) {
    return position + length <= content.length
        && Arrays.equals(content, position, position + length, chunk, 0, length);
  }

  /** The file is deleted under an open stream, and other files use its disk space. */
  private static Map<String, Object> deleteUnderStream(Context context, Args args)
      throws Exception {
    DistributedFileSystem fs = reader(context, args);
    Content file =
        Content.write(context, path(args).toString(), Content.random(1, block(context) * 3L));
    try (FSDataInputStream in = fs.open(file.path)) {
      byte[] first = new byte[100_000];
      in.readFully(first);
      file.check(0, first, 0, first.length);
      List<String> blocks = blocks(context, file.path);
      context.stock.delete(file.path, false);
      awaitDeletion(context, blocks);
      for (int i = 0; i < 4; i++) {
        Content.write(context, path(args) + "-" + i, Content.random(10 + i, block(context) * 2L));
      }
      return remainder(in, first.length, file.bytes, new byte[0]);
    }
  }

  /** Another file takes the name. The open stream must not give bytes of the new file. */
  private static Map<String, Object> replaceUnderStream(Context context, Args args)
      throws Exception {
    DistributedFileSystem fs = reader(context, args);
    int block = block(context);
    Content file = Content.write(context, path(args).toString(), Content.random(1, block * 3L));
    try (FSDataInputStream in = fs.open(file.path)) {
      long old = preads(in, file, block);
      Path aside = new Path(path(args) + "-new");
      byte[] other = Content.random(2, block * 3L);
      try (FSDataOutputStream out =
          context.stock.create(aside, true, 65536, (short) 1, block * 4L)) {
        out.write(other);
      }
      List<String> blocks = blocks(context, file.path);
      context.stock.rename(aside, file.path, Options.Rename.OVERWRITE);
      awaitDeletion(context, blocks);
      Settled.wait(context);
      String end = "end";
      try {
        preads(in, file, block);
      } catch (IOException told) {
        end = told.getClass().getSimpleName();
      }
      readAll(fs, new Content(file.path, other));
      return Map.of("old", old, "end", end);
    }
  }

  /** Reads by position at several places of each block. Returns how many bytes were read. */
  private static long preads(FSDataInputStream in, Content file, int block) throws IOException {
    byte[] chunk = new byte[4096];
    long bytes = 0;
    for (int at = 1234; at + chunk.length < file.bytes.length; at += block / 4) {
      in.readFully(at, chunk);
      if (!is(file.bytes, at, chunk, chunk.length)) {
        throw new AssertionError("bytes of another file at " + at);
      }
      bytes += chunk.length;
    }
    return bytes;
  }

  /** The names of the files in which datanodes keep the blocks of path. */
  private static List<String> blocks(Context context, Path path) throws IOException {
    List<String> names = new ArrayList<>();
    for (LocatedBlock block :
        context.stock.getClient().getLocatedBlocks(path.toString(), 0).getLocatedBlocks()) {
      names.add(block.getBlock().getBlockName());
    }
    return names;
  }

  /** Datanodes hear of deletions with their next heartbeat and delete in the background. */
  private static void awaitDeletion(Context context, List<String> blocks) throws Exception {
    for (Map.Entry<String, String> each : context.own.entrySet()) {
      if (each.getKey().startsWith("disk.")) {
        Awaiting.until(
            blocks + ": gone from " + each.getKey(),
            () -> !holdsAny(Paths.get(each.getValue()), blocks));
      }
    }
  }

  private static boolean holdsAny(java.nio.file.Path disk, List<String> blocks)
      throws IOException {
    try (Stream<java.nio.file.Path> files = Files.walk(disk)) {
      return files.anyMatch(file -> blocks.contains(file.getFileName().toString()));
    } catch (UncheckedIOException | NoSuchFileException e) {
      return true; // a file was deleted meanwhile: look again
    }
  }

  /** Files of one name, one after the other: nothing cached may outlive its file. */
  private static Map<String, Object> sameNameAgain(Context context, Args args) throws Exception {
    DistributedFileSystem fs = reader(context, args);
    long bytes = 0;
    for (int i = 0; i < 3; i++) {
      long size = block(context) * 3L / 2 - i * 1000;
      bytes += readAll(fs, Content.write(context, path(args).toString(), Content.random(i, size)));
    }
    return Map.of("bytes", bytes);
  }

  private static Map<String, Object> rename(Context context, Args args) throws Exception {
    DistributedFileSystem fs = reader(context, args);
    Content one = Content.write(context, path(args) + "-1", Content.random(1, 500_000));
    Content two = Content.write(context, path(args) + "-2", Content.random(2, 500_000));
    long bytes = readAll(fs, one) + readAll(fs, two);
    Path aside = new Path(path(args) + "-3");
    context.stock.delete(aside, false);
    for (Path[] move :
        new Path[][] {{one.path, aside}, {two.path, one.path}, {aside, two.path}}) {
      if (!context.stock.rename(move[0], move[1])) {
        throw new IOException("rename of " + move[0] + " to " + move[1]);
      }
    }
    bytes += readAll(fs, new Content(one.path, two.bytes));
    bytes += readAll(fs, new Content(two.path, one.bytes));
    return Map.of("bytes", bytes);
  }

  private static Map<String, Object> concat(Context context, Args args) throws Exception {
    DistributedFileSystem fs = reader(context, args);
    int block = block(context);
    Content one = Content.write(context, path(args) + "-1", Content.random(1, block * 2L));
    Content two = Content.write(context, path(args) + "-2", Content.random(2, block));
    Content three = Content.write(context, path(args) + "-3", Content.random(3, 12_345));
    long bytes = readAll(fs, one) + readAll(fs, two) + readAll(fs, three);
    context.stock.concat(one.path, new Path[] {two.path, three.path});
    bytes += readAll(fs, new Content(one.path, Content.join(one.bytes, two.bytes, three.bytes)));
    return Map.of("bytes", bytes);
  }
}
