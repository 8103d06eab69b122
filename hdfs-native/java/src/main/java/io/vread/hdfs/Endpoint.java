// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.Clock;
import io.vread.Errno;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one connection to an endpoint, and when to try for another.
 *
 * <p>Connecting is the daemon thread's business alone. A reader waits for the very first attempt
 * only, at most the timeout and together with all others; whenever the endpoint has failed, readers
 * are refused at once and the thread tries again after a pause, which doubles while it fails. An
 * attempt counts when the backend has given a sign of life: a device can be opened while nobody
 * serves it.
 */
final class Endpoint {
  private static final Logger LOG = LoggerFactory.getLogger(Endpoint.class);

  /** Connects and pings; a Connection with one reference, or a negative errno. */
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

  /** A connection for the caller to release, or the reason why there is none. */
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
  private boolean asked; // the first attempt is on its way
  private boolean tried; // it is over
  private String failure; // of it, or null
  private long firstDeadline;

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
    String failure = awaitFirst();
    Connection connection = retainCurrent();
    if (connection != null) {
      return new Lease(connection, null);
    }
    return new Lease(null, failure == null ? "backoff" : failure);
  }

  /** The connection there is now, without waiting; to be released; or null. */
  synchronized Connection retainCurrent() {
    return current != null && current.retain() ? current : null;
  }

  /**
   * A call on connection failed in a way that casts doubt on it. Nobody uses it any more; a timeout
   * may have been that of a busy backend, and then it is taken up again after a sign of life.
   */
  void failed(Connection connection, int errno) {
    synchronized (this) {
      if (current != connection) {
        return; // known already
      }
      current = null;
      if (errno == Errno.ETIME) {
        connection.suspect();
      } else {
        connection.lose();
      }
    }
    LOG.warn("vread: {}: {}; blocks are read by TCP until it answers", name, Errno.name(errno));
    if (errno == Errno.ETIME) {
      daemon.execute(() -> examine(connection));
    } else {
      giveUp(connection, errno);
    }
  }

  /**
   * Waits for the first attempt. Who finds out that it failed, or had not ended in time, is told
   * why; all who ask later are told nothing.
   */
  private String awaitFirst() {
    synchronized (this) {
      if (tried || (asked && clock.now() >= firstDeadline)) {
        return null;
      }
      if (!asked) {
        asked = true;
        firstDeadline = clock.now() + timeoutMs;
        daemon.execute(this::tryFirst);
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

  private void tryFirst() {
    int errno = tryOnce();
    if (errno != 0) {
      LOG.warn(
          "vread: {}: {}; blocks are read by TCP until it answers", name, Errno.connectName(errno));
    }
    synchronized (this) {
      tried = true;
      failure = errno == 0 ? null : Errno.connectName(errno);
      notifyAll();
    }
  }

  private void tryAgain() {
    if (tryOnce() == 0) {
      LOG.info("vread: {}: answers again", name);
    }
  }

  private int tryOnce() {
    Attempt attempt;
    try {
      attempt = connector.connect();
    } catch (Throwable e) { // a library that lacks a method, say; the next attempt must be made
      LOG.debug("vread: {}: cannot connect", name, e);
      attempt = new Attempt(null, Errno.EPROTO);
    }
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
      connection.lose();
      giveUp(connection, errno);
      return;
    }
    connection.trust();
    synchronized (this) {
      current = connection;
    }
    LOG.info("vread: {}: answers again", name);
  }

  /** Lets go of the endpoint's own reference. */
  private void giveUp(Connection connection, int errno) {
    onLoss.accept(connection);
    connection.release();
    pause(errno);
  }

  private void pause(int errno) {
    long pauseMs;
    synchronized (this) {
      pauseMs = backoff.failed(clock.now());
    }
    LOG.debug("vread: {}: {}; next attempt in {} ms", name, Errno.connectName(errno), pauseMs);
    daemon.schedule(this::tryAgain, pauseMs, TimeUnit.MILLISECONDS);
  }
}
