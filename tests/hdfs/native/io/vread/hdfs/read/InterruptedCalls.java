// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Errno;
import io.vread.NativeLibrary;
import io.vread.Protection;
import io.vread.hdfs.locations.BlockKey;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.function.LongSupplier;
import java.util.zip.CRC32;

/**
 * Interrupts each of the native calls that wait for the backend. Prints "open" when a block is
 * open, and reads a line: the caller stops the backend meanwhile. Then each call must end although
 * the backend answers nothing. Prints the results, reads another line, and reads the block.
 */
public final class InterruptedCalls {
  private static final int NEVER_MS = 600_000_000;
  private static final int PIECE = 64 << 10;

  private InterruptedCalls() {}

  /** arguments: the library, the endpoint, and pool, id, stamp and storage of a block. */
  public static void main(String[] arguments) throws Exception {
    if (!NativeLibrary.load(arguments[0]).usable()) {
      throw new IllegalStateException("no library");
    }
    Backend backend = NativeBackend.INSTANCE;
    long connection = backend.connect(arguments[1], 8 << 20, NEVER_MS, 1);
    BlockKey block =
        new BlockKey(
            "nn", arguments[2], Long.parseLong(arguments[3]), Long.parseLong(arguments[4]));
    byte[][] storages = {arguments[5].getBytes(StandardCharsets.US_ASCII)};
    LongSupplier open =
        () -> backend.open(connection, block, 0, storages, null, Protection.AUTHENTICATION);
    long file = open.getAsLong();
    if (file < 0) {
      throw new IllegalStateException("open: " + Errno.name((int) file));
    }
    System.out.println("open");
    System.in.read();

    ByteBuffer array = ByteBuffer.allocate(PIECE);
    ByteBuffer direct = ByteBuffer.allocateDirect(PIECE);
    Map<String, LongSupplier> calls = new LinkedHashMap<>();
    calls.put("open", open);
    calls.put("read", () -> backend.read(file, 0, array, PIECE));
    calls.put("readDirect", () -> backend.read(file, PIECE, direct, PIECE));
    calls.put("pread", () -> backend.pread(file, 0, array, PIECE));
    calls.put("preadDirect", () -> backend.pread(file, 0, direct, PIECE));
    for (Map.Entry<String, LongSupplier> call : calls.entrySet()) {
      System.out.println(call.getKey() + " before: " + interrupted(call.getValue(), true));
      System.out.println(call.getKey() + " meanwhile: " + interrupted(call.getValue(), false));
    }
    System.in.read();

    CRC32 sum = new CRC32();
    for (long at = 0; at < backend.length(file); at += PIECE) {
      sum.update(array.array(), 0, backend.pread(file, at, array, PIECE));
    }
    backend.close(file);
    backend.disconnect(connection);
    System.out.println(sum.getValue());
  }

  /** The result of a call whose thread is interrupted before it or in it, and the thread's flag. */
  private static String interrupted(LongSupplier call, boolean before) throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    String[] result = new String[1];
    Thread thread =
        new Thread(
            () -> {
              if (before) {
                Thread.currentThread().interrupt();
              }
              begun.countDown();
              String name = Errno.name((int) call.getAsLong());
              result[0] = name + " " + Thread.currentThread().isInterrupted();
            });
    thread.start();
    begun.await();
    if (!before) {
      thread.interrupt();
    }
    thread.join();
    return result[0];
  }
}
