// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.metrics;

import io.vread.hdfs.select.PathProbe;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.StorageStatistics;

/**
 * Counts what this process read through vRead, and why blocks were read by other means. Shows the
 * counts as attributes of a JMX bean, as a line of JSON, and in a file.
 */
public final class Statistics implements ClientMXBean {
  private final LongAdder opens = new LongAdder();
  private final LongAdder reads = new LongAdder();
  private final LongAdder bytes = new LongAdder();
  private final LongAdder failures = new LongAdder();
  private final LongAdder refused = new LongAdder();
  private final LongAdder measured = new LongAdder();
  private final LongAdder notMeasured = new LongAdder();
  private final Map<String, LongAdder> failureReasons = new ConcurrentHashMap<>();
  private final Map<String, LongAdder> fallbackReasons = new ConcurrentHashMap<>();
  private final StatisticsFile file = new StatisticsFile();
  private volatile String endpoint = "";
  private volatile String library = "";

  public void describe(String usedEndpoint, String usedLibrary) {
    endpoint = usedEndpoint;
    library = usedLibrary;
  }

  /** A reader was handed out. */
  public void opened() {
    opens.increment();
  }

  public void read(int count) {
    reads.increment();
    bytes.add(count);
  }

  /** A reader that had been handed out failed; its client goes on by TCP. */
  public void readFailed(String reason) {
    failures.increment();
    count(failureReasons, reason);
  }

  /** No reader was handed out. */
  public void refused(String reason) {
    refused.increment();
    count(fallbackReasons, reason);
  }

  /** A probe between vRead and the stock client has ended ({@link PathProbe}). */
  public void compared(boolean withResult) {
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

  @Override
  public long getOpens() {
    return opens.sum();
  }

  @Override
  public long getReads() {
    return reads.sum();
  }

  @Override
  public long getBytes() {
    return bytes.sum();
  }

  /** The average of the bytes that a reader has read. 0: there was no reader. */
  public long bytesPerReader() {
    long readers = getOpens();
    return readers == 0 ? 0 : getBytes() / readers;
  }

  @Override
  public long getFailures() {
    return failures.sum();
  }

  @Override
  public long getFallbackBlocks() {
    return refused.sum();
  }

  @Override
  public Map<String, Long> getFailureReasons() {
    return sums(failureReasons);
  }

  @Override
  public Map<String, Long> getFallbackReasons() {
    return sums(fallbackReasons);
  }

  @Override
  public long getCompeteMeasured() {
    return measured.sum();
  }

  @Override
  public long getCompeteFailed() {
    return notMeasured.sum();
  }

  private static Map<String, Long> sums(Map<String, LongAdder> reasons) {
    Map<String, Long> result = new TreeMap<>();
    for (Map.Entry<String, LongAdder> reason : reasons.entrySet()) {
      result.put(reason.getKey(), reason.getValue().sum());
    }
    return result;
  }

  @Override
  public long getHdfsBytes() {
    StorageStatistics hdfs = FileSystem.getGlobalStorageStatistics().get("hdfs");
    Long read = hdfs == null ? null : hdfs.getLong("bytesRead");
    return read == null ? 0 : read;
  }

  /** Its vread.bytes include all bytes of its hdfs.bytes that came by vRead. */
  @Override
  public String json() {
    long allBytes = getHdfsBytes(); // first, because Hadoop counts a read after vRead does
    StringBuilder out = new StringBuilder();
    out.append("{\"pid\":").append(StatisticsFile.pid());
    out.append(",\"endpoint\":").append(quoted(endpoint));
    out.append(",\"library\":").append(quoted(library));
    out.append(",\"vread\":{\"opens\":").append(getOpens());
    out.append(",\"reads\":").append(getReads());
    out.append(",\"bytes\":").append(getBytes());
    out.append(",\"failures\":").append(getFailures());
    out.append(",\"reasons\":");
    append(out, getFailureReasons());
    out.append("},\"fallback\":{\"blocks\":").append(getFallbackBlocks());
    out.append(",\"reasons\":");
    append(out, getFallbackReasons());
    out.append("},\"compete\":{\"measured\":").append(getCompeteMeasured());
    out.append(",\"failed\":").append(getCompeteFailed());
    return out.append("},\"hdfs\":{\"bytes\":").append(allBytes).append("}}\n").toString();
  }

  StatisticsFile file() {
    return file;
  }

  /** Writes the file if one is named and the statistics have changed, and says so. */
  boolean refreshFile() {
    return file.isNamed() && file.refresh(json());
  }

  @Override
  public String writeStatistics() throws IOException {
    return file.write(json());
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
