// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import io.vread.Errno;
import io.vread.FakeClock;
import io.vread.FakeDaemon;
import io.vread.Settings;
import io.vread.hdfs.locations.BlockKey;
import io.vread.hdfs.metrics.Statistics;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.junit.Test;

/**
 * How much of the pool a client has ({@link PoolShare}), and that readers do not notice when it
 * changes.
 */
public class PoolShareTest {
  private static final long SMALL = PoolShare.SMALL_BYTES;
  private static final long FULL = 4 << 20;
  private static final long IDLE_MS = 30_000;
  private static final int PIECE = 64 << 10;
  private static final int LENGTH = 3 << 20;
  private static final BlockKey BLOCK = new BlockKey("nn", "BP-1", 1, 1001);

  private final FakeClock clock = new FakeClock();
  private final FakeDaemon daemon = new FakeDaemon(clock);
  private final FakeBackend backend = new FakeBackend();
  private final FakeBackend.Block block = new FakeBackend.Block(LENGTH);
  private final Statistics statistics = new Statistics();

  public PoolShareTest() {
    backend.blocks.put(BLOCK, block);
  }

  // ---- the decision ----------------------------------------------------------------------------

  private final PoolShare share = new PoolShare(FULL, clock, IDLE_MS);

  /** Reads bytes in small pieces. Returns how many readers were told to grow. */
  private int told(long bytes) {
    int told = 0;
    for (long done = 0; done < bytes; done += 4096) {
      told += share.read(4096) ? 1 : 0;
    }
    return told;
  }

  @Test
  public void oneReaderIsToldWhenEnoughIsRead() {
    share.small();
    assertEquals(0, told(PoolShare.ENOUGH_BYTES - 4096));
    assertEquals(1, told(4096));
    assertEquals(0, told(10 * PoolShare.ENOUGH_BYTES));
    share.full();
    assertEquals(0, told(10 * PoolShare.ENOUGH_BYTES));
    share.small();
    assertEquals(0, told(PoolShare.ENOUGH_BYTES - 4096));
    assertEquals(1, told(4096));
  }

  @Test
  public void aRefusalIsFollowedByPausesThatGrow() {
    share.small();
    assertEquals(1, told(PoolShare.ENOUGH_BYTES));
    for (long pause : new long[] {1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000}) {
      share.refused();
      clock.pass(pause - 1);
      assertEquals("before " + pause, 0, told(PoolShare.ENOUGH_BYTES));
      clock.pass(1);
      assertEquals("after " + pause, 1, told(4096));
    }
  }

  @Test
  public void idleIsWhoDoesNotRead() {
    share.small();
    told(PoolShare.ENOUGH_BYTES);
    share.full();
    assertFalse(share.idle());
    clock.pass(IDLE_MS - 1);
    assertFalse(share.idle());
    clock.pass(1);
    assertTrue(share.idle());
    told(4096);
    assertFalse(share.idle());
  }

  @Test
  public void whoHasConfiguredASmallShareKeepsIt() {
    for (long bytes : new long[] {64 << 10, SMALL}) {
      PoolShare modest = new PoolShare(bytes, clock, IDLE_MS);
      assertEquals(bytes, modest.smallBytes());
      modest.small();
      assertFalse(modest.read(Integer.MAX_VALUE));
    }
  }

  // ---- readers ---------------------------------------------------------------------------------

  private Client client() {
    Settings settings = Settings.of(new Configuration(false));
    return new Client(settings, backend, daemon, clock, IDLE_MS, statistics);
  }

  private static VreadReplicaAccessor reader(Client client, long visibleLength) {
    Client.Opened opened = client.open(Reads.of(BLOCK, visibleLength));
    assertNotNull(opened.refusal, opened.replica);
    return new VreadReplicaAccessor(
        client, Reads.of(BLOCK, visibleLength), opened.replica, null);
  }

  /** Reads from..to in pieces and compares the bytes. */
  private void read(VreadReplicaAccessor reader, int from, int to) throws IOException {
    byte[] dst = new byte[PIECE];
    for (int at = from; at < to; at += PIECE) {
      assertEquals(PIECE, reader.read(at, dst, 0, PIECE));
      assertArrayEquals(Arrays.copyOfRange(block.content, at, at + PIECE), dst);
    }
  }

  private void hasOnly(long bytes) {
    assertEquals(Collections.singletonList(bytes), backend.shares());
  }

  @Test
  public void aClientConnectsWithItsFirstReaderAndASmallShare() throws IOException {
    Client client = client();
    daemon.pass(60_000);
    assertEquals(0, backend.connects);
    VreadReplicaAccessor reader = reader(client, LENGTH);
    hasOnly(SMALL);
    read(reader, 0, 960 << 10);
    hasOnly(SMALL);
    assertEquals(1, backend.connects);
    reader.close();
  }

  @Test
  public void aReaderMovesInTheMiddleOfABlock() throws IOException {
    VreadReplicaAccessor reader = reader(client(), LENGTH);
    read(reader, 0, 1 << 20);
    assertEquals(Arrays.asList(SMALL, FULL), backend.shares());
    read(reader, 1 << 20, LENGTH);
    hasOnly(FULL);
    assertEquals(2, backend.opens);
    reader.close();
    assertEquals("the cached one", 1, backend.openFiles());
  }

  @Test
  public void positionalReadersMoveToo() throws IOException {
    Client client = client();
    for (int i = 0; i < 2 * LENGTH / PIECE; i++) {
      int at = i * PIECE % LENGTH;
      VreadReplicaAccessor reader = reader(client, at + PIECE);
      ByteBuffer dst = ByteBuffer.allocate(PIECE);
      assertEquals(PIECE, reader.read(at, dst));
      assertArrayEquals(Arrays.copyOfRange(block.content, at, at + PIECE), dst.array());
      reader.close();
    }
    hasOnly(FULL);
    assertEquals(2, backend.opens);
  }

  /** The reader stays open, with its cursor, and goes on after the break. */
  @Test
  public void anIdleClientGivesItsShareBack() throws IOException {
    VreadReplicaAccessor reader = reader(client(), LENGTH);
    read(reader, 0, 2 << 20);
    hasOnly(FULL);
    daemon.pass(IDLE_MS - 1);
    hasOnly(FULL);
    daemon.pass(10_000); // two looks of the daemon
    assertEquals(Collections.emptyList(), backend.shares());
    assertEquals(0, backend.openFiles());
    read(reader, 2 << 20, (2 << 20) + PIECE);
    hasOnly(SMALL);
    read(reader, (2 << 20) + PIECE, LENGTH);
    read(reader, 0, PIECE);
    hasOnly(FULL);
    reader.close();
    assertEquals(0, statistics.getFailures());
  }

  @Test
  public void aClientThatReadsKeepsItsShare() throws IOException {
    VreadReplicaAccessor reader = reader(client(), LENGTH);
    read(reader, 0, 2 << 20);
    for (int i = 0; i < 10; i++) {
      daemon.pass(IDLE_MS - 6000);
      read(reader, 0, PIECE);
      hasOnly(FULL);
    }
    assertEquals(2, backend.connects);
    reader.close();
  }

  /** The daemon must not close what a call reads from. The backend complains if it does. */
  @Test
  public void aReaderInACallKeepsItsReplica() throws IOException {
    VreadReplicaAccessor reader = reader(client(), LENGTH);
    read(reader, 0, 2 << 20);
    backend.duringRead =
        () -> {
          backend.duringRead = () -> {};
          daemon.pass(2 * IDLE_MS);
          hasOnly(FULL);
        };
    read(reader, 2 << 20, (2 << 20) + PIECE);
    read(reader, (2 << 20) + PIECE, (2 << 20) + 2 * PIECE);
    hasOnly(FULL);
    reader.close();
  }

  @Test
  public void withoutRoomAReaderGoesOnWithItsSmallShare() throws IOException {
    backend.allPool = 2 * SMALL - 1;
    VreadReplicaAccessor reader = reader(client(), LENGTH);
    read(reader, 0, LENGTH);
    hasOnly(SMALL);
    assertEquals("4, 2, 1 MiB, 512 and 256 KiB", 1 + 5, backend.connects);
    assertEquals(SMALL * 2, backend.lastPool);
    backend.allPool = Long.MAX_VALUE;
    daemon.pass(1000);
    read(reader, 0, 2 * PIECE);
    hasOnly(FULL);
    reader.close();
    assertEquals(0, statistics.getFailures());
  }

  @Test
  public void aPartOfTheFullShareIsBetterThanNothing() throws IOException {
    backend.allPool = 1536 << 10;
    VreadReplicaAccessor reader = reader(client(), LENGTH);
    read(reader, 0, LENGTH);
    hasOnly(1 << 20);
    reader.close();
  }

  /** 48 clients beside each other in a pool of 16 MiB: none is refused or fails. */
  @Test
  public void manyClientsShareAPool() throws IOException {
    backend.allPool = (16 << 20) + 48 * SMALL; // the device keeps room for small shares
    VreadReplicaAccessor[] readers = new VreadReplicaAccessor[48];
    for (int i = 0; i < readers.length; i++) {
      readers[i] = reader(client(), LENGTH);
    }
    for (VreadReplicaAccessor reader : readers) {
      read(reader, 0, LENGTH);
    }
    List<Long> shares = backend.shares();
    assertTrue(shares.toString(), shares.contains(FULL) && shares.contains(SMALL));
    assertEquals(readers.length, shares.size());
    for (VreadReplicaAccessor reader : readers) {
      reader.close();
    }
    assertEquals(0, statistics.getFailures());
  }

  /** The block cannot be opened on the new connection: the old one must do, without more tries. */
  @Test
  public void aReaderThatCannotMoveStays() throws IOException {
    VreadReplicaAccessor reader = reader(client(), LENGTH);
    read(reader, 0, 1 << 20);
    backend.openErrno = Errno.EBUSY;
    for (int at = 1 << 20; at < LENGTH; at += PIECE) {
      read(reader, at, at + PIECE);
      clock.pass(1001); // the hold-off of a block that cannot be opened is over
    }
    assertEquals(2, backend.opens);
    assertEquals(Arrays.asList(SMALL, FULL), backend.shares());
    reader.close();
    hasOnly(FULL);
    assertEquals(0, statistics.getFailures());
  }

  /** The block went while the reader was idle: the read must fail with the reason. */
  @Test
  public void aReaderThatCannotComeBackFails() throws IOException {
    Client client = client();
    VreadReplicaAccessor reader = reader(client, LENGTH);
    read(reader, 0, 2 << 20);
    daemon.pass(2 * IDLE_MS);
    backend.blocks.remove(BLOCK);
    try {
      reader.read(2 << 20, new byte[10], 0, 10);
      throw new AssertionError("the read did not fail");
    } catch (IOException e) {
      assertTrue(e.getMessage(), e.getMessage().contains("ENOENT"));
    }
    assertEquals("ENOENT", client.open(Reads.of(BLOCK, LENGTH)).refusal);
    reader.close();
    hasOnly(SMALL);
  }

  @Test
  public void afterALossAClientBeginsSmallAgain() throws IOException {
    VreadReplicaAccessor reader = reader(client(), LENGTH);
    read(reader, 0, 2 << 20);
    backend.readErrnos.add(Errno.ENOTCONN);
    try {
      reader.read(0, new byte[PIECE], 0, PIECE);
      throw new AssertionError("the read did not fail");
    } catch (IOException expected) {
      reader.close();
    }
    assertEquals(Collections.emptyList(), backend.shares());
    daemon.pass(1000);
    hasOnly(SMALL);
  }
}
