// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.Errno;
import java.util.HashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the backend for each block pool whether the pool uses tokens, and which keys sign them. The
 * publisher's thread calls {@link #tellWhatChanged} in each round of its loop.
 *
 * <p>A new connection is told everything, later only what changed. So a backend hears of tokens on
 * each connection, if the pool uses any, also without a key. If the backend does not know the
 * datanode's storage yet (ENODEV), it is told again in the next round. After any other error
 * (EOPNOTSUPP, EACCES, and EPERM: the pool used tokens before) the same keys are not sent again on
 * this connection.
 */
final class KeyPublisher {
  private static final Logger LOG = LoggerFactory.getLogger(KeyPublisher.class);

  private final KeySource source;
  private final Link link;
  private final PublisherStatistics statistics;
  private final Map<String, BlockKeys> told = new HashMap<>(); // by storage and pool
  private long connection; // the connection that told is about

  KeyPublisher(KeySource source, Link link, PublisherStatistics statistics) {
    this.source = source;
    this.link = link;
    this.statistics = statistics;
  }

  void tellWhatChanged() {
    if (connection != link.connections()) {
      connection = link.connections();
      told.clear();
    }
    for (String pool : source.pools()) {
      BlockKeys keys = source.of(pool);
      if (keys == null) {
        continue;
      }
      for (String storage : source.storages()) {
        tell(pool, storage, keys);
      }
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
