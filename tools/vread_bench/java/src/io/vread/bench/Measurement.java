// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.bench;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.StringJoiner;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.HdrHistogram.Histogram;
import org.apache.hadoop.fs.FileSystem;

/**
 * One round: prepared() connects and warms up, run() measures, check() compares.
 *
 * <p>All workloads but `sequential` read data that this client has read before, so that the caches
 * are warm. The warm-up of `sequential` reads another file.
 */
final class Measurement {
  private static final int WARM_UPS = 3;
  private static final Set<String> WARM = new HashSet<>(); // ways of a client that is kept

  /** What a thread does while it is measured, and after that. */
  private interface Work {
    void run(Meter meter) throws Exception;
  }

  private final Settings settings;
  private final FileSystem fs;
  private final List<Work> works = new ArrayList<>();
  private final List<Writer> writers = new ArrayList<>();
  private final Meter[] meters;

  private Measurement(Settings settings) throws Exception {
    this.settings = settings;
    this.fs = FileSystem.newInstance(settings.conf);
    this.meters = new Meter[settings.readers];
    Arrays.setAll(meters, i -> new Meter());
    for (int i = 0; i < settings.readers; i++) {
      works.add(work(i));
    }
  }

  private Work work(int index) throws Exception {
    if (settings.workload.equals("write")) {
      Writer writer = new Writer(fs, settings, index);
      writers.add(writer);
      return writer::write;
    }
    Settings.HdfsFile file = settings.files.get(index % settings.files.size());
    Reader reader = new Reader(fs, file, settings.request);
    switch (settings.workload) {
      case "sequential":
      case "re-read":
        return reader::sequential;
      case "pread":
      case "pread-4k":
        return meter -> reader.positional(meter, settings.count, settings.seed * 64 + index);
      default:
        throw new IllegalArgumentException("workload " + settings.workload);
    }
  }

  static Measurement prepared(Settings settings) throws Exception {
    Measurement measurement = new Measurement(settings);
    Reader warm = new Reader(measurement.fs, settings.warm, settings.request);
    boolean cold = WARM.add(settings.conf.get("dfs.client.context", ""));
    for (int i = 0; i < (cold ? WARM_UPS : 1); i++) {
      warm.sequential(new Meter());
      warm.positional(new Meter(), Math.min(settings.count, 200), i);
    }
    if (!settings.workload.equals("sequential") && !settings.workload.equals("write")) {
      for (Settings.HdfsFile file : settings.files) {
        new Reader(measurement.fs, file, settings.request).sequential(new Meter());
      }
    }
    return measurement;
  }

  String run() throws Exception {
    OperatingSystemMXBean process =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    PlugIn before = PlugIn.now();
    long cpu = process.getProcessCpuTime();
    measure();
    cpu = process.getProcessCpuTime() - cpu;
    PlugIn after = PlugIn.now();
    return answer(cpu, after.bytes - before.bytes, Json.object(after.reasonsSince(before)));
  }

  /** Compares what was written, and deletes it. What was read has been checked meanwhile. */
  String check() throws Exception {
    for (int i = 0; i < writers.size(); i++) {
      writers.get(i).compare(meters[i]);
      writers.get(i).delete();
    }
    long checked = 0;
    for (Meter meter : meters) {
      checked += meter.checked;
    }
    return "{\"checked_bytes\": " + checked + "}";
  }

  void close() throws IOException {
    fs.close();
  }

  private void measure() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(works.size());
    try {
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < works.size(); i++) {
        Work work = works.get(i);
        Meter meter = meters[i];
        meter.begin();
        running.add(
            threads.submit(
                () -> {
                  work.run(meter);
                  meter.end();
                  return null;
                }));
      }
      for (Future<?> one : running) {
        one.get();
      }
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception) {
        throw (Exception) e.getCause();
      }
      throw e;
    } finally {
      threads.shutdownNow();
    }
  }

  private String answer(long cpu, long vread, String reasons) {
    Histogram all = new Histogram(3);
    long bytes = 0;
    long elapsed = 0;
    long checkCpu = 0;
    long shortCircuit = 0;
    StringJoiner rates = new StringJoiner(", ");
    for (Meter meter : meters) {
      rates.add(String.format(Locale.ROOT, "%.0f", meter.bytes * 1e9 / meter.elapsed));
      all.add(meter.nanoseconds);
      bytes += meter.bytes;
      elapsed = Math.max(elapsed, meter.elapsed);
      checkCpu += meter.checkCpu;
      shortCircuit += meter.shortCircuit;
    }
    // Hadoop and the plug-in may count bytes that were read ahead and not used.
    long byPlugIn = Math.min(vread, bytes);
    long byShortCircuit = Math.max(0, Math.min(shortCircuit, bytes) - byPlugIn);
    return String.format(
        Locale.ROOT,
        "{\"bytes\": %d, \"seconds\": %.6f, \"cpu_seconds\": %.6f,"
            + " \"check_cpu_seconds\": %.6f, \"latency_us\": {\"mean\": %.2f, \"p50\": %.2f,"
            + " \"p90\": %.2f, \"p99\": %.2f, \"p999\": %.2f, \"max\": %.2f},"
            + " \"histogram\": \"%s\", \"bytes_by\": {\"vread\": %d, \"short_circuit\": %d,"
            + " \"stock\": %d}, \"reasons\": %s, \"reader_rates\": [%s]}",
        bytes,
        elapsed / 1e9,
        cpu / 1e9,
        checkCpu / 1e9,
        all.getMean() / 1e3,
        all.getValueAtPercentile(50) / 1e3,
        all.getValueAtPercentile(90) / 1e3,
        all.getValueAtPercentile(99) / 1e3,
        all.getValueAtPercentile(99.9) / 1e3,
        all.getMaxValue() / 1e3,
        encoded(all),
        byPlugIn,
        byShortCircuit,
        bytes - byPlugIn - byShortCircuit,
        reasons,
        rates);
  }

  private static String encoded(Histogram histogram) {
    ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
    int length = histogram.encodeIntoCompressedByteBuffer(buffer);
    return Base64.getEncoder().encodeToString(Arrays.copyOf(buffer.array(), length));
  }
}
