// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.SplittableRandom;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Writes one file, and compares afterwards what HDFS has kept. Each piece begins with its position,
 * so that pieces in a wrong place are seen.
 */
final class Writer {
  private final FileSystem fs;
  private final Settings settings;
  private final String path;
  private final byte[] content;
  private final int index;

  Writer(FileSystem fs, Settings settings, int index) {
    this.fs = fs;
    this.settings = settings;
    this.index = index;
    this.path = settings.written + "/" + index;
    this.content = new byte[settings.request];
    FileMaker.fill(content, new SplittableRandom(settings.seed + index));
  }

  void write(Meter meter) throws IOException {
    long last = System.nanoTime();
    try (FSDataOutputStream out = FileMaker.create(fs, settings, path, index)) {
      for (long at = 0; at < settings.size; at += content.length) {
        stamp(at);
        out.write(content, 0, (int) Math.min(content.length, settings.size - at));
        meter.moved(last, Math.min(content.length, settings.size - at));
        last = System.nanoTime();
      }
    }
  }

  void compare(Meter meter) throws IOException, WrongBytes {
    byte[] found = new byte[content.length];
    try (FSDataInputStream in = fs.open(new Path(path))) {
      for (long at = 0; at < settings.size; at += content.length) {
        int length = (int) Math.min(content.length, settings.size - at);
        in.readFully(found, 0, length);
        stamp(at);
        if (!ByteBuffer.wrap(found, 0, length).equals(ByteBuffer.wrap(content, 0, length))) {
          throw new WrongBytes(path + ": bytes from " + at + " on are not what was written");
        }
        meter.checked += length;
      }
    }
  }

  void delete() throws IOException {
    fs.delete(new Path(path), false);
  }

  private void stamp(long at) {
    ByteBuffer buffer = ByteBuffer.wrap(content);
    for (int i = 0; i < content.length; i += Digests.PIECE) {
      buffer.putLong(i, at + i);
    }
  }
}
