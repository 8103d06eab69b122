// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/**
 * Reads into arrays and buffers that cannot take the bytes, as a faulty application does. The
 * answer has, for each mistake, what the client "by" threw or returned. After each mistake the
 * stream must read on as if nothing had happened.
 */
final class Mistakes {
  private interface Mistake {
    Object in(FSDataInputStream stream) throws Exception;
  }

  private static final int PIECE = 5000;

  private Mistakes() {}

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("mistakes", Mistakes::make);
  }

  private static Map<String, Object> make(Context context, Args args) throws Exception {
    DistributedFileSystem fs = context.client(args.text("by"));
    Content file = context.file(args);
    Map<String, Object> outcomes = new LinkedHashMap<>();
    byte[] piece = new byte[PIECE];
    long position = 0;
    try (FSDataInputStream in = fs.open(file.path)) {
      for (Map.Entry<String, Mistake> each : all().entrySet()) {
        in.readFully(piece);
        file.check(position, piece, 0, PIECE);
        position += PIECE;
        outcomes.put(each.getKey(), outcome(each.getValue(), in));
      }
      in.readFully(piece);
      file.check(position, piece, 0, PIECE);
    }
    return Map.of("bytes", position + PIECE, "outcomes", outcomes);
  }

  private static Object outcome(Mistake mistake, FSDataInputStream in) {
    try {
      return mistake.in(in);
    } catch (Exception thrown) {
      return thrown.getClass().getName();
    }
  }

  private static Map<String, Mistake> all() {
    Map<String, Mistake> all = new LinkedHashMap<>();
    int[][] ranges = {
      {-1, 10}, {-1, 0}, {-1, 101}, {-100, 200}, {Integer.MIN_VALUE, 1}, {0, 101}, {101, 0},
      {1, 100}, {1, Integer.MAX_VALUE}, {0, -1}, {100, 0}
    };
    byte[] array = new byte[100];
    for (int[] range : ranges) {
      String what = range[1] + " at " + range[0];
      all.put("read " + what, in -> in.read(array, range[0], range[1]));
      all.put("pread " + what, in -> in.read(7, array, range[0], range[1]));
    }
    all.put("read null", in -> in.read(null, 0, 1));
    all.put("pread null", in -> in.read(7, null, 0, 1));
    for (ByteBuffer buffer :
        new ByteBuffer[] {ByteBuffer.allocate(40_000), ByteBuffer.allocateDirect(40_000)}) {
      ByteBuffer readOnly = buffer.asReadOnlyBuffer();
      String kind = buffer.isDirect() ? "direct" : "heap";
      all.put("read read-only " + kind, in -> in.read(readOnly));
      all.put("pread read-only " + kind, in -> in.read(7, readOnly));
    }
    return all;
  }
}
