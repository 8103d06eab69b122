// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNotSame;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import io.vread.Errno;
import io.vread.Eventually;
import io.vread.FakeClock;
import io.vread.FakeDaemon;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.Timeout;

/** {@link Endpoint}: one connection, pauses after failures, and readers that do not wait. */
public class EndpointTest {
  private static final int TIMEOUT_MS = 4000;

  /** Ends a test in which a thread waits for time that the test never lets pass. */
  @Rule public final Timeout limit = Timeout.seconds(Eventually.HANG_S);

  private final FakeClock clock = new FakeClock();
  private final FakeDaemon daemon = new FakeDaemon(clock);
  private final FakeBackend backend = new FakeBackend();
  private final List<Connection> lost = new ArrayList<>();
  private final Endpoint endpoint = endpoint(this::connect, daemon);

  private Endpoint endpoint(Endpoint.Connector connector, ScheduledExecutorService executor) {
    return new Endpoint("test", connector, lost::add, executor, clock, TIMEOUT_MS, 1000, 30_000);
  }

  private Endpoint.Attempt connect() {
    long pointer = backend.connect("", 0, 0, 0);
    return pointer < 0
        ? new Endpoint.Attempt(null, (int) pointer)
        : new Endpoint.Attempt(new Connection(backend, pointer), 0);
  }

  private Connection connection() {
    Endpoint.Lease lease = endpoint.acquire();
    assertNotNull(lease.refusal, lease.connection);
    lease.connection.release();
    return lease.connection;
  }

  private String refusal() {
    Endpoint.Lease lease = endpoint.acquire();
    assertNull(lease.connection);
    return lease.refusal;
  }

  /** An endpoint that rests has no connection and no attempt, and begins anew. */
  @Test
  public void anUnusedConnectionIsGivenBack() {
    Endpoint.Lease lease = endpoint.acquire();
    assertFalse("in use", endpoint.rest());
    lease.connection.release();
    assertTrue(endpoint.rest());
    assertEquals(0, backend.openConnections());
    connection();
    assertEquals(2, backend.connects);
  }

  @Test
  public void whoRestsTriesForNoConnection() {
    backend.connectErrno = Errno.ENOENT;
    assertEquals("no-device", refusal());
    assertTrue(endpoint.rest());
    daemon.pass(100_000);
    assertEquals(1, backend.connects);
    assertEquals("no-device", refusal());
    assertEquals(2, backend.connects);
    daemon.pass(1000);
    assertEquals("one chain of attempts", 3, backend.connects);
  }

  @Test
  public void oneConnectionForAll() {
    assertSame(connection(), connection());
    assertEquals(1, backend.connects);
  }

  @Test
  public void theFirstToAskIsToldWhyTheRestOnlyThatItIsTooEarly() {
    backend.connectErrno = Errno.ENOENT;
    assertEquals("no-device", refusal());
    assertEquals("backoff", refusal());
    assertEquals(1, backend.connects);
    backend.connectErrno = 0;
    daemon.pass(999);
    assertEquals("backoff", refusal());
    daemon.pass(1);
    connection();
    assertEquals(2, backend.connects);
  }

  @Test
  public void pausesGrowWhileItFails() {
    backend.connectErrno = Errno.ENOTCONN;
    assertEquals("no-backend", refusal());
    daemon.pass(1000 + 2000 + 4000 + 8000 + 16_000);
    assertEquals(6, backend.connects);
    daemon.pass(29_999);
    assertEquals(6, backend.connects);
    daemon.pass(1);
    assertEquals(7, backend.connects);
  }

  @Test
  public void aConnectorThatThrowsIsTriedAgain() {
    Endpoint broken =
        endpoint(
            () -> {
              backend.connects++;
              throw new UnsatisfiedLinkError("connect");
            },
            daemon);
    assertEquals("EPROTO", broken.acquire().refusal);
    assertEquals("backoff", broken.acquire().refusal);
    daemon.pass(3000);
    assertEquals(3, backend.connects);
  }

  @Test
  public void aLostConnectionIsReplacedAfterAPause() {
    Connection first = connection();
    endpoint.failed(first, Errno.ENOTCONN);
    endpoint.failed(first, Errno.ENOTCONN); // by another reader
    assertFalse(first.usable());
    assertEquals(0, backend.openConnections());
    assertEquals(1, lost.size());
    assertEquals("backoff", refusal());
    daemon.pass(1000);
    Connection second = connection();
    assertNotSame(first, second);
    endpoint.failed(first, Errno.ENOTCONN); // by a reader that slept meanwhile
    assertSame(second, connection());
  }

  @Test
  public void aBusyBackendIsTrustedAgain() {
    Connection first = connection();
    daemon.holdBack();
    endpoint.failed(first, Errno.ETIME);
    assertFalse(first.usable());
    assertEquals("backoff", refusal());
    daemon.goOn();
    assertEquals(1, backend.pings);
    assertTrue(first.usable());
    assertSame(first, connection());
    assertTrue(lost.isEmpty());
  }

  /** After a timeout the backend does not answer the ping: the connection must be replaced. */
  @Test
  public void aHungBackendIsNot() {
    Connection first = connection();
    backend.pingErrno = Errno.ETIME;
    endpoint.failed(first, Errno.ETIME);
    assertFalse(first.usable());
    assertEquals("backoff", refusal());
    assertEquals(0, backend.openConnections());
    daemon.pass(1000);
    assertNotSame(first, connection());
  }

  /**
   * Eight real threads ask for a connection, 1 ms apart, while the first attempt hangs. All must
   * give up at the same time, when the timeout of the first thread is over.
   */
  @Test
  public void whoeverWaitsForTheFirstAttemptGivesUpAtTheSameTime() throws Exception {
    ScheduledExecutorService one = Executors.newSingleThreadScheduledExecutor();
    ExecutorService readers = Executors.newFixedThreadPool(8);
    CountDownLatch hanging = new CountDownLatch(1);
    try {
      Endpoint hung =
          endpoint(
              () -> {
                try {
                  hanging.await();
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
                return connect();
              },
              one);
      List<Future<String>> refusals = new ArrayList<>();
      for (int early = 7; early >= 0; early--) {
        refusals.add(readers.submit(() -> hung.acquire().refusal));
        int asked = refusals.size();
        Eventually.until(() -> clock.waits().size() == asked, () -> "waits: " + clock.waits());
        clock.pass(early > 0 ? 1 : TIMEOUT_MS - 8);
      }
      assertEquals(Collections.nCopies(8, 1L), clock.waits());
      clock.pass(1);
      for (Future<String> each : refusals) {
        assertEquals("ETIME", each.get());
      }
      assertEquals("backoff", hung.acquire().refusal);
      hanging.countDown();
      one.submit(() -> {}).get(); // the attempt is over
      Endpoint.Lease lease = hung.acquire();
      assertNotNull(lease.refusal, lease.connection);
      lease.connection.release();
    } finally {
      hanging.countDown();
      readers.shutdownNow();
      one.shutdownNow();
    }
  }

  @Test
  public void aReplacedConnectionLivesAsLongAsItIsHeld() {
    Connection first = endpoint.acquire().connection;
    assertEquals(0, endpoint.replace(first, this::connect));
    assertNotSame(first, connection());
    assertTrue(first.retired());
    assertTrue(first.usable());
    assertEquals(2, backend.openConnections());
    endpoint.failed(first, Errno.ETIME); // concerns nobody but those who still read from it
    assertFalse(first.usable());
    assertTrue(connection().usable());
    first.release();
    assertEquals(1, backend.openConnections());
    assertTrue(lost.isEmpty());
  }

  @Test
  public void withoutAnotherItStays() {
    Connection first = endpoint.acquire().connection;
    backend.connectErrno = Errno.ENOSPC;
    assertEquals(Errno.ENOSPC, endpoint.replace(first, this::connect));
    assertFalse(first.retired());
    assertSame(first, connection());
    first.release();
  }

  /** The connection fails while its successor connects: the pause after the failure must hold. */
  @Test
  public void aConnectionThatFailsMeanwhileIsNotReplaced() {
    Connection first = endpoint.acquire().connection;
    Endpoint.Connector failing =
        () -> {
          endpoint.failed(first, Errno.ENOTCONN);
          return connect();
        };
    assertEquals(Errno.ENOTCONN, endpoint.replace(first, failing));
    assertFalse(first.retired());
    first.release();
    assertEquals(0, backend.openConnections());
    assertEquals("backoff", refusal());
    daemon.pass(1000);
    connection();
  }

  @Test
  public void anInterruptedReaderIsRefusedAndStaysInterrupted() {
    daemon.holdBack();
    Thread.currentThread().interrupt();
    assertEquals("interrupted", refusal());
    assertTrue(Thread.interrupted());
    daemon.goOn();
    connection();
  }
}
