// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Errno;
import io.vread.Protection;
import io.vread.hdfs.locations.BlockKey;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A libvread of made-up blocks for tests. The test sets its failures. It throws on every misuse:
 * use after close, a second close, a disconnect with files open, a read outside the block or
 * buffer.
 */
public final class FakeBackend implements Backend {
  public static final class Block {
    public final byte[] content;
    public int flags = FLAG_FINALIZED;

    public Block(int length) {
      content = new byte[length];
      for (int i = 0; i < length; i++) {
        content[i] = (byte) (i * 31 + (i >> 8) * 7);
      }
    }
  }

  private static final class File {
    final long connection;
    final Block block;
    final long visibleLength;

    File(long connection, Block block, long visibleLength) {
      this.connection = connection;
      this.block = block;
      this.visibleLength = visibleLength;
    }
  }

  public final Map<BlockKey, Block> blocks = new HashMap<>();

  private final Map<Long, File> files = new HashMap<>();
  private final Map<Long, Long> connections = new HashMap<>(); // with their shares of the pool
  private long next = 100;

  int connectErrno;
  long allPool = Long.MAX_VALUE;
  long lastPool;
  int pingErrno;
  int openErrno;
  public final Deque<Integer> readErrnos = new ArrayDeque<>();
  public Runnable duringRead = () -> {};
  public Runnable duringOpen = () -> {};
  public volatile int errnoAfterRead;

  int connects;
  int pings;
  public int opens;
  public int reads;
  public int preads;
  long lastOpenLength;
  byte[][] lastStorages;
  byte[] lastToken;
  Protection lastProtection;

  public synchronized int openFiles() {
    return files.size();
  }

  synchronized int openConnections() {
    return connections.size();
  }

  /** The shares of the open connections, oldest first. */
  synchronized List<Long> shares() {
    return new ArrayList<>(new TreeMap<>(connections).values());
  }

  @Override
  public synchronized long connect(String endpoint, long pool, int timeoutMs, int readahead) {
    connects++;
    lastPool = pool;
    long used = connections.values().stream().mapToLong(Long::longValue).sum();
    if (connectErrno != 0 || pool > allPool - used) {
      return connectErrno != 0 ? connectErrno : Errno.ENOSPC;
    }
    connections.put(++next, pool);
    return next;
  }

  @Override
  public synchronized void disconnect(long connection) {
    for (File file : files.values()) {
      check(file.connection != connection, "disconnected with a file open");
    }
    check(connections.remove(connection) != null, "no such connection");
  }

  @Override
  public synchronized int ping(long connection) {
    check(connections.containsKey(connection), "no such connection");
    pings++;
    return pingErrno;
  }

  @Override
  public long open(
      long connection,
      BlockKey key,
      long visibleLength,
      byte[][] storageIds,
      byte[] token,
      Protection protection) {
    synchronized (this) {
      opens++;
    }
    duringOpen.run();
    return openNow(connection, key, visibleLength, storageIds, token, protection);
  }

  private synchronized long openNow(
      long connection,
      BlockKey key,
      long visibleLength,
      byte[][] storageIds,
      byte[] token,
      Protection protection) {
    check(connections.containsKey(connection), "no such connection");
    lastOpenLength = visibleLength;
    lastStorages = storageIds;
    lastToken = token;
    lastProtection = protection;
    Block block = blocks.get(key);
    if (openErrno != 0 || block == null) {
      return openErrno != 0 ? openErrno : Errno.ENOENT;
    }
    if (block.content.length < visibleLength) {
      return Errno.ERANGE;
    }
    long end = visibleLength == 0 ? block.content.length : visibleLength;
    files.put(++next, new File(connection, block, end));
    return next;
  }

  @Override
  public synchronized void close(long file) {
    check(files.remove(file) != null, "no such file");
  }

  @Override
  public synchronized long length(long file) {
    return files.get(file).visibleLength;
  }

  @Override
  public synchronized int flags(long file) {
    return files.get(file).block.flags;
  }

  @Override
  public int read(long file, long position, ByteBuffer dst, int length) {
    reads++;
    return get(file, position, part(dst, length));
  }

  @Override
  public int pread(long file, long position, ByteBuffer dst, int length) {
    preads++;
    return get(file, position, part(dst, length));
  }

  private static ByteBuffer part(ByteBuffer dst, int length) {
    check(dst.isDirect() || dst.hasArray(), "native code cannot reach the buffer");
    ByteBuffer part = dst.duplicate();
    part.limit(dst.position() + length);
    return part;
  }

  private int get(long number, long position, ByteBuffer dst) {
    File file;
    synchronized (this) {
      file = files.get(number);
      check(file != null, "no such file");
      if (!readErrnos.isEmpty()) {
        return readErrnos.poll();
      }
    }
    duringRead.run();
    if (errnoAfterRead != 0) {
      return errnoAfterRead;
    }
    int count = (int) Math.min(dst.remaining(), Math.max(0, file.visibleLength - position));
    dst.put(file.block.content, (int) position, count);
    synchronized (this) {
      check(files.get(number) == file, "closed while it was read");
    }
    return count;
  }

  private static void check(boolean condition, String complaint) {
    if (!condition) {
      throw new AssertionError(complaint);
    }
  }
}
