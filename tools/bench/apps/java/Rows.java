// SPDX-License-Identifier: GPL-2.0-or-later

import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;

/**
 * The rows of a table that programs write and read. Each value is a function of the row's number,
 * and the texts do not compress.
 */
final class Rows {
    static final String[] COLUMNS = {"id", "name", "amount", "note", "k"};
    /** The columns that a filter reads. The texts lie between them in the file. */
    static final String[] FILTERED = {"id", "amount", "k"};

    static final int NAME_BYTES = 32;
    static final int NOTE_BYTES = 64;
    /** Places of columns. */
    static final int AMOUNT = 2;

    static final int K = 4;
    static final int AMOUNTS = 100_000;
    static final int GROUPS = 1000;
    /** A filter takes 1 % of the rows. */
    static final int LEAST_AMOUNT = 1000;
    static final int MOST_AMOUNT = 1999;

    private static final byte[] DIGITS = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    final byte[] name = new byte[NAME_BYTES];
    final byte[] note = new byte[NOTE_BYTES];
    int amount;
    int k;

    void make(long id) {
        SplittableRandom random = new SplittableRandom(id);
        hex(random, name);
        hex(random, note);
        amount = random.nextInt(AMOUNTS);
        k = random.nextInt(GROUPS);
    }

    String csv(long id) {
        String columns = String.join(",", ascii(name), Integer.toString(amount), ascii(note));
        return id + "," + columns + "," + k;
    }

    private static String ascii(byte[] text) {
        return new String(text, StandardCharsets.US_ASCII);
    }

    static boolean wanted(long amount) {
        return amount >= LEAST_AMOUNT && amount <= MOST_AMOUNT;
    }

    private static void hex(SplittableRandom random, byte[] text) {
        for (int at = 0; at < text.length; at += 16) {
            long bits = random.nextLong();
            for (int i = 0; i < 16; i++) {
                text[at + i] = DIGITS[(int) (bits >>> 4 * i) & 15];
            }
        }
    }
}
