// SPDX-License-Identifier: GPL-2.0-or-later

import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.vector.BytesColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.hive.ql.io.sarg.PredicateLeaf;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgumentFactory;
import org.apache.orc.CompressionKind;
import org.apache.orc.OrcFile;
import org.apache.orc.Reader;
import org.apache.orc.RecordReader;
import org.apache.orc.TypeDescription;
import org.apache.orc.Writer;

/** ORC by its core reader. It makes vectored reads of Hadoop streams whenever Hadoop has them. */
final class OrcTable implements ColumnarJobs.Table {
    private static final TypeDescription SCHEMA =
            TypeDescription.fromString(
                    "struct<id:bigint,name:string,amount:int,note:string,k:int>");

    private final FileSystem fs;
    private final Configuration conf;

    OrcTable(FileSystem fs, Configuration conf) {
        this.fs = fs;
        this.conf = conf;
    }

    @Override
    public void write(Path file, long rows, long groupBytes) throws Exception {
        OrcFile.WriterOptions options =
                OrcFile.writerOptions(conf)
                        .fileSystem(fs)
                        .setSchema(SCHEMA)
                        .compress(CompressionKind.SNAPPY)
                        .stripeSize(groupBytes)
                        .blockSize(fs.getDefaultBlockSize(file))
                        .overwrite(true);
        VectorizedRowBatch batch = SCHEMA.createRowBatch();
        Rows row = new Rows();
        try (Writer writer = OrcFile.createWriter(file, options)) {
            for (long id = 0; id < rows; id++) {
                if (batch.size == batch.getMaxSize()) {
                    writer.addRowBatch(batch);
                    batch.reset();
                }
                row.make(id);
                int at = batch.size++;
                ((LongColumnVector) batch.cols[0]).vector[at] = id;
                ((BytesColumnVector) batch.cols[1]).setVal(at, row.name);
                ((LongColumnVector) batch.cols[2]).vector[at] = row.amount;
                ((BytesColumnVector) batch.cols[3]).setVal(at, row.note);
                ((LongColumnVector) batch.cols[4]).vector[at] = row.k;
            }
            writer.addRowBatch(batch);
        }
    }

    @Override
    public void read(Path file, boolean filter, ColumnarDigest digest) throws Exception {
        try (Reader reader =
                OrcFile.createReader(file, OrcFile.readerOptions(conf).filesystem(fs))) {
            Reader.Options options = reader.options();
            boolean[] included = included(filter);
            if (filter) {
                options.include(included);
                options.searchArgument(
                        SearchArgumentFactory.newBuilder()
                                .between(
                                        "amount",
                                        PredicateLeaf.Type.LONG,
                                        (long) Rows.LEAST_AMOUNT,
                                        (long) Rows.MOST_AMOUNT)
                                .build(),
                        new String[] {"amount"});
            }
            VectorizedRowBatch batch = SCHEMA.createRowBatch();
            try (RecordReader rows = reader.rows(options)) {
                while (rows.nextBatch(batch)) {
                    for (int at = 0; at < batch.size; at++) {
                        if (!filter || Rows.wanted(number(batch.cols[Rows.AMOUNT], at))) {
                            add(digest, batch, at, included);
                        }
                    }
                }
            }
        }
    }

    /** By column id. Column 0 is the struct of all. */
    private static boolean[] included(boolean filter) {
        List<String> wanted =
                Arrays.asList(filter ? Rows.FILTERED : Rows.COLUMNS);
        boolean[] included = new boolean[Rows.COLUMNS.length + 1];
        included[0] = true;
        for (int i = 0; i < Rows.COLUMNS.length; i++) {
            included[i + 1] = wanted.contains(Rows.COLUMNS[i]);
        }
        return included;
    }

    private static void add(
            ColumnarDigest digest, VectorizedRowBatch batch, int at, boolean[] included) {
        for (int i = 0; i < batch.cols.length; i++) {
            if (!included[i + 1]) {
                continue;
            }
            if (batch.cols[i] instanceof BytesColumnVector) {
                BytesColumnVector texts = (BytesColumnVector) batch.cols[i];
                int in = texts.isRepeating ? 0 : at;
                digest.add(texts.vector[in], texts.start[in], texts.length[in]);
            } else {
                digest.add(number(batch.cols[i], at));
            }
        }
        digest.endRow();
    }

    private static long number(ColumnVector column, int at) {
        return ((LongColumnVector) column).vector[column.isRepeating ? 0 : at];
    }
}
