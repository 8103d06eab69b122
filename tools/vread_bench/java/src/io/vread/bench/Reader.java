// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.bench;

import java.io.IOException;
import java.util.SplittableRandom;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.client.HdfsDataInputStream;

/** Reads one file by one stream, and checks every byte. */
final class Reader {
  private final FileSystem fs;
  private final Path path;
  private final Digests digests;
  private final byte[] buffer;

  Reader(FileSystem fs, Settings.HdfsFile file, int request) throws IOException {
    this.fs = fs;
    this.path = new Path(file.path);
    this.digests = Digests.load(file);
    this.buffer = new byte[request];
  }

  void sequential(Meter meter) throws IOException, WrongBytes {
    try (FSDataInputStream in = fs.open(path)) {
      for (long at = 0; at < digests.size; ) {
        int wanted = (int) Math.min(buffer.length, digests.size - at);
        long before = System.nanoTime();
        fill(in, at, wanted);
        meter.moved(before, wanted);
        meter.check(digests, at, buffer, wanted);
        at += wanted;
      }
      if (in.read(buffer, 0, 1) > 0) {
        throw new WrongBytes(path + ": more than " + digests.size + " bytes");
      }
      count(in, meter);
    }
  }

  /** Reads at random multiples of 4 KiB. */
  void positional(Meter meter, int count, long seed) throws IOException, WrongBytes {
    SplittableRandom random = new SplittableRandom(seed);
    int length = (int) Math.min(buffer.length, digests.size);
    long places = (digests.size - length) / Digests.PIECE + 1;
    try (FSDataInputStream in = fs.open(path)) {
      for (int i = 0; i < count; i++) {
        long at = random.nextLong(places) * Digests.PIECE;
        long before = System.nanoTime();
        in.readFully(at, buffer, 0, length);
        meter.moved(before, length);
        meter.check(digests, at, buffer, length);
      }
      count(in, meter);
    }
  }

  private void fill(FSDataInputStream in, long at, int wanted) throws IOException, WrongBytes {
    for (int got = 0; got < wanted; ) {
      int n = in.read(buffer, got, wanted - got);
      if (n < 0) {
        throw new WrongBytes(path + ": ends after " + (at + got) + " of " + digests.size);
      }
      got += n;
    }
  }

  private static void count(FSDataInputStream in, Meter meter) {
    if (in instanceof HdfsDataInputStream) {
      meter.shortCircuit +=
          ((HdfsDataInputStream) in).getReadStatistics().getTotalShortCircuitBytesRead();
    }
  }
}
