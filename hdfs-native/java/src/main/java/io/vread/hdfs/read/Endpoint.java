// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Clock;
import io.vread.Errno;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Holds the one connection to an endpoint, and decides when to try for another.
 *
 * <p>Only the daemon thread connects. A reader waits for the very first attempt only, together with
 * all other readers and at most the timeout. After a failure readers are refused at once; the
 * daemon thread tries again after a pause, which doubles while attempts fail, until nobody reads.
 * An attempt succeeds only if the backend has answered: a device can be opened while nobody serves
 * it.
 */
final class Endpoint {
  private static final Logger LOG = LoggerFactory.getLogger(Endpoint.class);

  /** Connects and pings. Returns a Connection with one reference, or a negative errno. */
  interface Connector {
    Attempt connect();
  }

  static final class Attempt {
    final Connection connection;
    final int errno;

    Attempt(Connection connection, int errno) {
      this.connection = connection;
      this.errno = errno;
    }
  }

  /** A connection, which the caller releases, or the reason why there is none. */
  static final class Lease {
    final Connection connection;
    final String refusal;

    Lease(Connection connection, String refusal) {
      this.connection = connection;
      this.refusal = refusal;
    }
  }

  private final String name;
  private final Connector connector;
  private final Consumer<Connection> onLoss;
  private final ScheduledExecutorService daemon;
  private final Clock clock;
  private final long timeoutMs;
  private final Backoff backoff;

  private Connection current;
  private boolean asked; // the first attempt was requested
  private boolean tried; // the first attempt is over
  private String failure; // of the first attempt; null: it succeeded
  private long firstDeadline;
  private long rests; // how often the endpoint has rested
  private Future<?> retry;

  Endpoint(
      String name,
      Connector connector,
      Consumer<Connection> onLoss,
      ScheduledExecutorService daemon,
      Clock clock,
      long timeoutMs,
      long backoffMs,
      long longestBackoffMs) {
    this.name = name;
    this.connector = connector;
    this.onLoss = onLoss;
    this.daemon = daemon;
    this.clock = clock;
    this.timeoutMs = timeoutMs;
    this.backoff = new Backoff(backoffMs, longestBackoffMs);
  }

  Lease acquire() {
    while (true) {
      String refusal = awaitFirst();
      synchronized (this) {
        if (current != null && current.retain()) {
          return new Lease(current, null);
        }
        if (asked) { // else it rests since a moment ago
          return new Lease(null, refusal == null ? "backoff" : refusal);
        }
      }
    }
  }

  /**
   * Gives the connection back unless somebody uses it, and tries for no other, until the next
   * reader asks. False: it is in use.
   */
  boolean rest() {
    Connection unused;
    synchronized (this) {
      if (asked && !tried || current != null && !current.heldByOne()) {
        return false;
      }
      unused = current;
      current = null;
      asked = false;
      tried = false;
      rests++;
      if (retry != null) {
        retry.cancel(false);
        retry = null;
      }
    }
    if (unused != null) {
      unused.release();
    }
    return true;
  }

  /**
   * Returns the current connection without waiting. The caller releases it. Null: there is none.
   */
  synchronized Connection retainCurrent() {
    return current != null && current.retain() ? current : null;
  }

  /**
   * A call failed in a way that casts doubt on the connection. Nobody uses the connection from now
   * on. After a timeout the backend may only have been busy: if it then answers a ping, the
   * connection is used again.
   */
  void failed(Connection connection, int errno) {
    synchronized (this) {
      if (current != connection) {
        if (connection.retired()) {
          connection.lose(); // nobody else need wait for it
        }
        return; // known already
      }
      current = null;
      connection.lose();
    }
    LOG.warn("vread: {}: {}; blocks are read by TCP until it answers", name, Errno.name(errno));
    if (errno == Errno.ETIME) {
      daemon.execute(() -> examine(connection));
    } else {
      giveUp(connection, errno);
    }
  }

  /**
   * Connects anew, by another connector, and retires the connection {@code old}, which the caller
   * holds. Call it on the daemon thread. Returns 0, or an errno: nothing has changed then.
   */
  int replace(Connection old, Connector other) {
    Attempt attempt = attempt(other);
    if (attempt.connection == null) {
      return attempt.errno;
    }
    synchronized (this) {
      if (current == old) {
        current = attempt.connection;
        old.retire();
      }
    }
    if (!old.retired()) { // it failed meanwhile, and a pause has begun
      attempt.connection.release();
      return Errno.ENOTCONN;
    }
    old.release();
    return 0;
  }

  /**
   * Waits for the first attempt. Returns why it failed or did not end in time to the readers that
   * waited for it, null to all later readers.
   */
  private String awaitFirst() {
    synchronized (this) {
      if (tried || (asked && clock.now() >= firstDeadline)) {
        return null;
      }
      if (!asked) {
        asked = true;
        firstDeadline = clock.now() + timeoutMs;
        daemon.execute(new FirstAttempt());
      }
      try {
        while (!tried && clock.now() < firstDeadline) {
          clock.waitUntil(this, firstDeadline);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return "interrupted";
      }
      return tried ? failure : Errno.name(Errno.ETIME);
    }
  }

  private final class FirstAttempt implements Runnable {
    @Override
    public void run() {
      int errno = tryOnce();
      String reason = errno == 0 ? null : Errno.connectName(errno);
      if (reason != null) {
        LOG.warn("vread: {}: {}; blocks are read by TCP until it answers", name, reason);
      }
      firstIsOver(reason);
    }
  }

  private synchronized void firstIsOver(String reason) {
    tried = true;
    failure = reason;
    notifyAll();
  }

  /** rest: how often the endpoint had rested when the attempt was planned. */
  private void tryAgain(long rest) {
    synchronized (this) {
      if (rests != rest) {
        return;
      }
    }
    if (tryOnce() == 0) {
      LOG.info("vread: {}: answers again", name);
    }
  }

  private Attempt attempt(Connector by) {
    try {
      return by.connect();
    } catch (Throwable e) { // e.g. the library lacks a method; there must be a next attempt
      LOG.debug("vread: {}: cannot connect", name, e);
      return new Attempt(null, Errno.EPROTO);
    }
  }

  private int tryOnce() {
    Attempt attempt = attempt(connector);
    if (attempt.connection == null) {
      pause(attempt.errno);
      return attempt.errno;
    }
    synchronized (this) {
      current = attempt.connection;
    }
    LOG.debug("vread: {}: connected", name);
    return 0;
  }

  private void examine(Connection connection) {
    int errno = connection.ping();
    if (errno < 0) {
      giveUp(connection, errno);
      return;
    }
    connection.trust();
    synchronized (this) {
      current = connection;
    }
    LOG.info("vread: {}: answers again", name);
  }

  /** Releases the endpoint's own reference, and schedules the next attempt. */
  private void giveUp(Connection connection, int errno) {
    onLoss.accept(connection);
    connection.release();
    pause(errno);
  }

  private void pause(int errno) {
    synchronized (this) {
      long pauseMs = backoff.failed(clock.now());
      long rest = rests;
      LOG.debug("vread: {}: {}; next attempt in {} ms", name, Errno.connectName(errno), pauseMs);
      retry = daemon.schedule(() -> tryAgain(rest), pauseMs, TimeUnit.MILLISECONDS);
    }
  }
}
