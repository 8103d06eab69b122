// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check.torture;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Content that is a function of who wrote it and where, so that nobody has to keep it.
 *
 * <p>Each write has a serial number. A file's bytes from a multiple of 8 on are a word mixed from
 * the serial of the write and the word's number. The mixing can be undone: a wrong word tells
 * whose it is.
 */
final class Pattern {
  static final int WORD = 8;
  private static final int PLACE_BITS = 40;
  private static final long FIRST = 0xff51afd7ed558ccdL;
  private static final long SECOND = 0xc4ceb9fe1a85ec53L;

  private Pattern() {}

  /** Writes what belongs at an offset of the file. */
  static void fill(long serial, long offset, byte[] into, int start, int length) {
    ByteBuffer words = ByteBuffer.wrap(into).order(ByteOrder.LITTLE_ENDIAN);
    int done = 0;
    while (done < length) {
      long at = offset + done;
      if (at % WORD == 0 && length - done >= WORD) {
        words.putLong(start + done, word(serial, at / WORD));
        done += WORD;
      } else {
        into[start + done] = octet(serial, at);
        done++;
      }
    }
  }

  /** How many bytes, from the first on, are what belongs there. */
  static int matching(long serial, long offset, byte[] read, int start, int length) {
    ByteBuffer words = ByteBuffer.wrap(read).order(ByteOrder.LITTLE_ENDIAN);
    int done = 0;
    while (done < length) {
      long at = offset + done;
      if (at % WORD == 0
          && length - done >= WORD
          && words.getLong(start + done) == word(serial, at / WORD)) {
        done += WORD;
      } else if (read[start + done] == octet(serial, at)) {
        done++;
      } else {
        break;
      }
    }
    return done;
  }

  static byte octet(long serial, long at) {
    return (byte) (word(serial, at / WORD) >>> (8 * (at % WORD)));
  }

  private static long word(long serial, long number) {
    long mixed = serial << PLACE_BITS | number;
    mixed = (mixed ^ mixed >>> 33) * FIRST;
    mixed = (mixed ^ mixed >>> 33) * SECOND;
    return mixed ^ mixed >>> 33;
  }

  /** The serial in a word that somebody wrote. */
  static long serial(long word) {
    return unmixed(word) >>> PLACE_BITS;
  }

  /** The place in a word that somebody wrote: an offset in its file. */
  static long place(long word) {
    return (unmixed(word) & (1L << PLACE_BITS) - 1) * WORD;
  }

  private static long unmixed(long word) {
    long plain = (word ^ word >>> 33) * inverse(SECOND);
    plain = (plain ^ plain >>> 33) * inverse(FIRST);
    return plain ^ plain >>> 33;
  }

  /** Of an odd number, modulo 2^64; each step doubles the bits that are right. */
  private static long inverse(long odd) {
    long found = odd;
    for (int right = 3; right < Long.SIZE; right *= 2) {
      found *= 2 - odd * found;
    }
    return found;
  }
}
