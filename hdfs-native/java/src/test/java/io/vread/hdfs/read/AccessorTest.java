// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import io.vread.Errno;
import io.vread.Eventually;
import io.vread.FakeClock;
import io.vread.FakeDaemon;
import io.vread.Protection;
import io.vread.Settings;
import io.vread.hdfs.locations.BlockKey;
import io.vread.hdfs.metrics.Statistics;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.hdfs.protocol.datatransfer.InvalidEncryptionKeyException;
import org.junit.Test;

/** Readers over the fake backend: what the stock client relies on. */
public class AccessorTest {
  private static final int LENGTH = 1_000_003;
  private static final BlockKey BLOCK = new BlockKey("nn", "BP-1", 1, 1001);

  private final FakeClock clock = new FakeClock();
  private final FakeDaemon daemon = new FakeDaemon(clock);
  private final FakeBackend backend = new FakeBackend();
  private final FakeBackend.Block block = new FakeBackend.Block(LENGTH);
  private final Statistics statistics = new Statistics();
  private final Client client =
      new Client(
          Settings.of(new Configuration(false)), backend, daemon, clock, 30_000, statistics);

  public AccessorTest() {
    backend.blocks.put(BLOCK, block);
  }

  private VreadReplicaAccessor reader(long visibleLength) {
    Client.Opened opened = client.open(Reads.of(BLOCK, visibleLength));
    assertNotNull(opened.refusal, opened.replica);
    return new VreadReplicaAccessor(
        client, Reads.of(BLOCK, visibleLength), opened.replica, null);
  }

  private String refusal() {
    return client.open(Reads.of(BLOCK, LENGTH)).refusal;
  }

  private byte[] content(int from, int to) {
    return Arrays.copyOfRange(block.content, from, to);
  }

  private static byte[] readAll(VreadReplicaAccessor reader, long from, int piece)
      throws IOException {
    byte[] result = new byte[LENGTH];
    int done = 0;
    int n;
    while ((n = reader.read(from + done, result, done, Math.min(piece, LENGTH - done))) > 0) {
      done += n;
    }
    return Arrays.copyOf(result, done);
  }

  /** Returns the exception of a read, which must fail. */
  private static IOException failure(VreadReplicaAccessor reader, Object dst) {
    try {
      if (dst instanceof ByteBuffer) {
        reader.read(0, (ByteBuffer) dst);
      } else {
        reader.read(0, (byte[]) dst, 0, ((byte[]) dst).length);
      }
    } catch (IOException e) {
      return e;
    }
    throw new AssertionError("the read did not fail");
  }

  @Test
  public void everyPieceSize() throws IOException {
    for (int piece : new int[] {7, 4096, 5000, 32 << 10, 100_000, LENGTH}) {
      VreadReplicaAccessor reader = reader(LENGTH);
      assertArrayEquals(block.content, readAll(reader, 0, piece));
      assertEquals(-1, reader.read(LENGTH, new byte[10], 0, 10));
      reader.close();
    }
    assertEquals("the cached one", 1, backend.openFiles());
  }

  @Test
  public void smallReadsAreFewCalls() throws IOException {
    VreadReplicaAccessor reader = reader(LENGTH);
    readAll(reader, 0, 4096);
    assertTrue("calls " + backend.reads, backend.reads <= 13);
    assertEquals(0, backend.preads);
    assertEquals((LENGTH + 4095) / 4096, statistics.getReads());
    assertEquals(LENGTH, statistics.getBytes());
    reader.close();
  }

  @Test
  public void backAndForth() throws IOException {
    Random random = new Random(3);
    VreadReplicaAccessor reader = reader(LENGTH);
    for (int round = 0; round < 2000; round++) {
      int at = random.nextInt(LENGTH);
      int length = Math.min(LENGTH - at, 1 + random.nextInt(random.nextBoolean() ? 50 : 50_000));
      byte[] dst = new byte[length + 2];
      int n = reader.read(at, dst, 1, length);
      assertEquals(length, n);
      assertArrayEquals(content(at, at + length), Arrays.copyOfRange(dst, 1, 1 + length));
      assertEquals(0, dst[0] | dst[length + 1]);
    }
    reader.close();
  }

  @Test
  public void buffersOfAllKindsMoveOn() throws IOException {
    ByteBuffer slice = ByteBuffer.allocate(300_000);
    slice.position(1000);
    for (ByteBuffer buffer :
        new ByteBuffer[] {
          ByteBuffer.allocate(250_000), ByteBuffer.allocateDirect(250_000), slice.slice()
        }) {
      for (int count : new int[] {100, 40_000, 200_000}) {
        VreadReplicaAccessor reader = reader(LENGTH);
        buffer.clear();
        buffer.position(17).limit(17 + count);
        assertEquals(count, reader.read(333, buffer));
        assertEquals(17 + count, buffer.position());
        assertEquals(17 + count, buffer.limit());
        buffer.position(17);
        byte[] got = new byte[count];
        buffer.get(got);
        assertArrayEquals(content(333, 333 + count), got);
        assertEquals(0, reader.read(0, buffer)); // full
        reader.close();
      }
    }
  }

  @Test
  public void aPositionalReadIsOneCallAndNoOpen() throws IOException {
    for (int i = 0; i < 100; i++) {
      int at = i * 1000;
      VreadReplicaAccessor reader = reader(at + 64);
      ByteBuffer dst = ByteBuffer.allocate(64);
      assertEquals(64, reader.read(at, dst));
      assertArrayEquals(content(at, at + 64), dst.array());
      assertEquals(0, reader.read(at + 64, dst));
      reader.close();
    }
    assertEquals(1, backend.opens);
    assertEquals(100, backend.preads);
    assertEquals(0, backend.reads);
  }

  @Test
  public void endsAtTheVisibleLength() throws IOException {
    VreadReplicaAccessor reader = reader(5000);
    byte[] dst = new byte[10_000];
    assertEquals(5000, reader.read(0, dst, 0, 10_000));
    assertArrayEquals(content(0, 5000), Arrays.copyOf(dst, 5000));
    assertEquals(0, dst[5000]);
    assertEquals(1, reader.read(4999, dst, 0, 100));
    assertEquals(-1, reader.read(5000, dst, 0, 100));
    assertEquals(-1, reader.read(5000, ByteBuffer.allocate(1)));
    assertEquals(0, reader.read(100, dst, 0, 0));
    reader.close();
  }

  @Test
  public void twoSequentialReadersHaveACursorEach() throws IOException {
    VreadReplicaAccessor one = reader(LENGTH);
    VreadReplicaAccessor two = reader(LENGTH);
    byte[] dst = new byte[50_000];
    for (int at = 0; at < 500_000; at += dst.length) {
      assertEquals(dst.length, one.read(at, dst, 0, dst.length));
      assertEquals(dst.length, two.read(at + 1, dst, 0, dst.length));
      assertArrayEquals(content(at + 1, at + 1 + dst.length), dst);
    }
    assertEquals(2, backend.opens);
    one.close();
    two.close();
    assertEquals(1, backend.openFiles());
    reader(LENGTH).close();
    assertEquals(2, backend.opens);
  }

  /**
   * Another reader has the cursor, and opening the replica again fails. The reader must read all
   * the same, and must not try to open again with every read.
   */
  @Test
  public void withoutASecondOpeningItGoesOnWithoutReadAhead() throws IOException {
    VreadReplicaAccessor one = reader(LENGTH);
    one.read(0, new byte[10], 0, 10);
    VreadReplicaAccessor two = reader(LENGTH);
    backend.openErrno = Errno.EIO;
    assertArrayEquals(block.content, readAll(two, 0, 4096));
    assertEquals(2, backend.opens);
    one.close();
    two.close();
  }

  /**
   * Reads fail with several errors. Arrays must get an IOException, buffers an
   * InvalidEncryptionKeyException, and the next build must be refused with the error's name.
   */
  @Test
  public void failuresAreWhatTheStockClientTakesWell() throws IOException {
    int[] errnos = {Errno.EIO, Errno.EBADE, Errno.EBADMSG, Errno.EPERM, Errno.ENODATA, 0};
    for (int errno : errnos) {
      for (Object dst : new Object[] {new byte[100], ByteBuffer.allocate(100)}) {
        VreadReplicaAccessor reader = reader(LENGTH);
        backend.readErrnos.add(errno);
        Class<?> expected =
            dst instanceof ByteBuffer ? InvalidEncryptionKeyException.class : IOException.class;
        IOException e = failure(reader, dst);
        assertSame(expected, e.getClass());
        String name = Errno.name(errno == 0 ? Errno.EIO : errno);
        assertTrue(e.getMessage(), e.getMessage().contains(name));
        assertEquals("the next build", name, refusal());
        reader.close();
        daemon.pass(60_000);
      }
    }
    assertEquals(2 * errnos.length, statistics.getFailures());
    assertEquals(Long.valueOf(2), statistics.getFailureReasons().get("EBADE"));
  }

  /** The error is behind bytes that can be read: first a short read, then the exception. */
  @Test
  public void anUnpleasantMiddleIsAShortReadFirst() throws IOException {
    VreadReplicaAccessor reader = reader(LENGTH);
    byte[] dst = new byte[50_000];
    assertEquals(100, reader.read(0, dst, 0, 100)); // fills a buffer of 8 KiB
    backend.readErrnos.add(Errno.EIO);
    int n = reader.read(100, dst, 0, dst.length);
    assertEquals((8 << 10) - 100, n);
    assertArrayEquals(content(100, 8 << 10), Arrays.copyOf(dst, n));
    backend.readErrnos.add(Errno.EIO);
    try {
      reader.read(8 << 10, dst, 0, dst.length);
      fail();
    } catch (IOException e) {
      assertSame(IOException.class, e.getClass());
    }
    reader.close();
  }

  @Test
  public void aChangedReplicaIsOpenedAgainOnce() throws IOException {
    VreadReplicaAccessor reader = reader(LENGTH);
    byte[] dst = new byte[50_000];
    reader.read(0, dst, 0, dst.length);
    backend.readErrnos.add(Errno.EAGAIN);
    assertEquals(dst.length, reader.read(dst.length, dst, 0, dst.length));
    assertArrayEquals(content(dst.length, 2 * dst.length), dst);
    assertEquals(2, backend.opens);
    assertNull(refusal());
    backend.readErrnos.add(Errno.EAGAIN);
    backend.readErrnos.add(Errno.EAGAIN);
    assertSame(IOException.class, failure(reader, dst).getClass());
    assertEquals("EAGAIN", refusal());
    reader.close();
  }

  /** The replica changed and cannot be opened again: the read must fail, and nothing stay open. */
  @Test
  public void aReplicaThatIsGoneIsNot() throws IOException {
    VreadReplicaAccessor reader = reader(LENGTH);
    backend.readErrnos.add(Errno.EAGAIN);
    backend.blocks.remove(BLOCK);
    assertSame(
        InvalidEncryptionKeyException.class,
        failure(reader, ByteBuffer.allocateDirect(10)).getClass());
    assertEquals("EAGAIN", refusal());
    reader.close();
    assertEquals(0, backend.openFiles());
  }

  /** One reader loses the connection. The other must fail without a call of the backend. */
  @Test
  public void aLostBackendFailsEachReaderOnceWithoutAsking() throws IOException {
    VreadReplicaAccessor one = reader(LENGTH);
    VreadReplicaAccessor two = reader(LENGTH);
    backend.readErrnos.add(Errno.ENOTCONN);
    assertTrue(failure(one, new byte[10]).getMessage().contains("ENOTCONN"));
    int calls = backend.reads + backend.preads;
    assertTrue(failure(two, new byte[10]).getMessage().contains("ENOTCONN"));
    assertEquals(calls, backend.reads + backend.preads);
    one.close();
    two.close();
    assertEquals(0, backend.openFiles());
    assertEquals(0, backend.openConnections());
    assertEquals("ENOTCONN", refusal());
    daemon.pass(1000);
    reader(LENGTH).close();
  }

  @Test
  public void aReaderThatSleptThroughARestartGoesOn() throws IOException {
    VreadReplicaAccessor sleeper = reader(LENGTH);
    VreadReplicaAccessor reader = reader(LENGTH);
    backend.readErrnos.add(Errno.ENOTCONN);
    failure(reader, new byte[10]);
    reader.close();
    daemon.pass(1000);
    byte[] dst = new byte[100];
    assertEquals(100, sleeper.read(5, dst, 0, 100));
    assertArrayEquals(content(5, 105), dst);
    sleeper.close();
    assertEquals(1, backend.openConnections());
  }

  /**
   * One reader's call times out. Other readers and builders must fail without a call of the
   * backend.
   */
  @Test
  public void aHungBackendIsWaitedForOnce() throws IOException {
    VreadReplicaAccessor one = reader(LENGTH);
    VreadReplicaAccessor two = reader(LENGTH);
    backend.pingErrno = Errno.ETIME;
    backend.readErrnos.add(Errno.ETIME);
    daemon.holdBack();
    failure(one, new byte[10]);
    int calls = backend.reads + backend.preads + backend.opens;
    failure(two, new byte[10]);
    assertEquals("ETIME", refusal());
    BlockKey other = new BlockKey("nn", "BP-1", 2, 1);
    backend.blocks.put(other, block);
    assertEquals("backoff", client.open(Reads.of(other, 10)).refusal);
    assertEquals(calls, backend.reads + backend.preads + backend.opens);
    daemon.goOn();
    one.close();
    two.close();
    assertEquals(0, backend.openConnections());
  }

  @Test
  public void refusalsOfTheBackend() {
    for (int errno : new int[] {Errno.EBUSY, Errno.EACCES, Errno.ENODEV, Errno.EEXIST}) {
      backend.openErrno = errno;
      assertEquals(Errno.name(errno), refusal());
      clock.pass(10_000);
    }
    backend.openErrno = 0;
    assertEquals("ERANGE", client.open(Reads.of(BLOCK, LENGTH + 1)).refusal);
    backend.openErrno = Errno.ENOTCONN;
    clock.pass(10_000);
    assertEquals("ENOTCONN", refusal());
    assertEquals("backoff", refusal());
  }

  @Test
  public void aReplicaThatGrewIsOpenedAgain() throws IOException {
    VreadReplicaAccessor small = reader(10);
    FakeBackend.Block grown = new FakeBackend.Block(LENGTH + 100);
    backend.blocks.put(BLOCK, grown);
    VreadReplicaAccessor large = reader(LENGTH + 100);
    byte[] dst = new byte[100];
    assertEquals(100, large.read(LENGTH, dst, 0, 100));
    assertArrayEquals(Arrays.copyOfRange(grown.content, LENGTH, LENGTH + 100), dst);
    small.close();
    large.close();
    assertEquals(1, backend.openFiles());
  }

  @Test
  public void underConstructionItIsOpenedAsFarAsAskedFor() throws IOException {
    block.flags = 0;
    VreadReplicaAccessor reader = reader(1000);
    assertEquals(1000, backend.lastOpenLength);
    assertEquals(1000, reader.read(0, new byte[2000], 0, 2000));
    reader.close();
    assertEquals("not kept", 0, backend.openFiles());
  }

  /** The pool has no room for a small share: builders must be refused. */
  @Test
  public void withoutAnyRoomInThePoolItIsRefused() {
    backend.allPool = PoolShare.SMALL_BYTES - 1;
    assertEquals("ENOSPC", refusal());
    assertEquals(1, backend.connects);
    assertEquals("backoff", refusal());
  }

  @Test
  public void tokenAndStoragesArePassedOn() {
    byte[] token = {5, 1, 2, 3, 4, 5, 0, 0, 0};
    BlockRead read = Reads.of(BLOCK, LENGTH, token, null);
    Client.Opened opened = client.open(read);
    assertSame(token, backend.lastToken);
    assertSame(read.storages(), backend.lastStorages);
    client.another(read, opened.replica).release();
    assertSame(read.storages(), backend.lastStorages);
    opened.replica.release();
  }

  /** A cloned cluster has other bytes under the same name: what is open must not be shared. */
  @Test
  public void openReplicasAreSharedOnlyWithinACluster() {
    client.open(Reads.of(BLOCK, LENGTH)).replica.release();
    client.open(Reads.of(BLOCK, LENGTH)).replica.release();
    assertEquals(1, backend.opens);
    BlockKey clone = new BlockKey("clone", BLOCK.pool(), BLOCK.id(), BLOCK.generationStamp());
    backend.blocks.put(clone, block);
    client.open(Reads.of(clone, LENGTH)).replica.release();
    assertEquals(2, backend.opens);
    BlockRead moved =
        new BlockRead(
            Reads.context(clock),
            BLOCK,
            LENGTH,
            null,
            Reads.location(BLOCK, Reads.ELSEWHERE, "DS-2"),
            null,
            false,
            Protection.AUTHENTICATION);
    client.open(moved).replica.release();
    assertEquals("another storage", 3, backend.opens);
  }

  /** Without the NameNode's word on encryption, bytes of other hosts must come encrypted. */
  @Test
  public void whatIsNotKnownIsEncrypted() {
    client.open(Reads.of(BLOCK, LENGTH)).replica.release();
    assertEquals(Protection.PRIVACY, backend.lastProtection);
  }

  @Test
  public void statisticsSayLocalUnlessItIsNot() throws IOException {
    VreadReplicaAccessor local = reader(LENGTH);
    assertTrue(local.isLocal() && local.isShortCircuit() && local.getNetworkDistance() == 0);
    local.close();
    BlockKey other = new BlockKey("nn", "BP-1", 2, 1);
    backend.blocks.put(other, new FakeBackend.Block(10));
    backend.blocks.get(other).flags |= Backend.FLAG_REMOTE;
    VreadReplicaAccessor remote =
        new VreadReplicaAccessor(
            client, Reads.of(other, 10), client.open(Reads.of(other, 10)).replica, null);
    assertFalse(remote.isLocal() || remote.isShortCircuit());
    assertEquals(Integer.MAX_VALUE, remote.getNetworkDistance());
    remote.close();
  }

  private final class FakeStock extends FakeStockReader {
    IOException failure;

    FakeStock() {
      super(block, 1000);
    }

    @Override
    public int read(long position, byte[] dst, int offset, int length) throws IOException {
      if (failure != null) {
        throw failure;
      }
      return super.read(position, dst, offset, length);
    }
  }

  private VreadReplicaAccessor readerWith(FakeStock stock, BlockKey key) {
    backend.blocks.put(key, block);
    BlockRead read = Reads.of(key, LENGTH, null, end -> stock);
    return new VreadReplicaAccessor(client, read, client.open(read).replica, null);
  }

  /** The stock client must see no failure, for which it would blame a datanode or log one. */
  @Test
  public void aReaderGoesOnByStock() throws IOException {
    FakeStock stock = new FakeStock();
    VreadReplicaAccessor reader = readerWith(stock, BLOCK);
    byte[] dst = new byte[50_000];
    assertEquals(dst.length, reader.read(0, dst, 0, dst.length));
    assertTrue(reader.isShortCircuit());
    backend.readErrnos.add(Errno.ENOTCONN);
    ByteBuffer buffer = ByteBuffer.allocate(1500);
    assertEquals(1000, reader.read(dst.length, buffer));
    assertEquals(500, reader.read(dst.length + 1000, buffer));
    assertArrayEquals(content(dst.length, dst.length + 1500), buffer.array());
    assertFalse(reader.isShortCircuit() || reader.isLocal());
    assertEquals(4, reader.getNetworkDistance());
    assertEquals(1, statistics.getFailures());
    assertEquals("no longer counted", dst.length, statistics.getBytes());
    assertEquals(0, backend.openFiles());
    reader.close();
    assertFalse(stock.open);
  }

  /**
   * The stock reader fails, too. The stock client has chosen a datanode, perhaps another one: it
   * must make a reader of its own, and take no replica for corrupt that it has not read.
   */
  @Test
  public void aReaderWhoseStockReaderFails() throws IOException {
    FakeStock stock = new FakeStock();
    stock.failure = new ChecksumException("of another replica, perhaps", 7);
    VreadReplicaAccessor reader = readerWith(stock, BLOCK);
    backend.readErrnos.add(Errno.EIO);
    assertSame(
        InvalidEncryptionKeyException.class, failure(reader, ByteBuffer.allocate(5)).getClass());
    assertEquals("EIO", refusal());
    assertSame(IOException.class, failure(reader, new byte[5]).getClass());
    reader.close();
    assertFalse(stock.open);
  }

  /** An internal block of a group has one replica: its failure is that of this replica. */
  @Test
  public void aReaderOfAStripedFilePassesFailuresOn() throws IOException {
    FakeStock stock = new FakeStock();
    stock.failure = new ChecksumException("as the stock client finds it", 7);
    VreadReplicaAccessor reader = readerWith(stock, new BlockKey("nn", "BP-1", -16, 1001));
    backend.readErrnos.add(Errno.EIO);
    assertSame(stock.failure, failure(reader, ByteBuffer.allocate(5)));
    reader.close();
  }

  /** As a stock reader: the flag stays, and nobody is blamed. */
  @Test
  public void anInterruptEndsARead() throws IOException {
    FakeStock stock = new FakeStock();
    VreadReplicaAccessor reader = readerWith(stock, BLOCK);
    byte[] dst = new byte[100];
    assertEquals(100, reader.read(60_000, dst, 0, 100));
    Thread.currentThread().interrupt();
    assertSame(InterruptedIOException.class, failure(reader, new byte[50_000]).getClass());
    assertSame(
        InterruptedIOException.class, failure(reader, ByteBuffer.allocate(50_000)).getClass());
    assertTrue("the flag", Thread.interrupted());
    backend.readErrnos.add(Errno.EINTR); // while it waited
    assertSame(InterruptedIOException.class, failure(reader, new byte[50_000]).getClass());
    assertEquals(0, statistics.getFailures());
    assertNull(refusal());
    assertEquals(50_000, reader.read(0, new byte[50_000], 0, 50_000));
    reader.close();
  }

  @Test
  public void closedTwiceAndReadAfterwards() throws IOException {
    VreadReplicaAccessor reader = reader(LENGTH);
    reader.close();
    reader.close();
    assertSame(IOException.class, failure(reader, new byte[10]).getClass());
    assertSame(
        InvalidEncryptionKeyException.class, failure(reader, ByteBuffer.allocate(10)).getClass());
    assertNull("a closed reader blames no block", refusal());
  }

  @Test
  public void closeDoesNotWaitForARunningRead() throws Exception {
    VreadReplicaAccessor reader = reader(LENGTH);
    client.open(Reads.of(BLOCK, LENGTH)).replica.release();
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch closed = new CountDownLatch(1);
    backend.duringRead =
        () -> {
          inside.countDown();
          try {
            closed.await();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        };
    byte[] dst = new byte[LENGTH];
    int[] result = new int[1];
    Thread thread =
        new Thread(
            () -> {
              try {
                result[0] = reader.read(0, dst, 0, LENGTH);
              } catch (IOException e) {
                result[0] = -2;
              }
            });
    thread.start();
    inside.await();
    reader.close(); // here it would wait
    daemon.pass(100_000); // the cache lets go, the running read does not
    assertEquals(1, backend.openFiles());
    closed.countDown();
    thread.join();
    assertEquals(LENGTH, result[0]);
    assertArrayEquals(block.content, dst);
    daemon.pass(100_000);
    assertEquals(0, backend.openFiles());
  }

  @Test
  public void aReaderNobodyClosedIsLetGo() throws Exception {
    readAndForget();
    Eventually.until(
        () -> {
          System.gc();
          daemon.pass(100_000);
          return backend.openFiles() == 0;
        },
        () -> backend.openFiles() + " open files");
  }

  private void readAndForget() throws IOException {
    reader(LENGTH).read(0, new byte[100], 0, 100);
  }

  /**
   * The array or buffer cannot take the bytes. The reader must throw what a stock reader throws,
   * and no IOException, for which the stock client blames a datanode.
   */
  @Test
  public void arraysAndBuffersThatCannotTakeTheBytesAreTheCallersMistake() throws IOException {
    VreadReplicaAccessor reader = reader(LENGTH);
    byte[] dst = new byte[10];
    int[][] ranges = {
      {-1, 5}, {-1, 0}, {-5, 15}, {Integer.MIN_VALUE, 1}, {0, 11}, {11, 0}, {5, Integer.MAX_VALUE},
      {0, -1}, {-1, -1}
    };
    for (int[] range : ranges) {
      assertThrows(
          range[1] + " bytes at " + range[0],
          IndexOutOfBoundsException.class,
          () -> reader.read(0, dst, range[0], range[1]));
    }
    assertThrows(NullPointerException.class, () -> reader.read(0, null, 0, 1));
    for (ByteBuffer buffer :
        new ByteBuffer[] {ByteBuffer.allocate(LENGTH), ByteBuffer.allocateDirect(LENGTH)}) {
      ByteBuffer readOnly = buffer.asReadOnlyBuffer();
      assertThrows(ReadOnlyBufferException.class, () -> reader.read(0, readOnly));
      assertEquals(0, readOnly.position());
    }
    assertEquals("nothing was read", 0, backend.reads + backend.preads);
    assertEquals(-1, reader.read(-1, dst, 0, 10));
    assertEquals(10, reader.read(0, dst, 0, 10));
    assertArrayEquals(content(0, 10), dst);
    assertEquals(0, reader.read(0, dst, 10, 0));
    reader.close();
    assertNull(refusal());
    assertEquals(0, statistics.getFailures());
  }
}
