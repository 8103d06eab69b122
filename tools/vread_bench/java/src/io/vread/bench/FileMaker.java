// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.bench;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.SplittableRandom;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/** Writes the files that rounds read, and their digests. The content comes from seed and path. */
final class FileMaker {
  private static final int CHUNK = 1 << 20;
  private static final long MOST_WARM = 64L << 20;

  private FileMaker() {}

  static String make(Settings settings) throws IOException {
    long bytes = 0;
    int index = 0;
    try (FileSystem fs = FileSystem.newInstance(settings.conf)) {
      for (Settings.HdfsFile file : settings.files) {
        boolean warm = file.path.endsWith("-warm");
        long size = warm ? Math.min(settings.size, MOST_WARM) : settings.size;
        Digests digests = Digests.of(file.path, size);
        SplittableRandom random = new SplittableRandom(settings.seed ^ file.path.hashCode());
        byte[] chunk = new byte[CHUNK];
        try (FSDataOutputStream out = create(fs, settings, file.path, index++)) {
          for (long at = 0; at < size; at += CHUNK) {
            int length = (int) Math.min(CHUNK, size - at);
            fill(chunk, random);
            digests.add(at, chunk, length);
            out.write(chunk, 0, length);
          }
        }
        digests.save(file.digests);
        bytes += size;
      }
    }
    return "{\"files\": " + settings.files.size() + ", \"bytes\": " + bytes + "}";
  }

  /**
   * A new file whose blocks are on the preferred datanodes. Each next index begins with the next
   * datanode, so that files with one replica spread over all of them.
   */
  static FSDataOutputStream create(FileSystem fs, Settings settings, String path, int index)
      throws IOException {
    if (settings.datanodes.isEmpty()) {
      return fs.create(new Path(path), true);
    }
    InetSocketAddress[] datanodes = settings.datanodes.toArray(new InetSocketAddress[0]);
    Collections.rotate(Arrays.asList(datanodes), -(index % datanodes.length));
    return ((DistributedFileSystem) fs)
        .createFile(new Path(path))
        .recursive()
        .overwrite(true)
        .favoredNodes(datanodes)
        .build();
  }

  static void fill(byte[] bytes, SplittableRandom random) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    while (buffer.remaining() >= Long.BYTES) {
      buffer.putLong(random.nextLong());
    }
  }
}
