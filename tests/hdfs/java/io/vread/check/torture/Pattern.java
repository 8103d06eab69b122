// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check.torture;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Content that can be computed from the write and the offset, so that no copy must be kept.
 *
 * <p>Each write has a serial number. Each 8 bytes of a file are a word, mixed from the serial of
 * the write and the number of the word in the file. The mixing can be undone: a wrong word tells
 * the write and the place it came from.
 */
final class Pattern {
  static final int WORD = 8;
  private static final int PLACE_BITS = 40;
  private static final long FIRST = 0xff51afd7ed558ccdL;
  private static final long SECOND = 0xc4ceb9fe1a85ec53L;

  private Pattern() {}

  /** Fills in the content of a write at an offset of the file. */
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

  /** How many bytes, from the first on, match the content of the write at the offset. */
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

  /** The serial of the write that a word came from. */
  static long serial(long word) {
    return unmixed(word) >>> PLACE_BITS;
  }

  /** The offset in the file that a word came from. */
  static long place(long word) {
    return (unmixed(word) & (1L << PLACE_BITS) - 1) * WORD;
  }

  private static long unmixed(long word) {
    long plain = (word ^ word >>> 33) * inverse(SECOND);
    plain = (plain ^ plain >>> 33) * inverse(FIRST);
    return plain ^ plain >>> 33;
  }

  /** The inverse of an odd number modulo 2^64. Each step doubles the number of right bits. */
  private static long inverse(long odd) {
    long found = odd;
    for (int right = 3; right < Long.SIZE; right *= 2) {
      found *= 2 - odd * found;
    }
    return found;
  }
}
