// SPDX-License-Identifier: GPL-2.0-or-later

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32C;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.client.HdfsDataInputStream;

/**
 * A stock HDFS client that stays warm: one JVM with a FileSystem per configuration.
 *
 * <p>hdfs_client.py and xen_client.py run it. It takes a command per line of standard input and
 * answers with a line of JSON:
 *
 * <pre>
 *   mount NAME [KEY=VALUE ...]        a FileSystem with these properties; none is shared
 *   unmount NAME
 *   sum NAME PATH                     reads all; CRC-32C of it
 *   seq NAME PATH REQUEST             reads all, REQUEST bytes per read()
 *   pread NAME PATH REQUEST COUNT THREADS
 *                                     COUNT positional reads in all, by THREADS threads that share
 *                                     one stream, at the same random places every time
 *   write NAME PATH BYTES REQUEST DATANODE
 *                                     writes and closes; onto the datanode with that HOST:PORT
 *   writefiles NAME FOLDER COUNT BYTES DATANODE
 *                                     writes FOLDER/0 and so on, COUNT files of BYTES; their sum
 *   readfiles NAME FOLDER COUNT BYTES opens, reads and closes one after the other; their sum.
 *                                     BYTES is the size of the buffer
 *   delete NAME PATH                  a file or a folder
 *   statistics                        of vRead's plug-in in this process
 * </pre>
 *
 * It measures time and bytes only. The caller measures CPU time.
 */
public final class HdfsBench {
    private static final int PLACE = 4096;
    private static final long SEED = 20150712;

    private final Map<String, FileSystem> mounted = new HashMap<>();
    private final Map<Integer, List<PageAligned>> buffers = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        HdfsBench bench = new HdfsBench();
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(bench.run(line.split(" ")));
            System.out.flush();
        }
    }

    private String run(String[] words) throws Exception {
        switch (words[0]) {
            case "mount":
                return mount(words);
            case "unmount":
                fs(words).close();
                mounted.remove(words[1]);
                return "{}";
            case "delete":
                return String.format(
                        "{\"deleted\": %b}", fs(words).delete(new Path(words[2]), true));
            case "sum":
                return sum(fs(words), new Path(words[2]));
            case "seq":
                return sequential(fs(words), new Path(words[2]), Integer.parseInt(words[3]));
            case "pread":
                return positional(
                        fs(words),
                        new Path(words[2]),
                        Integer.parseInt(words[3]),
                        Integer.parseInt(words[4]),
                        Integer.parseInt(words[5]));
            case "write":
                return write(
                        fs(words),
                        new Path(words[2]),
                        Long.parseLong(words[3]),
                        Integer.parseInt(words[4]),
                        words[5].split(":"));
            case "writefiles":
                return writeFiles(
                        fs(words),
                        words[2],
                        Integer.parseInt(words[3]),
                        Integer.parseInt(words[4]),
                        words[5].split(":"));
            case "readfiles":
                return readFiles(
                        fs(words),
                        words[2],
                        Integer.parseInt(words[3]),
                        Integer.parseInt(words[4]));
            case "statistics":
                return statistics();
            default:
                throw new IllegalArgumentException(words[0] + ": no such command");
        }
    }

    private FileSystem fs(String[] words) {
        FileSystem fs = mounted.get(words[1]);
        if (fs == null) {
            throw new IllegalArgumentException(words[1] + ": not mounted");
        }
        return fs;
    }

    private String mount(String[] words) throws IOException {
        Configuration conf = new Configuration();
        for (int i = 2; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            conf.set(pair[0], pair[1]);
        }
        mounted.put(words[1], FileSystem.newInstance(conf));
        return "{}";
    }

    /** The text of the plug-in's JMX bean, which is registered a second after the first block. */
    private static String statistics() throws JMException, InterruptedException {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName name = new ObjectName("io.vread:type=Client");
        while (!server.isRegistered(name)) {
            Thread.sleep(10);
        }
        return server.invoke(name, "json", null, null)
                .toString()
                .trim();
    }

    private String sum(FileSystem fs, Path path) throws IOException {
        CRC32C crc = new CRC32C();
        byte[] buffer = new byte[1 << 20];
        try (FSDataInputStream in = fs.open(path)) {
            for (int n = in.read(buffer); n > 0; n = in.read(buffer)) {
                crc.update(buffer, 0, n);
            }
        }
        return String.format("{\"sum\": \"%08x\"}", crc.getValue());
    }

    private String sequential(FileSystem fs, Path path, int request) throws Exception {
        PageAligned buffer = buffer(request);
        int start = buffer.start();
        long bytes = 0;
        long began = System.nanoTime();
        try (FSDataInputStream in = fs.open(path)) {
            for (int n = 1; n > 0; bytes += Math.max(n, 0)) {
                n = in.read(buffer.bytes, start, request);
            }
            double seconds = seconds(began);
            buffer.checkStart(start);
            return String.format(
                    "{\"bytes\": %d, \"seconds\": %.6f, \"short_circuit_bytes\": %d}",
                    bytes,
                    seconds,
                    ((HdfsDataInputStream) in).getReadStatistics().getTotalShortCircuitBytesRead());
        }
    }

    private String positional(FileSystem fs, Path path, int request, int count, int threads)
            throws Exception {
        int each = count / threads;
        long places = (fs.getFileStatus(path).getLen() - request) / PLACE + 1;
        List<PageAligned> aligned = buffers(request, threads);
        List<Callable<long[]>> readers = new ArrayList<>();
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        long[] nanoseconds = new long[threads * each];
        double seconds;
        try (FSDataInputStream in = fs.open(path)) {
            for (int i = 0; i < threads; i++) {
                Random random = new Random(SEED + i);
                PageAligned buffer = aligned.get(i);
                readers.add(() -> readAtRandom(in, buffer, request, each, places, random));
            }
            long began = System.nanoTime();
            List<Future<long[]>> times = pool.invokeAll(readers);
            seconds = seconds(began);
            for (int i = 0; i < threads; i++) {
                System.arraycopy(times.get(i).get(), 0, nanoseconds, i * each, each);
            }
        } finally {
            pool.shutdown();
        }
        Arrays.sort(nanoseconds);
        return String.format(
                "{\"bytes\": %d, \"seconds\": %.6f, \"p50_us\": %.2f, \"p99_us\": %.2f}",
                (long) nanoseconds.length * request,
                seconds,
                nanoseconds[nanoseconds.length / 2] / 1e3,
                nanoseconds[(int) (nanoseconds.length * 0.99)] / 1e3);
    }

    /** The nanoseconds of each of `count` reads. */
    private static long[] readAtRandom(
            FSDataInputStream in,
            PageAligned buffer,
            int request,
            int count,
            long places,
            Random random)
            throws IOException {
        int start = buffer.start();
        long[] nanoseconds = new long[count];
        for (int i = 0; i < count; i++) {
            long position = (long) (random.nextDouble() * places) * PLACE;
            long before = System.nanoTime();
            in.readFully(position, buffer.bytes, start, request);
            nanoseconds[i] = System.nanoTime() - before;
        }
        buffer.checkStart(start);
        return nanoseconds;
    }

    private String write(FileSystem fs, Path path, long size, int request, String[] datanode)
            throws Exception {
        PageAligned buffer = buffer(request);
        new Random(SEED).nextBytes(buffer.bytes);
        int start = buffer.start();
        long began = System.nanoTime();
        try (FSDataOutputStream out = create(fs, path, datanode)) {
            for (long left = size; left > 0; left -= request) {
                out.write(buffer.bytes, start, (int) Math.min(left, request));
            }
        }
        return String.format("{\"bytes\": %d, \"seconds\": %.6f}", size, seconds(began));
    }

    private static FSDataOutputStream create(FileSystem fs, Path path, String[] datanode)
            throws IOException {
        InetSocketAddress[] favoured = {
            new InetSocketAddress(datanode[0], Integer.parseInt(datanode[1]))
        };
        return ((DistributedFileSystem) fs)
                .createFile(path)
                .recursive()
                .overwrite(true)
                .favoredNodes(favoured)
                .build();
    }

    private static String writeFiles(
            FileSystem fs, String folder, int count, int size, String[] datanode)
            throws IOException {
        CRC32C crc = new CRC32C();
        Random random = new Random(SEED);
        byte[] bytes = new byte[size];
        for (int i = 0; i < count; i++) {
            random.nextBytes(bytes);
            crc.update(bytes, 0, size);
            try (FSDataOutputStream out = create(fs, new Path(folder, "" + i), datanode)) {
                out.write(bytes);
            }
        }
        return String.format("{\"sum\": \"%08x\"}", crc.getValue());
    }

    private static String readFiles(FileSystem fs, String folder, int count, int size)
            throws IOException {
        CRC32C crc = new CRC32C();
        byte[] buffer = new byte[size];
        long bytes = 0;
        long began = System.nanoTime();
        for (int i = 0; i < count; i++) {
            try (FSDataInputStream in = fs.open(new Path(folder, "" + i))) {
                for (int n = in.read(buffer); n > 0; n = in.read(buffer)) {
                    crc.update(buffer, 0, n);
                    bytes += n;
                }
            }
        }
        return String.format(
                "{\"bytes\": %d, \"seconds\": %.6f, \"sum\": \"%08x\"}",
                bytes, seconds(began), crc.getValue());
    }

    private PageAligned buffer(int request) throws Exception {
        return buffers(request, 1).get(0);
    }

    /** At least `count` buffers; they are kept for the next command. */
    private List<PageAligned> buffers(int request, int count) throws Exception {
        List<PageAligned> kept = buffers.computeIfAbsent(request, size -> new ArrayList<>());
        while (kept.size() < count) {
            kept.add(new PageAligned(request));
        }
        return kept;
    }

    private static double seconds(long began) {
        return (System.nanoTime() - began) / 1e9;
    }
}
