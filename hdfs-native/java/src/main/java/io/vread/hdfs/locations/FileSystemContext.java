// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import io.vread.BoundedMap;
import io.vread.Clock;
import io.vread.hdfs.VreadFileSystem;
import java.io.IOException;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.net.URI;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.ReplicaAccessorBuilder;
import org.apache.hadoop.hdfs.client.impl.DfsClientConf;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;
import org.apache.hadoop.security.UserGroupInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The file system that a read belongs to: its NameNode, its user, its DFSClient, and what the
 * NameNode has said. It is captured in build() and passed along; nothing asks later who the current
 * user is, or what the default configuration says.
 *
 * <p>There is one for each {@link VreadFileSystem}, whose DFSClient shows every answer of its
 * NameNode. A stock file system has one, too, but {@link #locate} must ask its NameNode where
 * blocks are. It does so in another thread, and readers go by TCP meanwhile.
 *
 * <p>A stock client asks its NameNode for the server's defaults when it first connects to a
 * datanode, keeps them for an hour, and needs them for each later connection. While vRead reads,
 * the client never connects. So that it can go on by TCP when the NameNode is gone, {@link
 * #keepServerDefaults} makes it ask in another thread, as often as it would have.
 *
 * <p>Threads: any thread.
 */
public final class FileSystemContext {
  private static final Logger LOG = LoggerFactory.getLogger(FileSystemContext.class);

  private static final String VALIDITY = "dfs.client.server-defaults.validity.period.ms";
  private static final long VALIDITY_MS = 3_600_000; // Hadoop's default
  private static final long AFTER_FAILURE_MS = 10_000;

  /** Answers that were asked for are kept for the files read last, and renewed after a minute. */
  private static final int ASKED_FILES = 128;

  private static final long RENEW_MS = 60_000;
  private static final long PAUSE_MS = 1_000;

  private final String cluster;
  private final UserGroupInformation user;
  private final boolean observed;
  private final Clock clock;
  private final NameNodeCalls calls;
  private final BlockLocations locations = new BlockLocations();
  private final Map<String, Asked> asked = BoundedMap.of(ASKED_FILES);

  private final Supplier<DFSClient> finder;

  /** Streams and the file system hold the client; without them nobody reads. */
  private volatile Reference<DFSClient> client = new WeakReference<>(null);

  private DfsClientConf stockSettings;

  private volatile long validityMs = VALIDITY_MS;
  private volatile long defaultsDue = Long.MIN_VALUE;
  private volatile Boolean encrypts; // null: not known

  /** A question to the NameNode about a file, and its answer, which keeps the locations known. */
  private static final class Asked {
    long at = Long.MIN_VALUE;
    LocatedBlocks answer;
  }

  /**
   * cluster: the NameNode's address, or a name for it. finder: of the client of a stock file
   * system, called in a thread that may wait; null: the client is an {@link ObservingClient}.
   */
  public FileSystemContext(
      String cluster,
      UserGroupInformation user,
      Supplier<DFSClient> finder,
      Clock clock,
      NameNodeCalls calls) {
    this.cluster = cluster;
    this.user = user;
    this.finder = finder;
    this.observed = finder == null;
    this.clock = clock;
    this.calls = calls;
  }

  /** That of a client which the current user is about to make. */
  static FileSystemContext ofCurrentUser(URI nameNode) throws IOException {
    return new FileSystemContext(
        nameNode.getAuthority(),
        UserGroupInformation.getCurrentUser(),
        null,
        Clock.SYSTEM,
        NameNodeCalls.ofProcess());
  }

  /** That of the client which has this configuration and name. */
  public static FileSystemContext of(Configuration conf, String clientName) throws IOException {
    return conf instanceof ObservingClient.OwnConfiguration
        ? ((ObservingClient.OwnConfiguration) conf).context()
        : StockFileSystems.context(clientName);
  }

  /** Call once, before any read. */
  void use(DFSClient made) {
    client = new WeakReference<>(made);
  }

  /** How long the client keeps the server's defaults. */
  void keepDefaultsFor(Configuration conf) {
    validityMs = conf.getTimeDuration(VALIDITY, VALIDITY_MS, TimeUnit.MILLISECONDS);
  }

  /** The NameNode's address as the file system's URI has it, or another name that only it has. */
  public String cluster() {
    return cluster;
  }

  /** Null: not known, or collected. */
  public DFSClient client() {
    return client.get();
  }

  /** False: the NameNode's answers are not seen, because it is a stock file system. */
  public boolean observed() {
    return observed;
  }

  // ---- where blocks are -------------------------------------------------------------------------

  /** The NameNode has answered the client. Never throws. */
  public void learn(String file, LocatedBlocks answer) {
    try {
      locations.learn(file, answer);
      keepServerDefaults();
    } catch (RuntimeException | LinkageError e) {
      LOG.debug("vread: {}: the locations in an answer are not understood", file, e);
    }
  }

  /** Where the block is; null: not known, but perhaps later. */
  public BlockLocation locate(String file, BlockKey block) {
    BlockLocation found = locations.find(file, block);
    if (found == null || !observed) {
      askIfDue(file, found != null);
    }
    return found;
  }

  private void askIfDue(String file, boolean known) {
    synchronized (asked) {
      Asked question = asked.computeIfAbsent(file, key -> new Asked());
      long now = clock.now();
      boolean due =
          question.at == Long.MIN_VALUE || now - question.at >= (known ? RENEW_MS : PAUSE_MS);
      if (due && calls.begin(cluster, () -> ask(file, question))) {
        question.at = now;
      }
    }
  }

  private void ask(String file, Asked question) throws IOException {
    DFSClient asking = client();
    if (asking == null && finder != null) {
      asking = finder.get();
      use(asking);
    }
    if (asking == null) {
      return;
    }
    LocatedBlocks answer = asking.getLocatedBlocks(file, 0, Long.MAX_VALUE);
    if (!observed) {
      locations.learn(file, answer);
    }
    synchronized (asked) {
      question.answer = answer;
    }
    renewServerDefaults(asking);
  }

  // ---- what the stock client needs --------------------------------------------------------------

  /** Returns at once. Asks the NameNode in another thread when the client's answer ends. */
  public void keepServerDefaults() {
    DFSClient asking = client();
    if (asking != null && clock.now() >= defaultsDue) {
      calls.begin(cluster, new Renewal(asking));
    }
  }

  private final class Renewal implements NameNodeCalls.Call {
    private final DFSClient asking;

    Renewal(DFSClient asking) {
      this.asking = asking;
    }

    @Override
    public void run() throws IOException {
      renewServerDefaults(asking);
    }
  }

  private void renewServerDefaults(DFSClient asking) throws IOException {
    if (clock.now() < defaultsDue) {
      return;
    }
    defaultsDue = clock.now() + AFTER_FAILURE_MS;
    asking.newDataEncryptionKey(); // also asks for the defaults; the client keeps both
    encrypts = asking.getServerDefaults().getEncryptDataTransfer();
    defaultsDue = clock.now() + validityMs;
  }

  /**
   * Whether bytes of other hosts must come encrypted: the NameNode's dfs.encrypt.data.transfer.
   * What is not known is required.
   */
  public boolean encryptionRequired() {
    Boolean known = encrypts;
    return known == null || known;
  }

  // ---- reading as the stock client --------------------------------------------------------------

  /** Whose reads these are. */
  public UserGroupInformation user() {
    return user;
  }

  /** The client's settings without replica accessors. conf: the client's configuration. */
  public synchronized DfsClientConf stockSettings(Configuration conf) {
    if (stockSettings == null) {
      stockSettings = new StockSettings(conf);
    }
    return stockSettings;
  }

  private static final class StockSettings extends DfsClientConf {
    StockSettings(Configuration conf) {
      super(conf);
    }

    @Override
    public List<Class<? extends ReplicaAccessorBuilder>> getReplicaAccessorBuilderClasses() {
      return Collections.emptyList();
    }
  }
}
