// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.ReadOption;
import org.apache.hadoop.io.ElasticByteBufferPool;

/**
 * Ways to read an open file.
 *
 * <p>Each way compares every byte with the file's content and returns how many bytes it read. With
 * equal seeds, a way makes the same requests.
 */
final class Ways {
  /** One way to read. */
  interface Way {
    long read(FSDataInputStream in, Content file, Random random) throws Exception;
  }

  private static final int POSITIONED_READS = 60;
  private static final int LARGEST = 300_000;

  private Ways() {}

  static Map<String, Way> all() {
    Map<String, Way> ways = new LinkedHashMap<>();
    ways.put("1m", (in, file, random) -> sequential(in, file, 1 << 20));
    ways.put("4k", (in, file, random) -> sequential(in, file, 4096));
    ways.put("odd", Ways::odd);
    ways.put("bytes", (in, file, random) -> bytes(in, file));
    ways.put("fully", Ways::fully);
    ways.put("heap-buffer", (in, file, random) -> buffers(in, file, ByteBuffer::allocate));
    ways.put("direct-buffer", (in, file, random) -> buffers(in, file, ByteBuffer::allocateDirect));
    ways.put("pread", Ways::pread);
    ways.put("pread-fully", Ways::preadFully);
    ways.put("pread-heap-buffer", (in, f, r) -> preadBuffers(in, f, r, ByteBuffer::allocate));
    ways.put(
        "pread-direct-buffer", (in, f, r) -> preadBuffers(in, f, r, ByteBuffer::allocateDirect));
    ways.put("vectored", (in, f, r) -> vectored(in, f, r, ByteBuffer::allocate));
    ways.put("vectored-direct", (in, f, r) -> vectored(in, f, r, ByteBuffer::allocateDirect));
    ways.put("pool", Ways::pool);
    ways.put("seek", Ways::seek);
    ways.put("skip", Ways::skip);
    ways.put("unbuffer", Ways::unbuffer);
    ways.put("end", Ways::end);
    return ways;
  }

  static long sequential(FSDataInputStream in, Content file, int size) throws IOException {
    byte[] buffer = new byte[size];
    long position = 0;
    for (int got; (got = in.read(buffer)) >= 0; position += got) {
      some(got, size);
      file.check(position, buffer, 0, got);
    }
    whole(position, file);
    return position;
  }

  /** Reads to odd places of the buffer, in odd lengths. */
  private static long odd(FSDataInputStream in, Content file, Random random) throws IOException {
    byte[] buffer = new byte[LARGEST + 100];
    long position = 0;
    while (true) {
      int length = 1 + random.nextInt(LARGEST);
      int start = random.nextInt(100);
      int got = in.read(buffer, start, length);
      if (got < 0) {
        whole(position, file);
        return position;
      }
      some(got, length);
      file.check(position, buffer, start, got);
      position += got;
      if (in.getPos() != position) {
        throw new IOException("position " + in.getPos() + " after " + position + " bytes");
      }
    }
  }

  /** Reads byte by byte across the middle of the file, a border of blocks if it has any. */
  private static long bytes(FSDataInputStream in, Content file) throws IOException {
    long middle = file.bytes.length / 2 >> 20 << 20;
    long start = Math.max(0, middle - 5000);
    in.seek(start);
    long end = Math.min(file.bytes.length, start + 10_000);
    byte[] one = new byte[1];
    for (long position = start; position < end; position++) {
      one[0] = (byte) in.read();
      file.check(position, one, 0, 1);
    }
    return end - start;
  }

  private static long fully(FSDataInputStream in, Content file, Random random) throws IOException {
    byte[] all = new byte[file.bytes.length];
    in.readFully(all);
    file.check(0, all, 0, all.length);
    return all.length;
  }

  private static long buffers(
      FSDataInputStream in, Content file, IntFunction<ByteBuffer> allocate) throws IOException {
    ByteBuffer buffer = allocate.apply(150_001);
    long position = 0;
    while (true) {
      buffer.clear().position(7);
      int got = in.read(buffer);
      if (got < 0) {
        whole(position, file);
        return position;
      }
      some(got, buffer.capacity() - 7);
      check(file, position, buffer, 7, got);
      position += got;
    }
  }

  /** Checks the bytes, and that the buffer's position moved by their number. */
  private static void check(Content file, long offset, ByteBuffer buffer, int start, int got)
      throws IOException {
    if (buffer.position() != start + got) {
      throw new IOException(
          "buffer at " + buffer.position() + " after " + got + " bytes at " + start);
    }
    byte[] copy = new byte[got];
    ByteBuffer view = buffer.duplicate();
    view.position(start);
    view.get(copy);
    file.check(offset, copy, 0, got);
  }

  private static long pread(FSDataInputStream in, Content file, Random random) throws IOException {
    long total = 0;
    byte[] buffer = new byte[LARGEST];
    for (int i = 0; i < POSITIONED_READS; i++) {
      int at = random.nextInt(file.bytes.length);
      int start = random.nextInt(64);
      int length = 1 + random.nextInt(LARGEST - 64);
      int got = in.read(at, buffer, start, length);
      some(got, length);
      file.check(at, buffer, start, got);
      total += got;
    }
    return total;
  }

  private static long preadFully(FSDataInputStream in, Content file, Random random)
      throws IOException {
    long total = 0;
    in.seek(Math.min(100, file.bytes.length));
    for (int i = 0; i < POSITIONED_READS; i++) {
      int at = random.nextInt(file.bytes.length);
      byte[] buffer = new byte[1 + random.nextInt(Math.min(LARGEST, file.bytes.length - at))];
      in.readFully(at, buffer);
      file.check(at, buffer, 0, buffer.length);
      total += buffer.length;
    }
    if (in.getPos() != Math.min(100, file.bytes.length)) {
      throw new IOException("positioned reads moved the stream to " + in.getPos());
    }
    return total;
  }

  private static long preadBuffers(
      FSDataInputStream in, Content file, Random random, IntFunction<ByteBuffer> allocate)
      throws IOException {
    long total = 0;
    for (int i = 0; i < POSITIONED_READS; i++) {
      int at = random.nextInt(file.bytes.length);
      ByteBuffer buffer = allocate.apply(1 + random.nextInt(LARGEST));
      int got = in.read(at, buffer);
      some(got, buffer.capacity());
      check(file, at, buffer, 0, got);
      total += got;
    }
    return total;
  }

  private static long vectored(
      FSDataInputStream in, Content file, Random random, IntFunction<ByteBuffer> allocate)
      throws Exception {
    List<FileRange> ranges = new ArrayList<>();
    long total = 0;
    // Ranges must not overlap, but any order is allowed: the second half comes first.
    int step = Math.max(1, file.bytes.length / 24);
    for (int i = 0; i < 24; i++) {
      int at = (i + 12) % 24 * step;
      int length = Math.min(1 + random.nextInt(step), file.bytes.length - at);
      if (length > 0) {
        ranges.add(FileRange.createFileRange(at, length));
        total += length;
      }
    }
    in.readVectored(ranges, allocate);
    for (FileRange range : ranges) {
      ByteBuffer data = range.getData().get(60, TimeUnit.SECONDS);
      if (data.remaining() != range.getLength()) {
        throw new IOException(range + ": " + data.remaining() + " bytes");
      }
      byte[] copy = new byte[range.getLength()];
      data.get(copy);
      file.check(range.getOffset(), copy, 0, copy.length);
    }
    return total;
  }

  /** Zero-copy reads, which fall back to reads that copy. */
  private static long pool(FSDataInputStream in, Content file, Random random) throws IOException {
    ElasticByteBufferPool buffers = new ElasticByteBufferPool();
    long position = 0;
    while (true) {
      ByteBuffer buffer = in.read(buffers, 200_000, EnumSet.noneOf(ReadOption.class));
      if (buffer == null) {
        whole(position, file);
        return position;
      }
      byte[] copy = new byte[buffer.remaining()];
      buffer.get(copy);
      some(copy.length, 200_000);
      file.check(position, copy, 0, copy.length);
      position += copy.length;
      in.releaseBuffer(buffer);
    }
  }

  /** Seeks back and forth, near and far. */
  private static long seek(FSDataInputStream in, Content file, Random random) throws IOException {
    byte[] buffer = new byte[50_000];
    long total = 0;
    int at = 0;
    for (int i = 0; i < POSITIONED_READS; i++) {
      int near = at + random.nextInt(20_000) - 10_000;
      at = i % 3 == 0 && near >= 0 ? near : random.nextInt(file.bytes.length);
      at = Math.min(at, file.bytes.length - 1);
      in.seek(at);
      int length = 1 + random.nextInt(buffer.length);
      int got = in.read(buffer, 0, length);
      some(got, length);
      file.check(at, buffer, 0, got);
      at += got;
      total += got;
    }
    return total;
  }

  private static long skip(FSDataInputStream in, Content file, Random random) throws IOException {
    byte[] buffer = new byte[10_000];
    long position = 0;
    long total = 0;
    while (true) {
      position += in.skip(random.nextInt(400_000));
      if (position > file.bytes.length || in.getPos() != position) {
        throw new IOException("at " + in.getPos() + " after skipping to " + position);
      }
      int got = in.read(buffer);
      if (got < 0) {
        return total;
      }
      file.check(position, buffer, 0, got);
      position += got;
      total += got;
    }
  }

  /** Calls unbuffer() after each read, also in the middle of a block. */
  private static long unbuffer(FSDataInputStream in, Content file, Random random)
      throws IOException {
    byte[] buffer = new byte[250_000];
    long position = 0;
    for (int got; (got = in.read(buffer)) >= 0; position += got) {
      file.check(position, buffer, 0, got);
      in.unbuffer();
    }
    whole(position, file);
    return position;
  }

  /** Reads at the end of the file and past it. */
  private static long end(FSDataInputStream in, Content file, Random random) throws IOException {
    int size = file.bytes.length;
    byte[] buffer = new byte[100];
    int last = Math.min(50, size);
    int got = in.read(size - last, buffer, 0, buffer.length);
    if (last > 0) {
      some(got, last);
      file.check(size - last, buffer, 0, got);
    }
    in.seek(size);
    if (in.read() != -1 || in.read(buffer) != -1 || in.read(size, buffer, 0, 1) != -1) {
      throw new IOException("bytes behind the end");
    }
    try {
      in.readFully(size, buffer);
      throw new IOException(buffer.length + " bytes behind the end");
    } catch (EOFException expected) {
      return last;
    }
  }

  private static void some(int got, int asked) throws IOException {
    if (got < 1 || got > asked) {
      throw new IOException(got + " bytes where " + asked + " were asked for");
    }
  }

  private static void whole(long got, Content file) throws IOException {
    if (got != file.bytes.length) {
      throw new IOException(got + " bytes of a file of " + file.bytes.length);
    }
  }
}
