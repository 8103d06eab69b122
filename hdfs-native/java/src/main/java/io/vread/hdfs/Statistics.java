// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.StorageStatistics;

/**
 * Counts what this process read through vRead, and why blocks were read by other means.
 * {@link ClientProcess} shows the counts.
 */
final class Statistics {
  private final LongAdder opens = new LongAdder();
  private final LongAdder reads = new LongAdder();
  private final LongAdder bytes = new LongAdder();
  private final LongAdder failures = new LongAdder();
  private final LongAdder refused = new LongAdder();
  private final LongAdder measured = new LongAdder();
  private final LongAdder notMeasured = new LongAdder();
  private final Map<String, LongAdder> failureReasons = new ConcurrentHashMap<>();
  private final Map<String, LongAdder> fallbackReasons = new ConcurrentHashMap<>();
  private volatile String endpoint = "";
  private volatile String library = "";

  void describe(String usedEndpoint, String usedLibrary) {
    endpoint = usedEndpoint;
    library = usedLibrary;
  }

  /** A reader was handed out. */
  void opened() {
    opens.increment();
  }

  void read(int count) {
    reads.increment();
    bytes.add(count);
  }

  /** A reader that had been handed out failed; its client goes on by TCP. */
  void readFailed(String reason) {
    failures.increment();
    count(failureReasons, reason);
  }

  /** No reader was handed out. */
  void refused(String reason) {
    refused.increment();
    count(fallbackReasons, reason);
  }

  /** A probe between vRead and the stock client has ended ({@link PathProbe}). */
  void compared(boolean withResult) {
    (withResult ? measured : notMeasured).increment();
  }

  private static void count(Map<String, LongAdder> reasons, String reason) {
    LongAdder counter = reasons.get(reason);
    if (counter == null) {
      reasons.putIfAbsent(reason, new LongAdder());
      counter = reasons.get(reason);
    }
    counter.increment();
  }

  long opens() {
    return opens.sum();
  }

  long reads() {
    return reads.sum();
  }

  long bytes() {
    return bytes.sum();
  }

  /** The average of the bytes that a reader has read. 0: there was no reader. */
  long bytesPerReader() {
    long readers = opens();
    return readers == 0 ? 0 : bytes() / readers;
  }

  long failures() {
    return failures.sum();
  }

  long fallbackBlocks() {
    return refused.sum();
  }

  Map<String, Long> failureReasons() {
    return sums(failureReasons);
  }

  Map<String, Long> fallbackReasons() {
    return sums(fallbackReasons);
  }

  /** Probes that have told which way is faster. */
  long measured() {
    return measured.sum();
  }

  /** Probes without a result. */
  long notMeasured() {
    return notMeasured.sum();
  }

  private static Map<String, Long> sums(Map<String, LongAdder> reasons) {
    Map<String, Long> result = new TreeMap<>();
    for (Map.Entry<String, LongAdder> reason : reasons.entrySet()) {
      result.put(reason.getKey(), reason.getValue().sum());
    }
    return result;
  }

  /** Bytes that applications of this JVM have read from HDFS in any way, as Hadoop counts them. */
  static long hdfsBytes() {
    StorageStatistics hdfs = FileSystem.getGlobalStorageStatistics().get("hdfs");
    Long read = hdfs == null ? null : hdfs.getLong("bytesRead");
    return read == null ? 0 : read;
  }

  /**
   * The statistics as a line of JSON. Its vread.bytes include all bytes of its hdfs.bytes that came
   * by vRead.
   */
  String json(long pid) {
    long allBytes = hdfsBytes(); // first, because Hadoop counts a read after vRead does
    StringBuilder out = new StringBuilder();
    out.append("{\"pid\":").append(pid);
    out.append(",\"endpoint\":").append(quoted(endpoint));
    out.append(",\"library\":").append(quoted(library));
    out.append(",\"vread\":{\"opens\":").append(opens());
    out.append(",\"reads\":").append(reads());
    out.append(",\"bytes\":").append(bytes());
    out.append(",\"failures\":").append(failures());
    out.append(",\"reasons\":");
    append(out, failureReasons());
    out.append("},\"fallback\":{\"blocks\":").append(fallbackBlocks());
    out.append(",\"reasons\":");
    append(out, fallbackReasons());
    out.append("},\"compete\":{\"measured\":").append(measured());
    out.append(",\"failed\":").append(notMeasured());
    return out.append("},\"hdfs\":{\"bytes\":").append(allBytes).append("}}\n").toString();
  }

  private static void append(StringBuilder out, Map<String, Long> reasons) {
    String separator = "{";
    for (Map.Entry<String, Long> reason : reasons.entrySet()) {
      out.append(separator).append(quoted(reason.getKey())).append(':').append(reason.getValue());
      separator = ",";
    }
    out.append(reasons.isEmpty() ? "{}" : "}");
  }

  private static String quoted(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ' || c > '~') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }
}
