// SPDX-License-Identifier: GPL-2.0-or-later

import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.tools.DistCp;
import org.apache.hadoop.tools.OptionsParser;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * MapReduce's jobs in one process (the local runner), for hadoop_jobs.py.
 *
 * <pre>
 *   tool CLASS ARGUMENT ...     runs a Tool, as the `hadoop` command does; seconds
 *   distcp ARGUMENT ...         the same of DistCp
 *   delete PATH
 *   digest FOLDER               SHA-256 of the names and bytes of its files, and how many bytes
 *   text FILE
 * </pre>
 */
final class HadoopJobs extends Commands {
    private static final int BUFFER = 1 << 20;

    public static void main(String[] arguments) throws Exception {
        new HadoopJobs().serve();
    }

    @Override
    String run(String[] words) throws Exception {
        String[] rest = Arrays.copyOfRange(words, 1, words.length);
        switch (words[0]) {
            case "tool":
                return tool(rest[0], Arrays.copyOfRange(rest, 1, rest.length));
            case "distcp":
                return distcp(rest);
            case "delete":
                Path path = new Path(rest[0]);
                return String.format("{\"deleted\": %b}", fs().delete(path, true));
            case "digest":
                return digest(new Path(rest[0]));
            case "text":
                return "{\"text\": " + quoted(text(new Path(rest[0]))) + "}";
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static String tool(String name, String[] arguments) throws Exception {
        Tool tool = (Tool) Class.forName(name).getDeclaredConstructor().newInstance();
        long began = System.nanoTime();
        int code = ToolRunner.run(new Configuration(), tool, arguments);
        double seconds = secondsSince(began);
        if (code != 0) {
            throw new IllegalStateException(name + " ended with " + code);
        }
        return String.format(Locale.ROOT, "{\"seconds\": %.6f}", seconds);
    }

    private static String distcp(String[] arguments) throws Exception {
        long began = System.nanoTime();
        Job job = new DistCp(new Configuration(), OptionsParser.parse(arguments)).execute();
        double seconds = secondsSince(began);
        if (!job.isSuccessful()) {
            throw new IllegalStateException("distcp: " + job.getStatus());
        }
        return String.format(Locale.ROOT, "{\"seconds\": %.6f}", seconds);
    }

    private static String digest(Path folder) throws Exception {
        List<Path> files = new ArrayList<>();
        RemoteIterator<LocatedFileStatus> found = fs().listFiles(folder, true);
        while (found.hasNext()) {
            Path path = found.next().getPath();
            if (!path.getName().startsWith("_")) {
                files.add(path);
            }
        }
        Collections.sort(files);
        MessageDigest digest = digest();
        byte[] buffer = new byte[BUFFER];
        long bytes = 0;
        for (Path path : files) {
            digest.update(path.getName().getBytes(StandardCharsets.UTF_8));
            try (InputStream in = fs().open(path)) {
                for (int n = in.read(buffer); n > 0; n = in.read(buffer)) {
                    digest.update(buffer, 0, n);
                    bytes += n;
                }
            }
        }
        return String.format(
                "{\"digest\": \"%s\", \"files\": %d, \"bytes\": %d}",
                hex(digest), files.size(), bytes);
    }

    private static String text(Path path) throws Exception {
        try (InputStream in = fs().open(path)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static FileSystem fs() throws Exception {
        return FileSystem.get(new Configuration());
    }
}
