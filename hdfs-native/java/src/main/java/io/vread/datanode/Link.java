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
 * The connection to the backend as the datanode's threads use it: one event at a time, and never
 * a wait for a backend that was found dead.
 *
 * <p>The thread in whose hands the backend falls silent pays one timeout. The link is down then,
 * and until the publisher's own thread has connected anew every event fails at once.
 */
final class Link {
  /** What {@link #publish} returns for an event that was not to be sent any more. */
  static final int NOT_WANTED = 1;

  private static final Logger LOG = LoggerFactory.getLogger(Link.class);

  private final PublishChannel.Connector connector;
  private final PublisherSettings settings;
  private final Turn turn;
  private volatile PublishChannel channel; // null: down; changed by who has the turn
  private volatile long connections; // made so far
  private boolean complained;
  private long backoffMs;

  Link(PublishChannel.Connector connector, PublisherSettings settings, Clock clock) {
    this.connector = connector;
    this.settings = settings;
    this.turn = new Turn(clock);
    this.backoffMs = settings.backoffMs();
  }

  private boolean up() {
    turn.take();
    try {
      return channel != null && channel.connected();
    } finally {
      turn.pass();
    }
  }

  /** What events would meet; no look at the backend. */
  boolean connected() {
    return channel != null;
  }

  /** How many connections were made so far: another number, another connection. */
  long connections() {
    return connections;
  }

  /**
   * Sends an event, if wanted still says so once the connection is ours: what is asked there holds
   * until the event is sent, with respect to all other events.
   *
   * @return 0, {@link #NOT_WANTED} or a negative errno
   */
  int publish(Event event, ReplicaName replica, BooleanSupplier wanted) {
    return use(to -> wanted.getAsBoolean() ? to.publish(event, replica) : NOT_WANTED);
  }

  /** Sends keys: 0 or a negative errno. */
  int publishKeys(String poolId, String storageId, BlockKeys keys) {
    return use(to -> to.publishKeys(poolId, storageId, keys));
  }

  private int use(ToIntFunction<PublishChannel> what) {
    if (channel == null) {
      return Errno.ENOTCONN;
    }
    if (!turn.take(settings.timeoutMs())) {
      return Errno.ETIME;
    }
    try {
      if (channel == null) {
        return Errno.ENOTCONN;
      }
      int result = what.applyAsInt(channel);
      if (Errno.losesConnection(result)) {
        drop(Errno.name(result));
      }
      return result;
    } finally {
      turn.pass();
    }
  }

  /**
   * Connects, if the link is down. For the publisher's thread only.
   *
   * @return 0, or for how many milliseconds not to try again
   */
  long connect() {
    if (up()) {
      return 0;
    }
    disconnect("the backend went away");
    PublishChannel fresh;
    try {
      fresh = connector.connect();
    } catch (IOException e) {
      complain(e.getMessage());
      long wait = backoffMs;
      backoffMs = Math.min(2 * backoffMs, Settings.MAX_BACKOFF_MS);
      return wait;
    }
    turn.take();
    try {
      channel = fresh;
      connections++;
    } finally {
      turn.pass();
    }
    LOG.info("vread: finalized blocks are made durable and published");
    complained = false;
    backoffMs = settings.backoffMs();
    return 0;
  }

  void disconnect(String why) {
    turn.take();
    try {
      if (channel != null) {
        drop(why);
      }
    } finally {
      turn.pass();
    }
  }

  private void drop(String why) {
    LOG.info("vread: publishing stops: {}", why);
    PublishChannel old = channel;
    channel = null;
    old.close();
  }

  /** Once per outage. */
  private void complain(String why) {
    if (!complained) {
      complained = true;
      LOG.warn(
          "vread: blocks are not published, the datanode works as without vread: {}; "
              + "trying on every {} to {} s",
          why,
          settings.backoffMs() / 1000.0,
          Settings.MAX_BACKOFF_MS / 1000);
    }
  }
}
