// SPDX-License-Identifier: Apache-2.0
package io.vread.field;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.vread.hdfs.VreadReplicaAccessorBuilder;
import io.vread.hdfs.metrics.ClientProcess;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.ReplicaAccessor;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenIdentifier;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.token.Token;

/**
 * Reads one block through the client plug-in, in a JVM that a test has made peculiar, and prints
 * what came of it. There is no HDFS: a block token says where the block is. arguments: what to do;
 * endpoint, pool, id, stamp, storage and length of the block; properties, as NAME=VALUE.
 */
public final class FieldReader {
  private static final int PIECE = 100_000;
  private static final long CLOEXEC = 02000000;

  private final String[] name;
  private final Configuration conf = new Configuration(false);

  private FieldReader(String[] name) {
    this.name = name;
    conf.set("io.vread.endpoint", name[1]);
    for (int i = 7; i < name.length; i++) {
      String[] property = name[i].split("=", 2);
      if (property.length == 2) {
        conf.set(property[0], property[1]);
      } else { // a file; its endpoint is used
        conf.unset("io.vread.endpoint");
        conf.addResource(new org.apache.hadoop.fs.Path(name[i]));
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    FieldReader reader = new FieldReader(arguments);
    switch (arguments[0]) {
      case "read":
        System.out.println(reader.read());
        break;
      case "read-and-count":
        System.out.println(reader.read());
        System.out.println(ClientProcess.get().statistics().json());
        break;
      case "descriptors": // that a program inherits which is executed
        System.out.println(reader.read());
        System.out.println(inherited());
        break;
      case "threads":
        System.out.println(reader.readInThreads(Executors.newFixedThreadPool(16)));
        break;
      case "virtual-threads": // Java 21 and later
        System.out.println(
            reader.readInThreads(
                (ExecutorService)
                    Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null)));
        break;
      case "shutdown-hook":
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println(reader.read())));
        break;
      case "edges":
        reader.readEdges();
        break;
      case "closed":
        reader.readClosed();
        break;
      case "abandoned":
        System.out.println(reader.abandon());
        System.in.read();
        do { // until the test has seen what it waits for
          System.gc();
          System.out.println(reader.read());
        } while (System.in.read() >= 0);
        break;
      case "child": // what a child process has open
        System.out.println(reader.read());
        new ProcessBuilder("ls", "-l", "/proc/self/fd").inheritIO().start().waitFor();
        break;
      case "buffers":
        System.out.println(reader.readByBuffers());
        break;
      default:
        throw new IllegalArgumentException(arguments[0]);
    }
  }

  private ReplicaAccessor open(long visible) throws IOException {
    return new VreadReplicaAccessorBuilder()
        .setFileName("/file")
        .setBlock(Long.parseLong(name[3]), name[2])
        .setGenerationStamp(Long.parseLong(name[4]))
        .setVisibleLength(visible)
        .setVerifyChecksum(true)
        .setClientName("field")
        .setAllowShortCircuitReads(false)
        .setConfiguration(conf)
        .setBlockAccessToken(token())
        .build();
  }

  private byte[] token() throws IOException {
    BlockTokenIdentifier identifier =
        new BlockTokenIdentifier(
            "field",
            name[2],
            Long.parseLong(name[3]),
            EnumSet.of(BlockTokenIdentifier.AccessMode.READ),
            new StorageType[] {StorageType.DISK},
            new String[] {name[5]},
            true);
    identifier.setExpiryDate(Long.MAX_VALUE);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    new Token<BlockTokenIdentifier>(
            identifier.getBytes(), new byte[20], identifier.getKind(), new Text(""))
        .write(new DataOutputStream(bytes));
    return bytes.toByteArray();
  }

  private long length() {
    return Long.parseLong(name[6]);
  }

  /** The CRC32 of the block, or why it was not read through vRead. */
  private String read() {
    try {
      ReplicaAccessor accessor = open(length());
      if (accessor == null) {
        return "refused " + ClientProcess.get().statistics().getFallbackReasons().keySet();
      }
      CRC32 sum = new CRC32();
      byte[] piece = new byte[PIECE];
      for (long at = 0; at < length(); ) {
        int count = accessor.read(at, piece, 0, PIECE);
        sum.update(piece, 0, count);
        at += count;
      }
      accessor.close();
      return Long.toString(sum.getValue());
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Reads at and beyond both ends of the block. */
  private void readEdges() throws IOException {
    ReplicaAccessor accessor = open(length());
    byte[] piece = new byte[PIECE];
    for (long at : new long[] {length() - 1, length(), length() + 1, Long.MAX_VALUE, -1}) {
      System.out.println(accessor.read(at, piece, 0, PIECE));
    }
    System.out.println(accessor.read(0, piece, 7, 0) + " " + accessor.read(length(), piece, 0, 0));
    for (int[] range : new int[][] {{-1, 10}, {0, PIECE + 1}, {PIECE, 1}, {Integer.MAX_VALUE, 2}}) {
      System.out.println(thrown(() -> accessor.read(0, piece, range[0], range[1])));
    }
    ByteBuffer readOnly = ByteBuffer.allocateDirect(10).asReadOnlyBuffer();
    System.out.println(thrown(() -> accessor.read(0, readOnly)));
    accessor.close();
  }

  /** Closes a reader twice, reads it afterwards, and reads the same block by others meanwhile. */
  private void readClosed() throws Exception {
    ReplicaAccessor accessor = open(length());
    ReplicaAccessor neighbour = open(length());
    byte[] piece = new byte[PIECE];
    accessor.read(0, piece, 0, PIECE);
    accessor.close();
    accessor.close();
    System.out.println(thrown(() -> accessor.read(0, piece, 0, PIECE)));
    System.out.println(thrown(() -> accessor.read(0, ByteBuffer.allocate(10))));
    System.out.println(neighbour.read(0, piece, 0, PIECE));
    neighbour.close();
    System.out.println(read());
  }

  private static String thrown(Callable<Integer> call) {
    try {
      return call.call().toString();
    } catch (Exception e) {
      return e.getClass().getSimpleName();
    }
  }

  /** Opens the block a hundred times, reads a little, and closes nothing. */
  private int abandon() throws IOException {
    int read = 0;
    for (int i = 0; i < 100; i++) {
      read += open(length()).read(i, new byte[1], 0, 1);
    }
    return read;
  }

  /** What this process has of vRead that a program would inherit by exec. */
  private static List<String> inherited() throws IOException {
    String sockets = new String(Files.readAllBytes(Paths.get("/proc/net/unix")), US_ASCII);
    List<String> found = new ArrayList<>();
    for (File each : new File("/proc/self/fd").listFiles()) {
      String target;
      String flags;
      try {
        target = Files.readSymbolicLink(each.toPath()).toString();
        Path info = Paths.get("/proc/self/fdinfo", each.getName());
        flags = new String(Files.readAllBytes(info), US_ASCII);
      } catch (IOException e) { // the one of listFiles()
        continue;
      }
      long bits = Long.parseLong(flags.replaceAll("(?s).*flags:\\s*(\\d+).*", "$1"), 8);
      String inode = target.replaceAll("\\D", "");
      boolean ours = target.matches("socket:.*") // of type SOCK_SEQPACKET
          ? sockets.matches("(?s).* 0005 \\d+ +" + inode + "\\b.*")
          : target.matches(".*eventfd.*|/memfd:.*|.*vread_jni.*");
      if (ours) {
        found.add((bits & CLOEXEC) == 0 ? "inherited " + target : "closed");
      }
    }
    return found;
  }

  private String readInThreads(ExecutorService threads) throws Exception {
    List<Callable<String>> tasks = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      tasks.add(this::read);
    }
    String all = null;
    for (Future<String> result : threads.invokeAll(tasks)) {
      if (all != null && !all.equals(result.get())) {
        return all + " and " + result.get();
      }
      all = result.get();
    }
    threads.shutdown();
    return all;
  }

  /**
   * Reads into slices of buffers, as position and limit say. Prints the CRC32, and whether a byte
   * outside was changed.
   */
  private String readByBuffers() throws IOException {
    CRC32 sum = new CRC32();
    boolean outside = false;
    int place = 0;
    ReplicaAccessor accessor = open(length());
    for (long at = 0; at < length(); place++) {
      ByteBuffer whole =
          place % 2 == 0 ? ByteBuffer.allocateDirect(PIECE + 64) : ByteBuffer.allocate(PIECE + 64);
      whole.position(7);
      ByteBuffer slice = whole.slice();
      slice.position(13).limit(13 + (place % 3 == 0 ? 1000 : PIECE - 13));
      int count = accessor.read(at, slice);
      at += count;
      outside |= slice.position() != 13 + count || slice.limit() > PIECE;
      whole.clear();
      for (int i = 0; i < whole.capacity(); i++) {
        boolean inside = i >= 20 && i < 20 + count;
        outside |= !inside && whole.get(i) != 0;
      }
      whole.position(20).limit(20 + count);
      sum.update(whole);
    }
    accessor.close();
    return sum.getValue() + " " + outside;
  }
}
