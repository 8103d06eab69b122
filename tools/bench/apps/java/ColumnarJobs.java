// SPDX-License-Identifier: GPL-2.0-or-later

import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Files of Parquet and ORC, for columnar.py. FORMAT is {@code parquet} or {@code orc}.
 *
 * <pre>
 *   make FORMAT FILE ROWS   the digests that a scan and a filter must have
 *   scan FORMAT FILE        reads all columns of all rows: seconds, a digest of all values, and how
 *                           many ranges vectored reads asked for
 *   filter FORMAT FILE      the same of three columns of 1 % of the rows
 * </pre>
 */
final class ColumnarJobs extends Commands {
    /** So a block has some row groups of Parquet, or stripes of ORC. */
    private static final int GROUPS_OF_A_BLOCK = 4;

    private final Configuration conf = new Configuration();

    public static void main(String[] arguments) throws Exception {
        new ColumnarJobs().serve();
    }

    @Override
    String run(String[] words) throws Exception {
        Path file = new Path(words[2]);
        FileSystem fs = file.getFileSystem(conf);
        switch (words[0]) {
            case "make":
                long groupBytes = fs.getDefaultBlockSize(file) / GROUPS_OF_A_BLOCK;
                table(words[1], fs).write(file, Long.parseLong(words[3]), groupBytes);
                return made(Long.parseLong(words[3]));
            case "scan":
                return read(words[1], fs, file, false);
            case "filter":
                return read(words[1], fs, file, true);
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static String made(long rows) {
        ColumnarDigest scan = new ColumnarDigest();
        ColumnarDigest filter = new ColumnarDigest();
        Rows row = new Rows();
        for (long id = 0; id < rows; id++) {
            row.make(id);
            scan.add(id);
            scan.add(row.name, 0, row.name.length);
            scan.add(row.amount);
            scan.add(row.note, 0, row.note.length);
            scan.add(row.k);
            scan.endRow();
            if (Rows.wanted(row.amount)) {
                filter.add(id);
                filter.add(row.amount);
                filter.add(row.k);
                filter.endRow();
            }
        }
        return String.format("{\"scan\": \"%s\", \"filter\": \"%s\"}", scan, filter);
    }

    private String read(String format, FileSystem fs, Path file, boolean filter) throws Exception {
        VectoredReads counted = new VectoredReads(fs);
        ColumnarDigest digest = new ColumnarDigest();
        long began = System.nanoTime();
        table(format, counted).read(file, filter, digest);
        return String.format(
                Locale.ROOT,
                "{\"seconds\": %.6f, \"digest\": \"%s\", \"ranges\": %d}",
                secondsSince(began), digest, counted.ranges());
    }

    private Table table(String format, FileSystem fs) {
        return format.equals("orc") ? new OrcTable(fs, conf) : new ParquetTable(fs, conf);
    }

    /** How a format writes and reads Rows. */
    interface Table {
        void write(Path file, long rows, long groupBytes) throws Exception;

        /** All columns of all rows, or those that a filter finds. */
        void read(Path file, boolean filter, ColumnarDigest digest) throws Exception;
    }
}
