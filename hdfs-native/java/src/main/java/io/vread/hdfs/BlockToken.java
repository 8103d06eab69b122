// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * What the plug-in takes out of a block token: the storage ids, which say where the replicas are,
 * as the NameNode knew it, and the time the token ends. {@link Whereabouts} asks for both.
 *
 * <p>A token (Token.write) is identifier, password, kind and service. An identifier
 * (BlockTokenIdentifier) comes in two encodings, told apart as Hadoop does: if its first byte is
 * not positive it is the legacy Writable, else protobuf. Hadoop's own classes are not used, because
 * this is done for every block, because of the limits, and because a token that cannot be parsed
 * must only mean that nothing is known about it: the backend judges tokens.
 */
final class BlockToken {
  private static final byte[][] NONE = new byte[0][];
  private static final int MAX_STORAGES = 64;
  private static final int MAX_STORAGE_ID = 127;
  private static final int PROTO_EXPIRY = 1;
  private static final int PROTO_STORAGE_IDS = 8;
  private static final BlockToken UNKNOWN = new BlockToken(NONE, Long.MAX_VALUE);

  private final byte[][] storages;
  private final long expiry;

  private BlockToken(byte[][] storages, long expiry) {
    this.storages = storages;
    this.expiry = expiry;
  }

  /** True if the token has content: without security it is empty. */
  static boolean present(byte[] token) {
    return token != null && token.length > 0 && token[0] != 0;
  }

  /** Nothing is known if there is no token, or if it cannot be parsed. */
  static BlockToken of(byte[] token) {
    if (!present(token)) {
      return UNKNOWN;
    }
    try {
      Cursor whole = new Cursor(ByteBuffer.wrap(token));
      Cursor id = new Cursor(ByteBuffer.wrap(whole.bytes(whole.vint())));
      return id.in.get(0) <= 0 ? legacy(id) : protobuf(id);
    } catch (BufferUnderflowException | IllegalArgumentException | IndexOutOfBoundsException e) {
      return UNKNOWN;
    }
  }

  /** The storage ids. Never null; empty if none are known. */
  byte[][] storages() {
    return storages;
  }

  /** The time the token ends, in ms since 1970. Long.MAX_VALUE: not known. */
  long expiry() {
    return expiry;
  }

  private static BlockToken legacy(Cursor in) {
    long expiry = in.vlong();
    in.vlong(); // key
    in.string(); // user
    in.string(); // pool
    in.vlong(); // block
    in.skipNames(); // access modes
    if (!in.in.hasRemaining()) {
      return new BlockToken(NONE, expiry); // from a NameNode that did not know storages yet
    }
    in.skipNames(); // storage types
    int count = in.vint();
    List<byte[]> ids = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      add(ids, in.string());
    }
    return new BlockToken(ids.toArray(NONE), expiry);
  }

  private static BlockToken protobuf(Cursor in) {
    List<byte[]> ids = new ArrayList<>();
    long expiry = Long.MAX_VALUE;
    while (in.in.hasRemaining()) {
      long tag = in.varint();
      int field = (int) (tag >>> 3);
      switch ((int) (tag & 7)) {
        case 0:
          long number = in.varint();
          if (field == PROTO_EXPIRY) {
            expiry = number;
          }
          break;
        case 1:
          in.bytes(8);
          break;
        case 2:
          byte[] value = in.bytes(length(in.varint()));
          if (field == PROTO_STORAGE_IDS) {
            add(ids, value);
          }
          break;
        case 5:
          in.bytes(4);
          break;
        default:
          throw new IllegalArgumentException("wire type");
      }
    }
    return new BlockToken(ids.toArray(NONE), expiry);
  }

  private static void add(List<byte[]> ids, byte[] id) {
    if (id == null || id.length == 0 || id.length > MAX_STORAGE_ID || ids.size() == MAX_STORAGES) {
      throw new IllegalArgumentException("storage ids");
    }
    ids.add(id);
  }

  private static int length(long value) {
    if (value < 0 || value > Integer.MAX_VALUE) {
      throw new IllegalArgumentException("length");
    }
    return (int) value;
  }

  /** Walks over the bytes of a token. Throws if there are too few. */
  private static final class Cursor {
    private final ByteBuffer in;

    private Cursor(ByteBuffer in) {
      this.in = in;
    }

    /** Skips a count and so many enum constants as Text. */
    private void skipNames() {
      int count = vint();
      for (int i = 0; i < count; i++) {
        bytes(vint());
      }
    }

    /**
     * Reads what WritableUtils.writeString wrote: a length of four bytes, -1 for null, then the
     * bytes.
     */
    private byte[] string() {
      int length = in.getInt();
      return length == -1 ? null : bytes(length);
    }

    private byte[] bytes(int length) {
      if (length < 0 || length > in.remaining()) {
        throw new BufferUnderflowException();
      }
      byte[] result = new byte[length];
      in.get(result);
      return result;
    }

    private int vint() {
      return length(vlong());
    }

    /** Reads what WritableUtils.writeVLong wrote. */
    private long vlong() {
      byte first = in.get();
      if (first >= -112) {
        return first;
      }
      boolean negative = first < -120;
      int more = negative ? -120 - first : -112 - first;
      long value = 0;
      for (int i = 0; i < more; i++) {
        value = value << 8 | in.get() & 0xff;
      }
      return negative ? ~value : value;
    }

    private long varint() {
      long value = 0;
      for (int shift = 0; shift < 64; shift += 7) {
        byte next = in.get();
        value |= (long) (next & 0x7f) << shift;
        if (next >= 0) {
          return value;
        }
      }
      throw new IllegalArgumentException("varint");
    }
  }
}
