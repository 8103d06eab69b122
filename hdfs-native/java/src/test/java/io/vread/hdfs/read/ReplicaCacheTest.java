// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import io.vread.Errno;
import io.vread.FakeClock;
import io.vread.Protection;
import io.vread.hdfs.locations.BlockKey;
import java.nio.ByteBuffer;
import org.junit.Test;

/** What {@link ReplicaCache} keeps and drops, and when replicas and connections are closed. */
public class ReplicaCacheTest {
  private final FakeClock clock = new FakeClock();
  private final FakeBackend backend = new FakeBackend();
  private final Connection connection = connect();
  private final ReplicaCache cache = new ReplicaCache(clock, 3, 30_000);

  private Connection connect() {
    return new Connection(backend, backend.connect("", 0, 0, 0));
  }

  private static BlockKey key(long id) {
    return new BlockKey("nn", "BP-1", id, 1);
  }

  /** The key of a reader without a token. */
  private static Object open(long id) {
    return open(id, null);
  }

  private static Object open(long id, byte[] token) {
    return ReplicaCache.key(Reads.of(key(id), 10, token, null));
  }

  /** Opens and caches a replica, and releases the reader's reference. */
  private Replica cached(long id) {
    backend.blocks.putIfAbsent(key(id), new FakeBackend.Block(10));
    connection.retain();
    byte[][] anywhere = new byte[0][];
    long file =
        backend.open(
            connection.pointer(), key(id), 0, anywhere, null, Protection.AUTHENTICATION);
    Replica replica = new Replica(connection, file);
    cache.put(open(id), replica, Long.MAX_VALUE);
    replica.release();
    return replica;
  }

  @Test
  public void leastRecentlyUsedGoes() {
    Replica first = cached(1);
    cached(2);
    cached(3);
    assertSame(first, cache.acquire(open(1)));
    first.release();
    cached(4);
    assertNull(cache.acquire(open(2)));
    assertSame(first, cache.acquire(open(1)));
    first.release();
    assertEquals(3, cache.size());
    assertEquals(3, backend.openFiles());
  }

  /** A replica of a retired connection may be put in late: nobody must get it. */
  @Test
  public void replicasOfARetiredConnectionAreNotUsed() {
    cached(1);
    connection.retire();
    assertNull(cache.acquire(open(1)));
    clock.pass(30_000);
    cache.dropIdle();
    assertEquals(0, backend.openFiles());
  }

  @Test
  public void whatIsInUseStaysOpenWhenItGoes() {
    Replica used = cached(1);
    assertSame(used, cache.acquire(open(1)));
    for (int id = 2; id < 6; id++) {
      cached(id);
    }
    assertNull(cache.acquire(open(1)));
    assertEquals(4, backend.openFiles());
    assertEquals(10, used.pread(0, ByteBuffer.allocate(10), 10));
    used.release();
    assertEquals(3, backend.openFiles());
  }

  @Test
  public void idleOnesGoAfterAWhile() {
    cached(1);
    Replica used = cached(2);
    clock.pass(29_999);
    cache.dropIdle();
    assertEquals(2, backend.openFiles());
    assertSame(used, cache.acquire(open(2)));
    clock.pass(60_000);
    cache.dropIdle();
    assertEquals(1, backend.openFiles());
    used.release();
    cache.dropIdle();
    assertEquals(0, backend.openFiles());
  }

  @Test
  public void aNewOneTakesThePlaceOfAnOldOne() {
    Replica old = cached(1);
    Replica fresh = cached(1);
    assertEquals(1, backend.openFiles());
    cache.drop(open(1), old); // no longer there
    assertSame(fresh, cache.acquire(open(1)));
    cache.drop(open(1), fresh);
    assertNull(cache.acquire(open(1)));
    fresh.release();
    assertEquals(0, backend.openFiles());
  }

  @Test
  public void aConnectionGoesWithTheLastReplica() {
    Replica used = cached(1);
    cached(2);
    assertSame(used, cache.acquire(open(1)));
    connection.lose();
    assertNull("of a lost connection", cache.acquire(open(2)));
    cache.dropConnection(connection);
    connection.release(); // the endpoint's
    assertEquals(1, backend.openConnections());
    assertEquals(Errno.ENOTCONN, used.pread(0, ByteBuffer.allocate(1), 1));
    used.release();
    assertEquals(0, backend.openConnections());
    assertFalse(used.retain());
    assertFalse(connection.retain());
  }

  /** A reader with another token, or with none, must open the block itself. */
  @Test
  public void aTokenIsNeededThatOpenedIt() {
    Replica replica = cached(1);
    byte[] token = {5, 1, 2};
    cache.put(open(1, token), replica, Long.MAX_VALUE);
    assertNull(cache.acquire(open(1, new byte[] {5, 1, 3})));
    cache.drop(open(1), replica);
    assertNull(cache.acquire(open(1)));
    assertSame(replica, cache.acquire(open(1, token.clone())));
    replica.release();
  }

  @Test
  public void nothingOutlivesItsToken() {
    Replica replica = cached(1);
    Object key = open(1, new byte[] {5, 1, 2});
    cache.put(key, replica, clock.sinceEpoch() + 10_000);
    clock.pass(10_000);
    assertSame(replica, cache.acquire(key));
    replica.release();
    clock.pass(1);
    assertNull(cache.acquire(key));
  }

  @Test
  public void oneCursor() {
    Replica replica = cached(1);
    assertTrue(replica.takeCursor());
    assertFalse(replica.takeCursor());
    replica.giveCursor();
    assertTrue(replica.takeCursor());
  }
}
