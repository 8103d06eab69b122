// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check.torture;

import io.vread.check.Awaiting;
import io.vread.check.torture.Ledger.Life;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.io.IOUtils;

/**
 * A thread that creates, appends to, truncates, renames, replaces and deletes its own files, as
 * fast as HDFS allows, and notes all changes in the ledger.
 *
 * <p>The owner keeps the cluster nearly full, so that space of deleted files is used again. If HDFS
 * refuses a change, as it does without room, the owner deletes the file.
 */
final class Owner implements Runnable {
  /** The kinds of changes, as Counts names them. */
  static final List<String> CHANGES =
      List.of(
          "created",
          "replaced",
          "appended",
          "truncated_within_block",
          "truncated_between_blocks",
          "renamed",
          "deleted");

  private static final int PIECE = 64 << 10;
  private static final long ROOM_MS = 2000; // deletions happen with the next heartbeats

  /**
   * Limit of the wait after a truncation within a block. If the DataNode reports the shorter block
   * after the end of its recovery, the NameNode leaves the file open for ever.
   */
  private static final long CLOSING_MS = 60_000;

  /** Settings of all owners of a torture. budget: bytes of files for each owner. */
  record Plan(List<Long> blocks, long largest, long budget, long reserve) {}

  private final DistributedFileSystem fs;
  private final Ledger ledger;
  private final Counts counts;
  private final Plan plan;
  private final AtomicBoolean ending;
  private final Random random;
  private final List<OwnFile> files = new ArrayList<>();

  private static final class OwnFile {
    final String name;
    Life life; // null: the file does not exist
    Version version = Version.EMPTY;
    long block;

    OwnFile(String name) {
      this.name = name;
    }

    Path path() {
      return new Path(name);
    }
  }

  Owner(
      DistributedFileSystem fs,
      Ledger ledger,
      Counts counts,
      Plan plan,
      AtomicBoolean ending,
      String folder,
      int names,
      long seed) {
    this.fs = fs;
    this.ledger = ledger;
    this.counts = counts;
    this.plan = plan;
    this.ending = ending;
    this.random = new Random(seed);
    for (int i = 0; i < names; i++) {
      OwnFile file = new OwnFile(folder + "/" + i);
      files.add(file);
      ledger.add(file.name);
    }
  }

  @Override
  public void run() {
    while (!ending.get()) {
      OwnFile file = files.get(random.nextInt(files.size()));
      try {
        step(file);
      } catch (IOException refused) {
        refused(file, refused);
      } catch (InterruptedException stopped) {
        return;
      } catch (RuntimeException mistake) {
        counts.complain("owner_failures", mistake.toString());
      }
    }
  }

  private void step(OwnFile file) throws IOException, InterruptedException {
    int dice = random.nextInt(100);
    if (file.life != null && bytes() > plan.budget) {
      shrink(file, dice);
    } else if (file.life == null || dice < 55) {
      grow(file, dice);
    } else if (dice < 75) {
      truncate(file);
    } else if (dice < 88) {
      rename(file, files.get(random.nextInt(files.size())));
    } else {
      delete(file);
    }
  }

  private void grow(OwnFile file, int dice) throws IOException, InterruptedException {
    makeRoom();
    if (file.life == null || dice < 25) {
      create(file);
    } else {
      append(file);
    }
  }

  private void shrink(OwnFile file, int dice) throws IOException, InterruptedException {
    if (dice < 35 && file.version.length() > 0) {
      truncate(file);
    } else {
      delete(file);
    }
  }

  private long bytes() {
    return files.stream().mapToLong(file -> file.version.length()).sum();
  }

  /** Waits for the space of deleted files, some heartbeats. If too little, deletes a file. */
  private void makeRoom() throws IOException, InterruptedException {
    if (!Awaiting.within(ROOM_MS, () -> hasRoom() || ending.get()) || !hasRoom()) {
      delete(files.get(random.nextInt(files.size())));
    }
  }

  private boolean hasRoom() throws IOException {
    boolean found = fs.getStatus().getRemaining() >= plan.reserve;
    if (!found) {
      counts.add("waits_for_room");
    }
    return found;
  }

  // ---- changes ----------------------------------------------------------------------------------

  /** Creates a file, or replaces an existing one. Half of the files are synced at close. */
  private void create(OwnFile file) throws IOException {
    boolean replaced = file.life != null;
    long size = size();
    long serial = ledger.nextSerial();
    Version whole = Version.EMPTY.appended(serial, size);
    Life life = new Life();
    ledger.mayBe(life, whole.growingFrom(0));
    ledger.mayHold(file.name, life);
    EnumSet<CreateFlag> flags = EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE);
    if (random.nextBoolean()) {
      flags.add(CreateFlag.SYNC_BLOCK);
    }
    long block = plan.blocks.get(random.nextInt(plan.blocks.size()));
    short replicas = fs.getDefaultReplication(file.path());
    FSDataOutputStream out =
        fs.create(file.path(), FsPermission.getFileDefault(), flags, PIECE, replicas, block, null);
    ledger.holds(file.name, life);
    file.life = life;
    file.version = whole;
    file.block = block;
    write(out, serial, 0, size);
    ledger.is(life, whole);
    counts.add(replaced ? "replaced" : "created");
  }

  private void append(OwnFile file) throws IOException {
    long start = file.version.length();
    long size = size() / 2 + 1;
    long serial = ledger.nextSerial();
    Version longer = file.version.appended(serial, size);
    ledger.mayBe(file.life, longer.growingFrom(blockStart(file, start)));
    FSDataOutputStream out = fs.append(file.path());
    file.version = longer;
    write(out, serial, start, size);
    ledger.is(file.life, longer);
    counts.add("appended");
  }

  /** Writes and closes. After a failure, closes again and ignores errors of this close. */
  private void write(FSDataOutputStream out, long serial, long start, long size)
      throws IOException {
    try {
      writePieces(out, serial, start, size);
      out.close();
    } finally {
      IOUtils.closeStream(out);
    }
  }

  /** Writes in pieces. Readers may see some of them before the file is closed. */
  private void writePieces(FSDataOutputStream out, long serial, long start, long size)
      throws IOException {
    byte[] piece = new byte[PIECE];
    for (long done = 0; done < size; ) {
      int count = (int) Math.min(piece.length, size - done);
      Pattern.fill(serial, start + done, piece, 0, count);
      out.write(piece, 0, count);
      done += count;
      counts.add("written_bytes", count);
      if (random.nextInt(16) == 0) {
        out.hflush();
      }
    }
  }

  /** Truncates at any byte. Within a block, HDFS asks the datanode and closes the file later. */
  private void truncate(OwnFile file) throws IOException, InterruptedException {
    if (file.version.length() == 0) {
      return;
    }
    long length = (long) (random.nextDouble() * file.version.length());
    if (random.nextInt(3) == 0) {
      length = blockStart(file, length);
    }
    Version shorter = file.version.truncated(length);
    long start = blockStart(file, length);
    ledger.mayBe(file.life, file.version.truncated(start + file.block).growingFrom(start));
    boolean done = fs.truncate(file.path(), length);
    file.version = shorter;
    if (!done && !Awaiting.within(CLOSING_MS, () -> fs.isFileClosed(file.path()))) {
      throw new IOException(file.name + ": not closed after its truncation");
    }
    ledger.is(file.life, shorter);
    counts.add(done ? "truncated_between_blocks" : "truncated_within_block");
  }

  /** The start of the block at length. While HDFS opens or cuts the last block, the file may seem
   * to end at the block's start or, until the block is cut, at its end. */
  private static long blockStart(OwnFile file, long length) {
    return length / file.block * file.block;
  }

  private void rename(OwnFile from, OwnFile to) throws IOException {
    if (from == to || from.life == null) {
      return;
    }
    ledger.mayHold(from.name, null);
    ledger.mayHold(to.name, from.life);
    fs.rename(from.path(), to.path(), Options.Rename.OVERWRITE);
    ledger.holds(to.name, from.life);
    ledger.holds(from.name, null);
    to.life = from.life;
    to.version = from.version;
    to.block = from.block;
    from.life = null;
    from.version = Version.EMPTY;
    counts.add("renamed");
  }

  private void delete(OwnFile file) throws IOException {
    if (file.life == null) {
      return;
    }
    remove(file);
    counts.add("deleted");
  }

  private void remove(OwnFile file) throws IOException {
    ledger.mayHold(file.name, null);
    fs.delete(file.path(), false);
    ledger.holds(file.name, null);
    file.life = null;
    file.version = Version.EMPTY;
  }

  // ---- what HDFS refuses ------------------------------------------------------------------------

  /** Deletes the file: how much of the change was done is unknown. */
  private void refused(OwnFile file, IOException error) {
    counts.error("refused", error);
    boolean full = String.valueOf(error.getMessage()).contains("could only be written to 0");
    counts.complain(full ? "refused_for_room" : "refused_otherwise", file.name + ": " + error);
    try {
      remove(file);
    } catch (IOException again) {
      counts.complain("refused_otherwise", file.name + ": " + again);
    }
  }

  private long size() {
    double part = random.nextDouble();
    return 1 + (long) (part * part * plan.largest);
  }
}
