// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.BackgroundThread;
import io.vread.Clock;
import io.vread.Errno;
import java.util.HashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the backend for each block pool whether the pool uses tokens, and which keys sign them.
 *
 * <p>A new connection is told everything before a replica is published: {@link Publisher} calls
 * {@link #tellWhatChanged} then. Later a thread looks for what changed. It is a thread of its own,
 * since a NameNode signs with a new key as soon as it has one, and the publisher's thread may wait
 * long until replicas are on disk.
 *
 * <p>So a backend hears of tokens on each connection, if the pool uses any, also without a key. If
 * the backend does not know the datanode's storage yet (ENODEV), it is told again the next time.
 * After any other error (EOPNOTSUPP, EACCES, and EPERM: the pool used tokens before) the same keys
 * are not sent again on this connection.
 */
final class KeyPublisher {
  private static final Logger LOG = LoggerFactory.getLogger(KeyPublisher.class);

  /** How often the thread looks. A look costs some microseconds. */
  static final long PERIOD_MS = 100;

  private final KeySource source;
  private final Link link;
  private final PublisherStatistics statistics;
  private final Clock clock;
  private final Thread thread = BackgroundThread.of(this::run, "vread-block-keys");
  private boolean closed; // guarded by the thread's monitor
  private final Map<String, BlockKeys> told = new HashMap<>(); // by storage and pool
  private long connection; // the connection that told is about

  KeyPublisher(KeySource source, Link link, PublisherStatistics statistics, Clock clock) {
    this.source = source;
    this.link = link;
    this.statistics = statistics;
    this.clock = clock;
  }

  void start() {
    thread.start();
  }

  /** Lets the thread end, and does not wait for its end. */
  void close() {
    synchronized (thread) {
      closed = true;
      thread.notifyAll();
    }
  }

  private void run() {
    boolean ends = false;
    while (!ends) {
      try {
        ends = closedAfterAPause();
        if (!ends && link.connected()) {
          tellWhatChanged();
        }
      } catch (Throwable e) { // the datanode has no other thread that looks for new keys
        statistics.unexpected(e);
      }
    }
  }

  private boolean closedAfterAPause() throws InterruptedException {
    synchronized (thread) {
      return clock.await(thread, PERIOD_MS, () -> closed);
    }
  }

  /** Any thread. A failure is counted and not reported to the caller. */
  synchronized void tellWhatChanged() {
    try {
      if (connection != link.connections()) {
        connection = link.connections();
        told.clear();
      }
      for (String pool : source.pools()) {
        BlockKeys keys = source.of(pool);
        if (keys != null) {
          source.storages().forEach(storage -> tell(pool, storage, keys));
        }
      }
    } catch (RuntimeException | Error e) {
      statistics.unexpected(e);
    }
  }

  private void tell(String pool, String storage, BlockKeys keys) {
    String about = storage + "/" + pool;
    if (keys.sameAs(told.get(about))) {
      return;
    }
    int result = link.publishKeys(pool, storage, keys);
    if (result == Errno.ENODEV || Errno.losesConnection(result)) {
      return;
    }
    told.put(about, keys);
    if (result == 0) {
      LOG.debug("vread: {} of {} are known to the backend", keys, about);
    } else {
      statistics.failed(PublisherStatistics.KEYS + Errno.name(result));
      LOG.debug("vread: the backend takes no keys of {}: {}", about, Errno.name(result));
    }
  }
}
