// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The storage ids in a block token: where the replicas are, as the NameNode knew it.
 * {@link Whereabouts} asks for them.
 *
 * <p>A token (Token.write) is identifier, password, kind and service. An identifier
 * (BlockTokenIdentifier) comes in two encodings, told apart as Hadoop does: if its first byte is
 * not positive it is the legacy Writable, else protobuf. Hadoop's own classes are not used, because
 * this is done for every block, because of the limits, and because a token that cannot be parsed
 * must only mean that no storages are known.
 */
final class TokenStorages {
  private static final byte[][] NONE = new byte[0][];
  private static final int MAX_STORAGES = 64;
  private static final int MAX_STORAGE_ID = 127;
  private static final int PROTO_STORAGE_IDS = 8;

  private final ByteBuffer in;

  private TokenStorages(ByteBuffer in) {
    this.in = in;
  }

  /** True if the token has content: without security it is empty. */
  static boolean present(byte[] token) {
    return token != null && token.length > 0 && token[0] != 0;
  }

  /** The storage ids. Never null; empty if there is no token, it names none or cannot be parsed. */
  static byte[][] of(byte[] token) {
    if (!present(token)) {
      return NONE;
    }
    try {
      TokenStorages whole = new TokenStorages(ByteBuffer.wrap(token));
      TokenStorages id = new TokenStorages(ByteBuffer.wrap(whole.bytes(whole.vint())));
      return id.in.get(0) <= 0 ? id.legacy() : id.protobuf();
    } catch (BufferUnderflowException | IllegalArgumentException | IndexOutOfBoundsException e) {
      return NONE;
    }
  }

  private byte[][] legacy() {
    vlong(); // expiry
    vlong(); // key
    string(); // user
    string(); // pool
    vlong(); // block
    skipNames(); // access modes
    if (!in.hasRemaining()) {
      return NONE; // from a NameNode that did not know storages yet
    }
    skipNames(); // storage types
    int count = vint();
    List<byte[]> ids = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      add(ids, string());
    }
    return ids.toArray(NONE);
  }

  private byte[][] protobuf() {
    List<byte[]> ids = new ArrayList<>();
    while (in.hasRemaining()) {
      long tag = varint();
      int field = (int) (tag >>> 3);
      switch ((int) (tag & 7)) {
        case 0:
          varint();
          break;
        case 1:
          bytes(8);
          break;
        case 2:
          byte[] value = bytes(length(varint()));
          if (field == PROTO_STORAGE_IDS) {
            add(ids, value);
          }
          break;
        case 5:
          bytes(4);
          break;
        default:
          throw new IllegalArgumentException("wire type");
      }
    }
    return ids.toArray(NONE);
  }

  private static void add(List<byte[]> ids, byte[] id) {
    if (id == null || id.length == 0 || id.length > MAX_STORAGE_ID || ids.size() == MAX_STORAGES) {
      throw new IllegalArgumentException("storage ids");
    }
    ids.add(id);
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

  private static int length(long value) {
    if (value < 0 || value > Integer.MAX_VALUE) {
      throw new IllegalArgumentException("length");
    }
    return (int) value;
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
