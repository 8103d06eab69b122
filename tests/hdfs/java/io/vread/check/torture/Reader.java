// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check.torture;

import io.vread.check.torture.Ledger.Life;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.ReadStatistics;
import org.apache.hadoop.hdfs.client.HdfsDataInputStream;

/**
 * A thread that reads files while their owners change them, and judges each byte by the ledger.
 *
 * <p>It reads in sequence, at random places, by position and into direct buffers. It keeps some
 * streams open and reads on later, when the file may be deleted or replaced. A failed read is a
 * complaint, unless the path changed since the stream was opened.
 */
final class Reader implements Runnable {
  private static final int[] SIZES = {1000, 4 << 10, 64 << 10, 256 << 10};
  private static final int LARGEST = 256 << 10;
  private static final int STRETCH = 4 << 20;
  private static final int PLACES = 16;
  private static final int KEPT = 3;
  private static final long KEPT_NS = 15_000_000_000L;

  private final DistributedFileSystem fs;
  private final DistributedFileSystem stock;
  private final Ledger ledger;
  private final Counts counts;
  private final AtomicBoolean ending;
  private final Random random;
  private final byte[] bytes = new byte[LARGEST];
  private final ByteBuffer direct = ByteBuffer.allocateDirect(LARGEST);
  private final List<Stream> kept = new ArrayList<>();
  private volatile long oldest = Ledger.now();

  private static final class Stream {
    final String path;
    final long since;
    FSDataInputStream in;
    Set<Life> lives;
    String way;
    ReadStatistics statistics = new ReadStatistics(); // as of the last read

    Stream(String path) {
      this.path = path;
      this.since = Ledger.now();
    }
  }

  Reader(
      DistributedFileSystem fs,
      DistributedFileSystem stock,
      Ledger ledger,
      Counts counts,
      AtomicBoolean ending,
      long seed) {
    this.fs = fs;
    this.stock = stock;
    this.ledger = ledger;
    this.counts = counts;
    this.ending = ending;
    this.random = new Random(seed);
  }

  /** The time since which this reader needs the ledger. */
  long oldest() {
    return oldest;
  }

  @Override
  public void run() {
    while (!ending.get()) {
      boolean again = !kept.isEmpty() && random.nextInt(3) == 0;
      Stream stream =
          again ? kept.remove(random.nextInt(kept.size())) : new Stream(ledger.any(random));
      if (use(stream) && Ledger.now() - stream.since < KEPT_NS && kept.size() < KEPT) {
        kept.add(stream);
      } else {
        close(stream);
      }
      oldest = kept.stream().mapToLong(each -> each.since).min().orElse(Ledger.now());
    }
    kept.forEach(this::close);
  }

  /** Reads a whole file. No owner may change it meanwhile. */
  void readWhole(String path) {
    Stream stream = new Stream(path);
    guarded(stream, "whole", () -> toTheEnd(stream, LARGEST));
    close(stream);
  }

  private boolean use(Stream stream) {
    int size = SIZES[random.nextInt(SIZES.length)];
    switch (random.nextInt(5)) {
      case 0:
        return guarded(stream, "in sequence", () -> toTheEnd(stream, size));
      case 1:
        return guarded(stream, "a stretch", () -> stretch(stream, size));
      case 2:
        return guarded(stream, "by position", () -> byPosition(stream, size));
      case 3:
        return guarded(stream, "somewhere", () -> somewhere(stream, size));
      default:
        return guarded(stream, "into a direct buffer", () -> intoDirectBuffer(stream, size));
    }
  }

  // ---- ways of reading --------------------------------------------------------------------------

  private interface Way {
    void read() throws IOException;
  }

  private void toTheEnd(Stream stream, int size) throws IOException {
    stream.in.seek(0);
    while (readOnce(stream, size)) {
      // the next
    }
  }

  /** Reads a stretch from a random place. The stream may then stand in the middle of a block. */
  private void stretch(Stream stream, int size) throws IOException {
    stream.in.seek(place(stream));
    for (int done = 0; done < STRETCH && readOnce(stream, size); done += size) {
      // the next
    }
  }

  private void somewhere(Stream stream, int size) throws IOException {
    for (int i = 0; i < PLACES; i++) {
      stream.in.seek(place(stream));
      readOnce(stream, size);
    }
  }

  private boolean readOnce(Stream stream, int size) throws IOException {
    long offset = stream.in.getPos();
    int got = stream.in.read(bytes, 0, size);
    judge(stream, offset, got);
    return got > 0 && !ending.get();
  }

  private void byPosition(Stream stream, int size) throws IOException {
    for (int i = 0; i < PLACES; i++) {
      long offset = place(stream);
      judge(stream, offset, stream.in.read(offset, bytes, 0, size));
    }
  }

  private void intoDirectBuffer(Stream stream, int size) throws IOException {
    stream.in.seek(place(stream));
    for (int i = 0; i < PLACES; i++) {
      long offset = stream.in.getPos();
      direct.clear().limit(size);
      int got = stream.in.read(direct);
      direct.flip();
      direct.get(bytes, 0, Math.max(got, 0));
      judge(stream, offset, got);
    }
  }

  /** A random offset within the length that the stream knows. */
  private long place(Stream stream) throws IOException {
    long length = ((HdfsDataInputStream) stream.in).getVisibleLength();
    return length == 0 ? 0 : (long) (random.nextDouble() * length);
  }

  // ---- judging ----------------------------------------------------------------------------------

  private void judge(Stream stream, long offset, int got) throws IOException {
    List<Version> versions = ledger.versions(stream.lives, stream.since);
    String source = countBytes(stream, got);
    if (got < 0) {
      if (versions.stream().noneMatch(version -> version.mayEndAt(offset))) {
        counts.complain("wrong", describe(stream, offset, "the end", versions, source));
      }
      return;
    }
    int right = 0;
    while (right < got) {
      int best = 0;
      for (Version version : versions) {
        best = Math.max(best, version.matching(offset + right, bytes, right, got - right));
      }
      if (best == 0) {
        String what = String.format("%02x, %s", bytes[right], origin(offset, right, got));
        counts.complain("wrong", describe(stream, offset + right, what, versions, source));
        return;
      }
      right += best;
    }
  }

  /**
   * Counts the bytes. Returns where they came from, as the stock client's statistics tell: only
   * vRead counts as short-circuit here, and bytes that vRead has from another host as remote.
   */
  private String countBytes(Stream stream, int got) {
    ReadStatistics before = stream.statistics;
    ReadStatistics now = ((HdfsDataInputStream) stream.in).getReadStatistics();
    stream.statistics = new ReadStatistics(now);
    String source = "TCP";
    String counter = "tcp_bytes";
    if (now.getTotalShortCircuitBytesRead() > before.getTotalShortCircuitBytesRead()) {
      source = "vRead";
      counter = "vread_bytes";
    } else if (now.getRemoteBytesRead() > before.getRemoteBytesRead()) {
      source = "vRead of another host, or TCP to one";
      counter = "remote_bytes";
    }
    counts.add("reads");
    counts.add("bytes", Math.max(got, 0));
    counts.add(counter, Math.max(got, 0));
    return source;
  }

  private String describe(
      Stream stream, long at, String got, List<Version> versions, String source) {
    StringBuilder expected = new StringBuilder();
    versions.forEach(version -> expected.append(version.at(at)).append("; "));
    HdfsDataInputStream in = (HdfsDataInputStream) stream.in;
    return String.format(
        "%s at %d, %s: got %s; expected %sby %s, stream of %d ms, stands in %s of %s; "
            + "a new stream gets %s by vRead, %s by TCP",
        stream.path,
        at,
        stream.way,
        got,
        expected,
        source,
        (Ledger.now() - stream.since) / 1_000_000,
        in.getCurrentBlock(),
        in.getCurrentDatanode(),
        again(fs, stream.path, at),
        again(stock, stream.path, at));
  }

  /** What a new stream has there now. */
  private static String again(DistributedFileSystem by, String path, long at) {
    try (FSDataInputStream in = by.open(new Path(path))) {
      in.seek(at);
      int found = in.read();
      return found < 0 ? "the end" : String.format("%02x", found);
    } catch (IOException | RuntimeException failure) {
      return failure.toString();
    }
  }

  /** Where wrong bytes came from, told by the first whole word behind the first wrong byte. */
  private String origin(long offset, int wrong, int got) {
    int aligned = wrong + (int) (-(offset + wrong) & Pattern.WORD - 1);
    if (aligned + Pattern.WORD > got) {
      return "too few to tell whose";
    }
    long word = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong(aligned);
    long serial = Pattern.serial(word);
    return serial > 0 && serial <= ledger.serials()
        ? "of write " + serial + " at " + Pattern.place(word)
        : "nobody's, word " + Long.toHexString(word);
  }

  // ---- failures ---------------------------------------------------------------------------------

  /** Reads in that way. True if the stream can be used again. */
  private boolean guarded(Stream stream, String name, Way way) {
    stream.way = name;
    try {
      if (stream.in == null) {
        stream.in = fs.open(new Path(stream.path));
        stream.lives = ledger.lives(stream.path, stream.since);
        counts.add("opens");
      }
      way.read();
      return true;
    } catch (IOException | RuntimeException failure) {
      failed(stream, failure);
    }
    return false;
  }

  /** Judges a failure. The stock client throws a RuntimeException for a file that got shorter. */
  private void failed(Stream stream, Exception failure) {
    if (!ledger.steady(stream.path, stream.since)) {
      boolean absent = failure instanceof FileNotFoundException && stream.in == null;
      counts.error(absent ? "absent" : "while_changing", failure);
      return;
    }
    String what = stream.path + ", " + stream.way + ": " + failure;
    try (FSDataInputStream in = stock.open(new Path(stream.path))) {
      while (in.read(bytes) > 0) {
        // to its end
      }
    } catch (IOException also) {
      counts.complain("failed_by_tcp_too", what + "; by TCP: " + also);
      return;
    }
    counts.complain("unexpected_failures", what);
  }

  private void close(Stream stream) {
    if (stream.in == null) {
      return;
    }
    try {
      stream.in.close();
    } catch (IOException failure) {
      counts.error("close", failure);
    }
  }
}
