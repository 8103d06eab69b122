// SPDX-License-Identifier: GPL-2.0-or-later

import java.io.PrintStream;
import java.security.MessageDigest;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Reads half a file, prints "half", waits for standard input, and reads the rest from the same open
 * stream. Then prints the SHA-256 of the whole file. test_striped_faults.py runs it.
 *
 * <p>Usage: FILE stream|pread NAME=VALUE...
 */
public final class PausedRead {
  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    for (int i = 2; i < args.length; i++) {
      String[] property = args[i].split("=", 2);
      conf.set(property[0], property[1]);
    }
    Path path = new Path(args[0]);
    PrintStream out = System.out;
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    byte[] buffer = new byte[100_000];
    boolean paused = false;
    FileSystem fs = path.getFileSystem(conf);
    long length = fs.getFileStatus(path).getLen();
    try (FSDataInputStream in = fs.open(path)) {
      for (long at = 0; at < length; ) {
        int n = args[1].equals("pread") ? in.read(at, buffer, 0, buffer.length) : in.read(buffer);
        if (n <= 0) {
          throw new IllegalStateException("read returned " + n + " at " + at + " of " + length);
        }
        digest.update(buffer, 0, n);
        at += n;
        if (!paused && at >= length / 2) {
          paused = true;
          out.println("half");
          out.flush();
          System.in.read();
        }
      }
    }
    StringBuilder hex = new StringBuilder();
    for (byte b : digest.digest()) {
      hex.append(String.format("%02x", b));
    }
    out.println(hex);
  }
}
