// SPDX-License-Identifier: GPL-2.0-or-later

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FsShell;
import org.apache.hadoop.fs.StorageStatistics;
import org.apache.hadoop.util.ToolRunner;

/**
 * Runs `hdfs dfs` many times in one JVM, for java_program.py. Each line of standard input has the
 * arguments of a command; the answer is a line of JSON.
 *
 * <p>A command's standard output is counted and digested instead of shown; its standard error is
 * left alone. Every command makes a FileSystem of its own, as a process of its own would. "read" is
 * the number of bytes that all commands so far have read of HDFS, by Hadoop's count.
 */
public final class WarmShell {
    private static final String UNSHARED = "fs.hdfs.impl.disable.cache";

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.println(run(line.split(" ")));
            answers.flush();
        }
    }

    private static String run(String[] words) throws Exception {
        Digest output = new Digest();
        System.setOut(new PrintStream(output, true));
        Configuration conf = new Configuration();
        conf.setBoolean(UNSHARED, true);
        FsShell shell = new FsShell(conf);
        try {
            int status = ToolRunner.run(shell, words);
            System.out.flush();
            return String.format(
                    "{\"status\": %d, \"bytes\": %d, \"sha256\": \"%s\", \"read\": %d}",
                    status, output.bytes, output.hex(), bytesRead());
        } finally {
            shell.close();
        }
    }

    private static long bytesRead() {
        StorageStatistics hdfs = FileSystem.getGlobalStorageStatistics().get("hdfs");
        Long counted = hdfs == null ? null : hdfs.getLong("bytesRead");
        return counted == null ? 0 : counted;
    }

    private static final class Digest extends OutputStream {
        private final MessageDigest sha256;
        long bytes;

        Digest() throws Exception {
            sha256 = MessageDigest.getInstance("SHA-256");
        }

        @Override
        public void write(int value) {
            write(new byte[] {(byte) value}, 0, 1);
        }

        @Override
        public void write(byte[] data, int offset, int length) {
            sha256.update(data, offset, length);
            bytes += length;
        }

        String hex() {
            StringBuilder out = new StringBuilder();
            for (byte b : sha256.digest()) {
                out.append(String.format("%02x", b));
            }
            return out.toString();
        }
    }
}
