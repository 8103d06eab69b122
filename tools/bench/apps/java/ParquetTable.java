// SPDX-License-Identifier: GPL-2.0-or-later

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.conf.HadoopParquetConfiguration;
import org.apache.parquet.conf.ParquetConfiguration;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.filter2.predicate.Operators.IntColumn;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.api.InitContext;
import org.apache.parquet.hadoop.api.ReadSupport;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.util.HadoopStreams;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.SeekableInputStream;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.io.api.Converter;
import org.apache.parquet.io.api.GroupConverter;
import org.apache.parquet.io.api.PrimitiveConverter;
import org.apache.parquet.io.api.RecordMaterializer;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.apache.parquet.schema.Type;

/** Parquet by its own reader, with parquet.hadoop.vectored.io.enabled, the default. */
final class ParquetTable implements ColumnarJobs.Table {
    private static final MessageType SCHEMA =
            MessageTypeParser.parseMessageType(
                    "message row { required int64 id; required binary name (STRING);"
                            + " required int32 amount; required binary note (STRING);"
                            + " required int32 k; }");

    private final FileSystem fs;
    private final Configuration conf;

    ParquetTable(FileSystem fs, Configuration conf) {
        this.fs = fs;
        this.conf = conf;
    }

    @Override
    public void write(Path file, long rows, long groupBytes) throws Exception {
        Rows row = new Rows();
        try (ParquetWriter<Group> writer =
                ExampleParquetWriter.builder(file)
                        .withConf(conf)
                        .withType(SCHEMA)
                        .withCompressionCodec(CompressionCodecName.SNAPPY)
                        .withRowGroupSize(groupBytes)
                        .build()) {
            for (long id = 0; id < rows; id++) {
                row.make(id);
                SimpleGroup group = new SimpleGroup(SCHEMA);
                group.add("id", id);
                group.add("name", Binary.fromConstantByteArray(row.name.clone()));
                group.add("amount", row.amount);
                group.add("note", Binary.fromConstantByteArray(row.note.clone()));
                group.add("k", row.k);
                writer.write(group);
            }
        }
    }

    @Override
    public void read(Path file, boolean filter, ColumnarDigest digest) throws Exception {
        IntColumn amount = FilterApi.intColumn("amount");
        FilterPredicate wanted =
                FilterApi.and(
                        FilterApi.gtEq(amount, Rows.LEAST_AMOUNT),
                        FilterApi.ltEq(amount, Rows.MOST_AMOUNT));
        Support support = new Support(filter ? projection(Rows.FILTERED) : SCHEMA);
        long length = fs.getFileStatus(file).getLen();
        try (ParquetReader<Row> reader =
                new Builder(new File(fs, file, length), conf, support)
                        .withFilter(filter ? FilterCompat.get(wanted) : FilterCompat.NOOP)
                        .build()) {
            for (Row row = reader.read(); row != null; row = reader.read()) {
                row.addTo(digest);
            }
        }
    }

    private static MessageType projection(String[] columns) {
        Type[] types = Arrays.stream(columns).map(SCHEMA::getType).toArray(Type[]::new);
        return new MessageType(SCHEMA.getName(), types);
    }

    /** Parquet's own HadoopInputFile asks the path for its file system, which does not count. */
    private static final class File implements InputFile {
        private final FileSystem fs;
        private final Path path;
        private final long length;

        File(FileSystem fs, Path path, long length) {
            this.fs = fs;
            this.path = path;
            this.length = length;
        }

        @Override
        public long getLength() {
            return length;
        }

        @Override
        public SeekableInputStream newStream() throws IOException {
            return HadoopStreams.wrap(fs.open(path));
        }
    }

    private static final class Builder extends ParquetReader.Builder<Row> {
        private final Support support;

        Builder(InputFile file, Configuration conf, Support support) {
            super(file, new HadoopParquetConfiguration(conf));
            this.support = support;
        }

        @Override
        protected ReadSupport<Row> getReadSupport() {
            return support;
        }
    }

    private static final class Support extends ReadSupport<Row> {
        private final MessageType columns;

        Support(MessageType columns) {
            this.columns = columns;
        }

        @Override
        public ReadContext init(InitContext context) {
            return new ReadContext(columns);
        }

        @Override
        public RecordMaterializer<Row> prepareForRead(
                Configuration conf,
                Map<String, String> metadata,
                MessageType schema,
                ReadContext context) {
            return new Row(columns);
        }

        @Override
        public RecordMaterializer<Row> prepareForRead(
                ParquetConfiguration conf,
                Map<String, String> metadata,
                MessageType schema,
                ReadContext context) {
            return new Row(columns);
        }
    }

    /** The one row object of a reader. Parquet fills it anew for each row. */
    private static final class Row extends RecordMaterializer<Row> {
        private final long[] numbers;
        private final Binary[] texts;
        private final GroupConverter root;

        Row(MessageType type) {
            numbers = new long[type.getFieldCount()];
            texts = new Binary[type.getFieldCount()];
            Converter[] converters = new Converter[type.getFieldCount()];
            Arrays.setAll(converters, Value::new);
            root =
                    new GroupConverter() {
                        @Override
                        public Converter getConverter(int column) {
                            return converters[column];
                        }

                        @Override
                        public void start() {}

                        @Override
                        public void end() {}
                    };
        }

        void addTo(ColumnarDigest digest) {
            for (int i = 0; i < numbers.length; i++) {
                if (texts[i] != null) {
                    byte[] bytes = texts[i].getBytesUnsafe();
                    digest.add(bytes, 0, bytes.length);
                } else {
                    digest.add(numbers[i]);
                }
            }
            digest.endRow();
        }

        @Override
        public Row getCurrentRecord() {
            return this;
        }

        @Override
        public GroupConverter getRootConverter() {
            return root;
        }

        private final class Value extends PrimitiveConverter {
            private final int column;

            Value(int column) {
                this.column = column;
            }

            @Override
            public void addBinary(Binary value) {
                texts[column] = value;
            }

            @Override
            public void addInt(int value) {
                numbers[column] = value;
            }

            @Override
            public void addLong(long value) {
                numbers[column] = value;
            }
        }
    }
}
