// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.bench;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.zip.CRC32;

/**
 * The CRC-32 of each piece of a file, as {@link FileMaker} wrote the file. They lie in a file of
 * the client's machine, which HDFS and vRead do not see. CRC-32 is another polynomial than CRC-32C,
 * by which HDFS checks its blocks.
 */
final class Digests {
  static final int PIECE = 4096;
  private static final long MAGIC = 0x7672622d63726331L; // "vrb-crc1"

  final long size;
  private final String path;
  private final int[] sums;

  private Digests(String path, long size) throws IOException {
    if (size <= 0 || size % PIECE != 0 || size / PIECE > Integer.MAX_VALUE) {
      throw new IOException(path + ": " + size + " bytes: expected a multiple of " + PIECE);
    }
    this.path = path;
    this.size = size;
    this.sums = new int[(int) (size / PIECE)];
  }

  /** Digests of a file that is being made; {@link #add} fills them. */
  static Digests of(String path, long size) throws IOException {
    return new Digests(path, size);
  }

  static Digests load(Settings.HdfsFile file) throws IOException {
    Path local = Paths.get(file.digests);
    if (!Files.exists(local)) {
      throw new IOException(local + " is missing: run `vread-bench prepare`");
    }
    try (DataInputStream in =
        new DataInputStream(new BufferedInputStream(Files.newInputStream(local)))) {
      if (in.readLong() != MAGIC) {
        throw new IOException(local + ": no file of digests");
      }
      Digests digests = new Digests(file.path, in.readLong());
      for (int i = 0; i < digests.sums.length; i++) {
        digests.sums[i] = in.readInt();
      }
      return digests;
    }
  }

  void save(String file) throws IOException {
    Path local = Paths.get(file);
    Path fresh = Paths.get(file + ".new");
    Files.createDirectories(local.getParent());
    try (DataOutputStream out =
        new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(fresh)))) {
      out.writeLong(MAGIC);
      out.writeLong(size);
      for (int sum : sums) {
        out.writeInt(sum);
      }
    }
    Files.move(fresh, local, StandardCopyOption.REPLACE_EXISTING);
  }

  void add(long position, byte[] bytes, int length) {
    CRC32 crc = new CRC32();
    for (int i = 0; i < length; i += PIECE) {
      crc.reset();
      crc.update(bytes, i, PIECE);
      sums[(int) ((position + i) / PIECE)] = (int) crc.getValue();
    }
  }

  /** Compares what was read at `position`, a multiple of PIECE like `length`. */
  void check(long position, byte[] bytes, int length) throws WrongBytes {
    CRC32 crc = new CRC32();
    for (int i = 0; i < length; i += PIECE) {
      crc.reset();
      crc.update(bytes, i, PIECE);
      if ((int) crc.getValue() != sums[(int) ((position + i) / PIECE)]) {
        long at = position + i;
        throw new WrongBytes(path + ": bytes " + at + ".." + (at + PIECE - 1) + " are wrong");
      }
    }
  }
}
