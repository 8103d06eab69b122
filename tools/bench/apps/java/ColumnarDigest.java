// SPDX-License-Identifier: GPL-2.0-or-later

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * A digest of values in the order in which they come. A run's time contains the digesting, so the
 * sum is the fast CRC32C.
 */
final class ColumnarDigest {
    private final CRC32C sum = new CRC32C();
    private final ByteBuffer values = ByteBuffer.allocate(64 << 10);
    private long rows;

    void add(long value) {
        room(Long.BYTES);
        values.putLong(value);
    }

    void add(byte[] text, int offset, int length) {
        room(Integer.BYTES + length);
        values.putInt(length).put(text, offset, length);
    }

    void endRow() {
        rows++;
    }

    @Override
    public String toString() {
        flush();
        return String.format("%d rows, %08x", rows, sum.getValue());
    }

    private void room(int bytes) {
        if (values.remaining() < bytes) {
            flush();
        }
    }

    private void flush() {
        sum.update(values.flip());
        values.clear();
    }
}
