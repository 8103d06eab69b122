// SPDX-License-Identifier: GPL-2.0-or-later

import java.lang.reflect.Field;
import sun.misc.Unsafe;

/**
 * A Java array of which HdfsBench uses a page-aligned part.
 *
 * <p>Large arrays often start 16 bytes into a page. On some CPUs copies to such a place run at a
 * fraction of the speed, and chance would decide which rows of a bench are slow. The collector may
 * move the array, so callers get the start before each use and check it afterwards. Needs
 * -XX:-UseCompressedOops: a reference is then an address.
 */
final class PageAligned {
    private static final int PAGE = 4096;

    final byte[] bytes;
    private final Unsafe unsafe;

    PageAligned(int size) throws ReflectiveOperationException {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        unsafe = (Unsafe) field.get(null);
        if (unsafe.arrayIndexScale(Object[].class) != Long.BYTES) {
            throw new IllegalStateException("needs -XX:-UseCompressedOops");
        }
        bytes = new byte[size + PAGE];
        System.gc(); // makes the array old: it then stays where it is
    }

    /** Index of the first byte that starts a page. */
    int start() {
        long address =
                unsafe.getLong(new Object[] {bytes}, (long) Unsafe.ARRAY_OBJECT_BASE_OFFSET)
                        + Unsafe.ARRAY_BYTE_BASE_OFFSET;
        return (int) (Math.floorMod(-address, (long) PAGE));
    }

    void checkStart(int start) {
        if (start() != start) {
            throw new IllegalStateException("the collector moved the buffer during a measurement");
        }
    }
}
