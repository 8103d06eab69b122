// SPDX-License-Identifier: Apache-2.0
package io.vread;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.client.HdfsClientConfigKeys;
import org.apache.hadoop.hdfs.client.HdfsClientConfigKeys.HedgedRead;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The {@code io.vread.*} properties. Most are of the client plug-in; the publisher shares ENABLED,
 * ENDPOINT and LIBRARY_PATH.
 *
 * <p>Each Configuration object is read once, because looking properties up costs more than a small
 * read. Later changes of the object are not seen, as with Hadoop's own client settings.
 *
 * <p>An invalid value is replaced by its default, with a warning: a mistake in the configuration
 * must not keep anybody from reading.
 */
public final class Settings {
  public static final String ENABLED = "io.vread.enabled";
  public static final String ENDPOINT = "io.vread.endpoint";
  public static final String LIBRARY_PATH = "io.vread.library.path";
  public static final String TIMEOUT_MS = "io.vread.timeout.ms";
  public static final String POOL_BYTES = "io.vread.pool.bytes";
  public static final String READAHEAD_BYTES = "io.vread.readahead.bytes";
  public static final String COMPETE = "io.vread.compete";
  public static final String STATISTICS_FILE = "io.vread.statistics.file";

  /**
   * The client's first pause after a backend or a read failed. Pauses double up to {@link
   * #MAX_BACKOFF_MS}. After a read failed, the stock client makes the next reader of the block at
   * once, also on a busy machine, and must get none from vRead.
   */
  public static final int BACKOFF_MS = 1000;

  /** How soon a backend that was restarted is used again, however long it was away. */
  public static final int MAX_BACKOFF_MS = 30_000;

  private static final Logger LOG = LoggerFactory.getLogger(Settings.class);
  private static final String DEFAULT_ENDPOINT = "/dev/vread";

  /** The key is the object's identity: Configuration does not define equals(). */
  private static final Map<Configuration, Settings> CACHE =
      Collections.synchronizedMap(new WeakHashMap<>());

  public final boolean enabled;

  /** The path of a character device or of a UNIX socket. */
  public final String endpoint;

  /** The file or folder of the native library. Empty: not configured. */
  public final String libraryPath;

  /** The longest wait for one answer of the backend. */
  public final int timeoutMs;

  public final long poolBytes;

  /** As libvread takes it: 1 for a configured 0 (off), because libvread's 0 means its default. */
  public final int readaheadBytes;

  /** Both ways of reading are measured now and then, and the faster one is used. */
  public final boolean compete;

  /** What Hadoop's own configuration of this client wants. The NameNode may want more. */
  public final Protection protection;

  /**
   * After so long the stock client makes a second attempt at a positional read (a hedged read).
   * Negative: it makes none.
   */
  public final long hedgeMs;

  /** The path of the datanodes' UNIX sockets. Empty: short-circuit reads are not configured. */
  public final String shortCircuitSocket;

  /** Empty: no file is written. */
  public final String statisticsFile;

  private Settings(Configuration conf) {
    enabled = conf.getBoolean(ENABLED, true);
    endpoint = endpoint(conf.getTrimmed(ENDPOINT, ""));
    libraryPath = conf.getTrimmed(LIBRARY_PATH, "");
    timeoutMs = (int) number(conf, TIMEOUT_MS, 2000, 1, 600_000);
    poolBytes = number(conf, POOL_BYTES, 4 << 20, 64 << 10, 128 << 20);
    readaheadBytes = (int) Math.max(1, number(conf, READAHEAD_BYTES, 2 << 20, 0, 128 << 20));
    compete = conf.getBoolean(COMPETE, true);
    protection = Protection.of(conf);
    hedgeMs = hedgeMs(conf);
    shortCircuitSocket =
        conf.getBoolean(HdfsClientConfigKeys.Read.ShortCircuit.KEY, false)
            ? conf.getTrimmed(HdfsClientConfigKeys.DFS_DOMAIN_SOCKET_PATH_KEY, "")
            : "";
    statisticsFile = conf.getTrimmed(STATISTICS_FILE, "");
  }

  public static Settings of(Configuration conf) {
    Settings settings = CACHE.get(conf);
    if (settings == null) {
      settings = new Settings(conf);
      CACHE.put(conf, settings);
    }
    return settings;
  }

  /** Equal for settings that can share a connection and open replicas. */
  public List<Object> connectionKey() {
    return Arrays.asList(endpoint, timeoutMs, poolBytes, readaheadBytes, protection);
  }

  private static long hedgeMs(Configuration conf) {
    if (number(conf, HedgedRead.THREADPOOL_SIZE_KEY, 0, 0, Integer.MAX_VALUE) == 0) {
      return -1;
    }
    long standard = HedgedRead.THRESHOLD_MILLIS_DEFAULT;
    return number(conf, HedgedRead.THRESHOLD_MILLIS_KEY, standard, 0, Long.MAX_VALUE);
  }

  private static String endpoint(String configured) {
    if (!configured.isEmpty()) {
      return configured;
    }
    String environment = System.getenv("VREAD_ENDPOINT");
    return environment == null || environment.isEmpty() ? DEFAULT_ENDPOINT : environment;
  }

  private static long number(
      Configuration conf, String name, long defaultValue, long least, long most) {
    String text = conf.getTrimmed(name);
    if (text == null || text.isEmpty()) {
      return defaultValue;
    }
    try {
      long value = conf.getLongBytes(name, defaultValue);
      if (value >= least && value <= most) {
        return value;
      }
    } catch (IllegalArgumentException e) {
      // the warning is below
    }
    LOG.warn(
        "vread: {} is {}, expected {} to {}; using {}", name, text, least, most, defaultValue);
    return defaultValue;
  }
}
