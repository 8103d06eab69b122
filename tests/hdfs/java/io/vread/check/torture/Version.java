// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check.torture;

import java.util.ArrayList;
import java.util.List;

/** The content of a file at some time: pieces of writes, one after the other. Immutable. */
final class Version {
  static final Version EMPTY = new Version(List.of(), 0);

  private record Piece(long serial, long end) {}

  private final List<Piece> pieces;

  /** The least length a reader may find. Less than length() while the file is being written. */
  final long least;

  private Version(List<Piece> pieces, long least) {
    this.pieces = pieces;
    this.least = least;
  }

  long length() {
    return pieces.isEmpty() ? 0 : pieces.get(pieces.size() - 1).end;
  }

  boolean growing() {
    return least < length();
  }

  /** This content with a complete write appended. */
  Version appended(long serial, long count) {
    List<Piece> longer = new ArrayList<>(pieces);
    longer.add(new Piece(serial, length() + count));
    return new Version(longer, length() + count);
  }

  /** The same content, of which a reader may so far find only this length. */
  Version growingFrom(long length) {
    return new Version(pieces, length);
  }

  Version truncated(long length) {
    List<Piece> kept = new ArrayList<>();
    long start = 0;
    for (Piece piece : pieces) {
      if (start < length) {
        kept.add(new Piece(piece.serial, Math.min(piece.end, length)));
      }
      start = piece.end;
    }
    return new Version(kept, Math.min(length, length()));
  }

  boolean mayEndAt(long length) {
    return least <= length && length <= length();
  }

  /** How many of the bytes read at an offset, from the first on, match this version. */
  int matching(long offset, byte[] read, int start, int length) {
    int done = 0;
    for (Piece piece : pieces) {
      if (piece.end <= offset + done) {
        continue;
      }
      int here = (int) Math.min(length - done, piece.end - offset - done);
      int right = Pattern.matching(piece.serial, offset + done, read, start + done, here);
      done += right;
      if (right < here || done == length) {
        break;
      }
    }
    return done;
  }

  /** A text for complaints: the byte that belongs at an offset, and its write. */
  String at(long offset) {
    for (Piece piece : pieces) {
      if (offset < piece.end) {
        return String.format("%02x of write %d", Pattern.octet(piece.serial, offset), piece.serial);
      }
    }
    return "the end";
  }
}
