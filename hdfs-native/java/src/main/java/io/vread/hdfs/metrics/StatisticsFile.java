// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.metrics;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The file that {@code io.vread.statistics.file} names. It is always whole: a new one is written
 * beside it and renamed. The folder may be one where others write, as /tmp: the new file is never
 * one that is there already, nor one that a link leads to. Threads: any thread.
 */
final class StatisticsFile {
  private static final Logger LOG = LoggerFactory.getLogger(StatisticsFile.class);

  private volatile String path = ""; // empty: none
  private String written = "";
  private boolean writeFailed;

  boolean isNamed() {
    return !path.isEmpty();
  }

  /** configured: with %p for the number of this process. */
  void name(String configured) {
    path = configured.replace("%p", Long.toString(pid()));
  }

  /** Returns the path of the file; empty if none is named. */
  synchronized String write(String text) throws IOException {
    if (!isNamed()) {
      return "";
    }
    Path file = Paths.get(path).toAbsolutePath();
    Path fresh = file.resolveSibling("." + file.getFileName() + "." + pid());
    Files.deleteIfExists(fresh);
    Files.write(fresh, text.getBytes(StandardCharsets.US_ASCII), StandardOpenOption.CREATE_NEW);
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    written = text;
    return file.toString();
  }

  /** Writes the text if it is new, and says so. Warns once until it succeeds. */
  synchronized boolean refresh(String text) {
    if (text.equals(written)) {
      return false;
    }
    try {
      write(text);
      writeFailed = false;
    } catch (IOException | RuntimeException e) {
      if (!writeFailed) {
        LOG.warn("vread: cannot write {}: {}", path, e.toString());
      }
      writeFailed = true;
    }
    return true;
  }

  /** Parses the JVM's name, because Java 8 has no other way. 0: unknown. */
  static long pid() {
    String name = ManagementFactory.getRuntimeMXBean().getName();
    try {
      return Long.parseLong(name.split("@")[0]);
    } catch (NumberFormatException e) {
      return 0;
    }
  }
}
