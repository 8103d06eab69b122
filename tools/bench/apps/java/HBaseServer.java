// SPDX-License-Identifier: GPL-2.0-or-later

import java.io.File;
import java.security.MessageDigest;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.LocalHBaseCluster;
import org.apache.hadoop.hbase.PerformanceEvaluation;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.zookeeper.MiniZooKeeperCluster;

/**
 * An HBase in one process (ZooKeeper, master, one RegionServer), for hbase.py: {@code HBaseServer
 * FOLDER}, ZooKeeper's folder.
 *
 * <pre>
 *   start
 *   settle TABLE   flushes, leaves its blocks out of the block cache, compacts to one file a region
 *   digest TABLE   SHA-256 of all cells, and how many rows there are
 *   gets TABLE ROWS COUNT   the same of some rows of PerformanceEvaluation's, at the same places
 *                  each time
 *   stop
 * </pre>
 */
final class HBaseServer extends Commands {
    private static final int POLL_MS = 200;
    private static final int ROWS_AT_ONCE = 500;
    private static final long SEED = 20150712;

    private final Configuration conf = HBaseConfiguration.create();
    private final MiniZooKeeperCluster zooKeeper = new MiniZooKeeperCluster(conf);
    private final File folder;
    private LocalHBaseCluster cluster;

    private HBaseServer(String folder) {
        this.folder = new File(folder);
    }

    public static void main(String[] arguments) throws Exception {
        new HBaseServer(arguments[0]).serve();
    }

    @Override
    String run(String[] words) throws Exception {
        switch (words[0]) {
            case "start":
                return start();
            case "settle":
                return settle(TableName.valueOf(words[1]));
            case "digest":
                return digest(TableName.valueOf(words[1]));
            case "gets":
                return gets(
                        TableName.valueOf(words[1]),
                        Integer.parseInt(words[2]),
                        Integer.parseInt(words[3]));
            case "stop":
                cluster.shutdown();
                cluster.join();
                zooKeeper.shutdown();
                return "{}";
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private String start() throws Exception {
        zooKeeper.setDefaultClientPort(conf.getInt("hbase.zookeeper.property.clientPort", 0));
        zooKeeper.startup(folder);
        cluster = new LocalHBaseCluster(conf, 1, 1);
        cluster.startup();
        while (!cluster.getMaster(0).isInitialized()) {
            Thread.sleep(POLL_MS);
        }
        return "{}";
    }

    private String settle(TableName table) throws Exception {
        try (Connection connection = ConnectionFactory.createConnection(conf);
                Admin admin = connection.getAdmin()) {
            admin.flush(table);
            for (ColumnFamilyDescriptor family : admin.getDescriptor(table).getColumnFamilies()) {
                admin.modifyColumnFamily(
                        table,
                        ColumnFamilyDescriptorBuilder.newBuilder(family)
                                .setBlockCacheEnabled(false)
                                .build());
            }
            long before = admin.getLastMajorCompactionTimestamp(table);
            admin.majorCompact(table);
            while (admin.getLastMajorCompactionTimestamp(table) == before
                    || admin.getCompactionState(table) != CompactionState.NONE) {
                Thread.sleep(POLL_MS);
            }
        }
        return "{}";
    }

    private String digest(TableName name) throws Exception {
        MessageDigest digest = digest();
        long rows = 0;
        try (Connection connection = ConnectionFactory.createConnection(conf);
                Table table = connection.getTable(name);
                ResultScanner scanner = table.getScanner(new Scan().setCaching(ROWS_AT_ONCE))) {
            for (Result result : scanner) {
                rows++;
                add(digest, result);
            }
        }
        return answer(digest, rows);
    }

    private String gets(TableName name, int allRows, int count) throws Exception {
        MessageDigest digest = digest();
        Random random = new Random(SEED);
        long rows = 0;
        try (Connection connection = ConnectionFactory.createConnection(conf);
                Table table = connection.getTable(name)) {
            for (int i = 0; i < count; i++) {
                byte[] row = PerformanceEvaluation.format(random.nextInt(allRows));
                Result result = table.get(new Get(row));
                rows += result.isEmpty() ? 0 : 1;
                add(digest, result);
            }
        }
        return answer(digest, rows);
    }

    private static void add(MessageDigest digest, Result result) {
        for (Cell cell : result.rawCells()) {
            digest.update(CellUtil.cloneRow(cell));
            digest.update(CellUtil.cloneQualifier(cell));
            digest.update(CellUtil.cloneValue(cell));
        }
    }

    private static String answer(MessageDigest digest, long rows) {
        return String.format("{\"digest\": \"%s\", \"rows\": %d}", hex(digest), rows);
    }
}
