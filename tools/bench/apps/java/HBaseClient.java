// SPDX-License-Identifier: GPL-2.0-or-later

import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.PerformanceEvaluation;
import org.apache.hadoop.util.ToolRunner;

/**
 * Runs HBase's PerformanceEvaluation in a process that stays warm, for hbase.py: {@code evaluate
 * ARGUMENT ...}. PerformanceEvaluation logs its time.
 */
final class HBaseClient extends Commands {
    private final Configuration conf = HBaseConfiguration.create();

    public static void main(String[] arguments) throws Exception {
        new HBaseClient().serve();
    }

    @Override
    String run(String[] words) throws Exception {
        String[] arguments = Arrays.copyOfRange(words, 1, words.length);
        int code = ToolRunner.run(conf, new PerformanceEvaluation(conf), arguments);
        return "{\"code\": " + code + "}";
    }
}
