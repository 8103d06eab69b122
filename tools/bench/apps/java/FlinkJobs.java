// SPDX-License-Identifier: GPL-2.0-or-later

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.zip.CRC32C;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * Flink in one process, for flink.py: a mini cluster with two slots. Its jobs read text by Flink's
 * file source.
 *
 * <pre>
 *   make FOLDER ROWS   writes four files: the digests that a scan and a group must have
 *   scan FOLDER        reads all lines: seconds, and a digest of them, in whatever order
 *   group FOLDER       parses all lines, sums one column by another: the same of the sums
 * </pre>
 */
final class FlinkJobs extends Commands {
    private static final int FILES = 4;
    private static final int SLOTS = 2;
    private static final MemorySize BUFFERS = MemorySize.ofMebiBytes(64);
    private static final String LINES = "lines";
    private static final String SUM = "sum";

    private final Configuration conf = new Configuration();
    private final MiniCluster cluster;

    private FlinkJobs() throws Exception {
        conf.set(RestOptions.BIND_PORT, "0");
        conf.set(CoreOptions.TMP_DIRS, System.getProperty("user.dir"));
        conf.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, BUFFERS);
        conf.set(TaskManagerOptions.NETWORK_MEMORY_MIN, BUFFERS);
        conf.set(TaskManagerOptions.NETWORK_MEMORY_MAX, BUFFERS);
        FileSystem.initialize(conf, null);
        cluster =
                new MiniCluster(
                        new MiniClusterConfiguration.Builder()
                                .setConfiguration(conf)
                                .setNumTaskManagers(1)
                                .setNumSlotsPerTaskManager(SLOTS)
                                .build());
        cluster.start();
    }

    public static void main(String[] arguments) throws Exception {
        new FlinkJobs().serve();
    }

    @Override
    String run(String[] words) throws Exception {
        Path folder = new Path(words[1]);
        switch (words[0]) {
            case "make":
                return make(folder, Long.parseLong(words[2]));
            case "scan":
            case "group":
                return read(folder, words[0].equals("group"));
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static String make(Path folder, long rows) throws Exception {
        FileSystem fs = folder.getFileSystem();
        Rows row = new Rows();
        LineDigest scan = new LineDigest();
        long[] sums = new long[Rows.GROUPS];
        long[] found = new long[Rows.GROUPS];
        for (int file = 0; file < FILES; file++) {
            Path path = new Path(folder, "rows-" + file + ".csv");
            try (PrintStream out =
                    new PrintStream(fs.create(path, FileSystem.WriteMode.OVERWRITE), false)) {
                for (long id = file; id < rows; id += FILES) {
                    row.make(id);
                    String line = row.csv(id);
                    out.append(line).append('\n');
                    scan.add(line);
                    sums[row.k] += row.amount;
                    found[row.k]++;
                }
                if (out.checkError()) {
                    throw new IllegalStateException(path + ": not written");
                }
            }
        }
        LineDigest group = new LineDigest();
        for (int k = 0; k < Rows.GROUPS; k++) {
            if (found[k] > 0) {
                group.add(k + "," + sums[k]);
            }
        }
        return String.format("{\"scan\": \"%s\", \"group\": \"%s\"}", scan, group);
    }

    private String read(Path folder, boolean group) throws Exception {
        long began = System.nanoTime();
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(conf);
        env.setRuntimeMode(RuntimeExecutionMode.BATCH);
        env.setParallelism(SLOTS);
        FileSource<String> source =
                FileSource.forRecordStreamFormat(new TextLineInputFormat(), folder).build();
        DataStream<String> lines =
                env.fromSource(source, WatermarkStrategy.noWatermarks(), "rows");
        if (group) {
            lines = sums(lines);
        }
        lines.map(new Digesting()).sinkTo(new DiscardingSink<>());
        JobExecutionResult done = cluster.executeJobBlocking(env.getStreamGraph().getJobGraph());
        Long count = done.getAccumulatorResult(LINES);
        Long sum = done.getAccumulatorResult(SUM);
        return String.format(
                Locale.ROOT,
                "{\"seconds\": %.6f, \"digest\": \"%s\"}",
                secondsSince(began), LineDigest.text(count, sum));
    }

    private static DataStream<String> sums(DataStream<String> lines) {
        return lines.map(
                        line -> {
                            String[] values = line.split(",");
                            return Tuple2.of(
                                    Integer.valueOf(values[Rows.K]),
                                    Long.valueOf(values[Rows.AMOUNT]));
                        })
                .returns(Types.TUPLE(Types.INT, Types.LONG))
                .keyBy(pair -> pair.f0, Types.INT)
                .sum(1)
                .map(pair -> pair.f0 + "," + pair.f1);
    }

    /** A digest of lines that does not depend on their order. */
    private static final class LineDigest {
        private long lines;
        private long sum;

        void add(String line) {
            lines++;
            sum += of(line);
        }

        static long of(String line) {
            CRC32C crc = new CRC32C();
            byte[] bytes = line.getBytes(StandardCharsets.UTF_8);
            crc.update(bytes, 0, bytes.length);
            long both = crc.getValue() << 32 | line.hashCode() & 0xffffffffL;
            // Without this, errors of several lines may add up to nothing.
            return (both ^ both >>> 29) * 0xbf58476d1ce4e5b9L;
        }

        static String text(long lines, long sum) {
            return String.format("%d lines, %016x", lines, sum);
        }

        @Override
        public String toString() {
            return text(lines, sum);
        }
    }

    private static final class Digesting extends RichMapFunction<String, Long> {
        private static final long serialVersionUID = 1;
        private final LongCounter lines = new LongCounter();
        private final LongCounter sum = new LongCounter();

        @Override
        public void open(OpenContext context) {
            getRuntimeContext().addAccumulator(LINES, lines);
            getRuntimeContext().addAccumulator(SUM, sum);
        }

        @Override
        public Long map(String line) {
            long digest = LineDigest.of(line);
            lines.add(1);
            sum.add(digest);
            return digest;
        }
    }
}
