// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.Clock;
import io.vread.Errno;
import io.vread.Settings;
import java.io.IOException;
import java.util.function.BooleanSupplier;
import java.util.function.ToIntFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The publisher's connection to the backend. The datanode's threads and the publisher's thread send
 * through it, one at a time. Only the publisher's thread connects.
 *
 * <p>A thread that meets a hung backend waits for one timeout. Then the link is down: until the
 * publisher's thread has connected again, every event fails at once. A backend may hang in its
 * answers and take connections all the same. So after a timeout the thread pauses before it
 * connects, longer each time, until the backend has answered an event.
 */
final class Link {
  /** Result of {@link #publish}: the event was no longer wanted and was not sent. */
  static final int NOT_WANTED = 1;

  private static final Logger LOG = LoggerFactory.getLogger(Link.class);

  private final PublishChannel.Connector connector;
  private final PublisherLimits limits;
  private final Clock clock;
  private boolean taken; // by the thread that has the turn: only this thread uses the channel
  private volatile PublishChannel channel; // null: down; the thread that has the turn sets null
  private volatile long connections; // made so far
  private volatile boolean hung; // the backend did not answer the last event in time
  private boolean paused; // since then
  private boolean complained;
  private long backoffMs;

  Link(PublishChannel.Connector connector, PublisherLimits limits, Clock clock) {
    this.connector = connector;
    this.limits = limits;
    this.clock = clock;
    this.backoffMs = limits.backoffMs;
  }

  /** True if events would be sent now. Does not check that the backend still answers. */
  boolean connected() {
    return channel != null;
  }

  /** The number of connections made so far. Another number means another connection. */
  long connections() {
    return connections;
  }

  /**
   * Sends an event if {@code wanted} is true when this thread has the turn. No other event is sent
   * between this check and the event.
   *
   * @return 0, {@link #NOT_WANTED} or a negative errno
   */
  int publish(Event event, ReplicaName replica, BooleanSupplier wanted) {
    return use(to -> wanted.getAsBoolean() ? to.publish(event, replica) : NOT_WANTED);
  }

  /** Sends keys. Returns 0 or a negative errno. */
  int publishKeys(String poolId, String storageId, BlockKeys keys) {
    return use(to -> to.publishKeys(poolId, storageId, keys));
  }

  private int use(ToIntFunction<PublishChannel> what) {
    if (channel == null) {
      return Errno.ENOTCONN;
    }
    if (!take(limits.timeoutMs)) {
      return Errno.ETIME;
    }
    try {
      if (channel == null) {
        return Errno.ENOTCONN;
      }
      int result = what.applyAsInt(channel);
      if (result != NOT_WANTED) {
        hung = result == Errno.ETIME;
      }
      if (Errno.losesConnection(result)) {
        drop(Errno.name(result));
      }
      return result;
    } finally {
      pass();
    }
  }

  /**
   * Waits for the turn, at most so many milliseconds. An interrupt of the thread is meant for the
   * datanode.
   *
   * @return true if this thread has the turn
   */
  private synchronized boolean take(long ms) {
    boolean free = clock.awaitUninterruptibly(this, ms, () -> !taken);
    taken = true;
    return free;
  }

  /** Waits for the turn without a limit: each use of the channel ends within the timeout. */
  private void take() {
    while (!take(limits.timeoutMs)) {
      // another thread still has it
    }
  }

  private synchronized void pass() {
    taken = false;
    notify();
  }

  /**
   * Connects if the link is down or the backend has gone. Only the publisher's thread calls it.
   *
   * @return 0, or how many milliseconds to wait before the next attempt
   */
  long connect() {
    if (up()) {
      if (!hung) {
        backoffMs = limits.backoffMs;
      }
      return 0;
    }
    if (hung && !paused) {
      paused = true;
      return nextPause();
    }
    try {
      PublishChannel fresh = connector.connect();
      connections++; // before a thread can use the channel
      channel = fresh;
    } catch (IOException e) {
      complain(e.getMessage());
      return nextPause();
    }
    LOG.info("vread: finalized blocks are made durable and published");
    complained = false;
    paused = false;
    return 0;
  }

  /** Drops the connection if the backend has gone. */
  private boolean up() {
    take();
    try {
      if (channel != null && !channel.connected()) {
        drop("the backend went away");
      }
      return channel != null;
    } finally {
      pass();
    }
  }

  private long nextPause() {
    long pause = backoffMs;
    backoffMs = Math.min(2 * backoffMs, Settings.MAX_BACKOFF_MS);
    return pause;
  }

  void disconnect(String why) {
    take();
    try {
      if (channel != null) {
        drop(why);
      }
    } finally {
      pass();
    }
  }

  private void drop(String why) {
    LOG.info("vread: publishing stops: {}", why);
    PublishChannel old = channel;
    channel = null;
    old.close();
  }

  /** Warns once per outage. */
  private void complain(String why) {
    if (!complained) {
      complained = true;
      LOG.warn(
          "vread: blocks are not published, the datanode works as without vread: {}; "
              + "next attempts every {} to {} s",
          why,
          limits.backoffMs / 1000.0,
          Settings.MAX_BACKOFF_MS / 1000);
    }
  }
}
