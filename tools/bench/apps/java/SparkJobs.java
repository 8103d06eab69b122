// SPDX-License-Identifier: GPL-2.0-or-later

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import org.apache.hadoop.fs.FileSystem;
import org.apache.spark.api.java.function.ForeachPartitionFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;

/**
 * Spark SQL in one process ({@code local[2]}), for spark.py and export.py.
 *
 * <pre>
 *   make FOLDER ROWS   tables: facts and names as Parquet, users as Hive's text
 *   open FOLDER        makes the tables known
 *   set NAME VALUE     sets a property of Spark and Hadoop; file systems are made anew
 *   unset NAME         removes that property; the same
 *   query SQL          collects; seconds
 *   digest             SHA-256 of the sorted rows of the last query
 *   insert URL USER PASSWORD TABLE
 *                      writes users into a new table of PostgreSQL, by batches of INSERT
 *   copy URL USER PASSWORD TABLE
 *                      the same by COPY
 * </pre>
 */
final class SparkJobs extends Commands {
    private static final String USERS = "id BIGINT, name STRING, mail STRING, city INT";
    /** What Hive puts between the columns of a text table. */
    private static final String HIVE_SEPARATOR = "\u0001";

    private static final int FILES = 4;
    private static final int BATCH = 1000;
    private static final int COPY_CHARS = 64 << 10;
    private static final int CONNECTIONS = 2;

    private final SparkSession spark =
            SparkSession.builder()
                    .master("local[2]")
                    .config("spark.ui.enabled", "false")
                    .config("spark.sql.shuffle.partitions", "2")
                    .getOrCreate();
    /** By the last query. */
    private List<Row> found = Collections.emptyList();

    public static void main(String[] arguments) throws Exception {
        new SparkJobs().serve();
    }

    @Override
    String run(String[] words) throws Exception {
        switch (words[0]) {
            case "make":
                return make(words[1], Long.parseLong(words[2]));
            case "open":
                return open(words[1]);
            case "set":
                spark.conf().set(words[1], words[2]);
                FileSystem.closeAll();
                return "{}";
            case "unset":
                spark.conf().unset(words[1]);
                FileSystem.closeAll();
                return "{}";
            case "query":
                return query(words[1]);
            case "digest":
                return digestOfRows();
            case "insert":
                return insert(words[1], words[2], words[3], words[4]);
            case "copy":
                return copy(words[1], words[2], words[3], words[4]);
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    /** Each value is a function of the row's number, and does not compress well. */
    private String make(String folder, long rows) {
        parquet(folder + "/facts", rows,
                "id", "pmod(hash(id), 1000) AS k", "pmod(xxhash64(id), 100000) AS amount",
                "concat(sha2(cast(id AS STRING), 256), md5(cast(id AS STRING))) AS note");
        parquet(folder + "/names", 1000, "id AS k", "concat('name of ', id) AS name");
        users(rows)
                .write().mode(SaveMode.Overwrite).option("sep", HIVE_SEPARATOR)
                .csv(folder + "/users");
        return "{}";
    }

    private void parquet(String path, long rows, String... columns) {
        Dataset<Row> table = spark.range(0, rows, 1, FILES).toDF("id").selectExpr(columns);
        table.write().mode(SaveMode.Overwrite).parquet(path);
    }

    private Dataset<Row> users(long rows) {
        return spark.range(0, rows, 1, FILES).toDF("id").selectExpr(
                "id", "concat('user ', sha1(cast(id AS STRING))) AS name",
                "concat(md5(cast(id AS STRING)), '@example.org') AS mail",
                "pmod(hash(id), 5000) AS city");
    }

    private String open(String folder) {
        spark.read().parquet(folder + "/facts").createOrReplaceTempView("facts");
        spark.read().parquet(folder + "/names").createOrReplaceTempView("names");
        spark.read().schema(USERS).option("sep", HIVE_SEPARATOR)
                .csv(folder + "/users").createOrReplaceTempView("users");
        return "{}";
    }

    private String query(String sql) {
        long began = System.nanoTime();
        found = spark.sql(sql).collectAsList();
        return String.format(Locale.ROOT, "{\"seconds\": %.6f}", secondsSince(began));
    }

    private String digestOfRows() throws Exception {
        List<String> rows = new ArrayList<>();
        for (Row row : found) {
            rows.add(row.mkString("\u0001"));
        }
        Collections.sort(rows);
        MessageDigest digest = digest();
        for (String row : rows) {
            digest.update((row + "\n").getBytes(StandardCharsets.UTF_8));
        }
        return String.format("{\"digest\": \"%s\", \"rows\": %d}", hex(digest), rows.size());
    }

    private String insert(String url, String user, String password, String table) {
        Properties properties = new Properties();
        properties.setProperty("user", user);
        properties.setProperty("password", password);
        properties.setProperty("driver", "org.postgresql.Driver");
        properties.setProperty("batchsize", Integer.toString(BATCH));
        long began = System.nanoTime();
        spark.table("users").coalesce(CONNECTIONS)
                .write().mode(SaveMode.Overwrite).jdbc(url, table, properties);
        return String.format(Locale.ROOT, "{\"seconds\": %.6f}", secondsSince(began));
    }

    private String copy(String url, String user, String password, String table)
            throws Exception {
        long began = System.nanoTime();
        try (Connection connection = DriverManager.getConnection(url, user, password);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE " + table
                    + " (id BIGINT, name TEXT, mail TEXT, city INTEGER)");
        }
        String sql = "COPY " + table + " FROM STDIN";
        spark.table("users").coalesce(CONNECTIONS).foreachPartition(
                (ForeachPartitionFunction<Row>) rows -> copy(rows, url, user, password, sql));
        return String.format(Locale.ROOT, "{\"seconds\": %.6f}", secondsSince(began));
    }

    /** The columns contain nothing that COPY's text format would escape. */
    private static void copy(
            Iterator<Row> rows, String url, String user, String password, String sql)
            throws Exception {
        try (Connection connection = DriverManager.getConnection(url, user, password)) {
            CopyIn in = connection.unwrap(PGConnection.class).getCopyAPI().copyIn(sql);
            StringBuilder text = new StringBuilder();
            while (rows.hasNext()) {
                text.append(rows.next().mkString("\t")).append('\n');
                if (text.length() >= COPY_CHARS || !rows.hasNext()) {
                    byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
                    in.writeToCopy(bytes, 0, bytes.length);
                    text.setLength(0);
                }
            }
            in.endCopy();
        }
    }
}
