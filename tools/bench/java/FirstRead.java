// SPDX-License-Identifier: GPL-2.0-or-later

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The first read of a client that has just started. hdfs_start.py runs it: {@code FirstRead PATH
 * [KEY=VALUE ...]}, with properties of the FileSystem.
 *
 * <p>Prints a line of JSON: the milliseconds from before the FileSystem is made until the last byte
 * of the file has been read; the milliseconds of that from the open on; how many bytes there were;
 * vRead's threads before the file is opened.
 */
public final class FirstRead {
    public static void main(String[] arguments) throws Exception {
        byte[] buffer = new byte[1 << 20];
        long began = System.nanoTime();
        Configuration conf = new Configuration();
        for (int i = 1; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            conf.set(pair[0], pair[1]);
        }
        FileSystem fs = FileSystem.newInstance(conf);
        long made = System.nanoTime();
        List<String> threads = threads();
        long opened = System.nanoTime();
        long bytes = 0;
        try (FSDataInputStream in = fs.open(new Path(arguments[0]))) {
            for (int n = in.read(buffer); n > 0; n = in.read(buffer)) {
                bytes += n;
            }
        }
        long ended = System.nanoTime();
        System.out.println(
                String.format(
                        "{\"ms\": %.3f, \"read_ms\": %.3f, \"bytes\": %d, \"threads\": %s}",
                        (ended - opened + made - began) / 1e6,
                        (ended - opened) / 1e6,
                        bytes,
                        threads));
    }

    /** The names of vRead's threads, quoted. */
    private static List<String> threads() {
        List<String> names = new ArrayList<>();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().startsWith("vread")) {
                names.add('"' + thread.getName() + '"');
            }
        }
        return names;
    }
}
