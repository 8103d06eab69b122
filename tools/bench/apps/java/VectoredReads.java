// SPDX-License-Identifier: GPL-2.0-or-later

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.IntFunction;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Path;

/** A file system that counts the ranges of its vectored reads, and changes nothing. */
final class VectoredReads extends FilterFileSystem {
    private long ranges;

    VectoredReads(FileSystem fs) {
        super(fs);
    }

    long ranges() {
        return ranges;
    }

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        return new Stream(super.open(path, bufferSize));
    }

    private final class Stream extends FSDataInputStream {
        Stream(FSDataInputStream in) {
            super(in);
        }

        @Override
        public void readVectored(
                List<? extends FileRange> wanted, IntFunction<ByteBuffer> allocate)
                throws IOException {
            ranges += wanted.size();
            super.readVectored(wanted, allocate);
        }
    }
}
