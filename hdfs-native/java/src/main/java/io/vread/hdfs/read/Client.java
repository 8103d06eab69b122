// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Clock;
import io.vread.Errno;
import io.vread.NativeLibrary;
import io.vread.Settings;
import io.vread.hdfs.locations.BlockKey;
import io.vread.hdfs.metrics.ClientProcess;
import io.vread.hdfs.metrics.Statistics;
import io.vread.hdfs.select.PathProbe;
import io.vread.hdfs.select.PathSelector;
import io.vread.hdfs.select.PathSelectors;
import io.vread.hdfs.select.SlowReadDetector;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What all readers of one endpoint share: its connection, the share of the pool, the open replicas,
 * and the blocks that must not be asked for just now. There is one client per process and set of
 * connection settings.
 *
 * <p>When the client has read enough, it connects anew with a larger share of the pool ({@link
 * PoolShare}). Readers that are open move over to the new connection with their next step. An idle
 * client gives back all: open replicas, connection and work for the daemon thread. The next read
 * begins anew.
 */
public final class Client {
  private static final int CACHED_REPLICAS = 256;
  private static final long TICK_MS = 5_000;

  private static final Logger LOG = LoggerFactory.getLogger(Client.class);

  private static final Map<Object, Client> CLIENTS = new ConcurrentHashMap<>();

  private final Settings settings;
  private final Clock clock;
  private final Endpoint endpoint;
  private final Backend backend;
  private final ReplicaCache cache;
  private final HoldOff holdOff;
  private final InFlightReads inFlight;
  private final PathSelectors selectors;
  private final Statistics statistics;
  private final ScheduledExecutorService daemon;
  private final PoolShare share;
  private final long idleMs;
  private final long tickMs;
  private final Chores chores = new Chores();
  private volatile long lastUse;
  private volatile boolean awake;

  /** idleMs: after so long without readers the client gives back what it has. */
  public Client(
      Settings settings,
      Backend backend,
      ScheduledExecutorService daemon,
      Clock clock,
      long idleMs,
      Statistics statistics) {
    this.idleMs = idleMs;
    this.tickMs = Math.min(TICK_MS, idleMs / 2);
    this.settings = settings;
    this.clock = clock;
    this.backend = backend;
    this.statistics = statistics;
    this.daemon = daemon;
    share = new PoolShare(settings.poolBytes, clock, idleMs);
    cache = new ReplicaCache(clock, CACHED_REPLICAS, idleMs);
    inFlight = new InFlightReads(clock);
    selectors = new PathSelectors(clock);
    holdOff = new HoldOff(clock, Settings.BACKOFF_MS, Settings.MAX_BACKOFF_MS);
    Link link = new Link();
    endpoint =
        new Endpoint(
            settings.endpoint,
            link,
            link,
            daemon,
            clock,
            settings.timeoutMs,
            Settings.BACKOFF_MS,
            Settings.MAX_BACKOFF_MS);
  }

  /** Call only after the native library is loaded. */
  public static Client of(Settings settings, NativeLibrary library) {
    Object key = settings.connectionKey();
    Client client = CLIENTS.get(key);
    return client != null ? client : make(key, settings, library);
  }

  private static synchronized Client make(Object key, Settings settings, NativeLibrary library) {
    Client client = CLIENTS.get(key);
    if (client == null) {
      ClientProcess process = ClientProcess.get();
      process.statistics().describe(settings.endpoint, library.path());
      client =
          new Client(
              settings,
              NativeBackend.INSTANCE,
              process.daemon(),
              Clock.SYSTEM,
              process.idleMs(),
              process.statistics());
      CLIENTS.put(key, client);
    }
    return client;
  }

  /** What the daemon thread does for the client now and then, until nothing is left to do. */
  private final class Chores implements Runnable {
    @Override
    public void run() {
      boolean done = false;
      try {
        cache.dropIdle();
        ReplicaReference.releaseLost();
        done = share.idle() && sleep();
      } catch (Throwable e) { // there must be a next time
        LOG.debug("vread: {}: tidying up failed", settings.endpoint, e);
      }
      if (!done) {
        daemon.schedule(this, tickMs, TimeUnit.MILLISECONDS);
      }
    }
  }

  private void use() {
    lastUse = clock.now();
    if (!awake) {
      wake();
    }
  }

  private synchronized void wake() {
    if (!awake) {
      awake = true;
      daemon.schedule(chores, tickMs, TimeUnit.MILLISECONDS);
    }
  }

  /**
   * Readers that are open and idle must not keep the connection, and with it its share of the pool:
   * they open their block again with their next step. True: the client has nothing any more, and
   * the next reader wakes it.
   */
  private synchronized boolean sleep() {
    long before = lastUse;
    if (clock.now() - before < idleMs) {
      return false;
    }
    Connection connection = endpoint.retainCurrent();
    if (connection != null) {
      ReplicaReference.letGoOf(connection);
      connection.release();
    }
    cache.dropUnused();
    if (cache.size() > 0 || !endpoint.rest()) {
      return false;
    }
    awake = false;
    awake = lastUse != before; // else its reader may have seen the client awake
    return !awake;
  }

  /** What the endpoint asks the client for. */
  private final class Link implements Endpoint.Connector, Consumer<Connection> {
    @Override
    public Endpoint.Attempt connect() {
      return connectSmall();
    }

    /** The connection is lost. */
    @Override
    public void accept(Connection connection) {
      cache.dropConnection(connection);
    }
  }

  public Statistics statistics() {
    return statistics;
  }

  /** A reader has got bytes. */
  void read(int count) {
    statistics.read(count);
    if (share.read(count)) {
      daemon.execute(this::grow);
    }
  }

  public PathSelectors selectors() {
    return selectors;
  }

  public SlowReadDetector detector(PathSelector selector, PathProbe probe, BlockRead read) {
    return new SlowReadDetector(selector, probe, this, read, clock);
  }

  /** The calls to the backend that are running. */
  public InFlightReads inFlight() {
    return inFlight;
  }

  /**
   * Opens a replica of at least the visible length, which the caller releases. Else says why not.
   */
  public Opened open(BlockRead read) {
    String refusal = holdOff.reason(read.block);
    if (refusal != null) {
      return Opened.refused(refusal);
    }
    Object key = ReplicaCache.key(read);
    Replica cached = cache.acquire(key);
    if (cached != null) {
      if (cached.length() >= read.visibleLength) {
        return Opened.replica(cached);
      }
      cache.drop(key, cached);
      cached.release();
    }
    return openAnew(read);
  }

  /** True if {@link #open} would need no answer of the backend. */
  public boolean isOpen(BlockRead read) {
    return cache.has(ReplicaCache.key(read));
  }

  /** As {@link #open}, but the backend is asked in any case. */
  public Opened openAnew(BlockRead read) {
    use();
    InFlightReads.Call call = inFlight.begin(read.block);
    try {
      Endpoint.Lease lease = endpoint.acquire();
      if (lease.connection == null) {
        return Opened.refused(lease.refusal);
      }
      try {
        return openOn(lease.connection, read);
      } finally {
        lease.connection.release();
      }
    } finally {
      call.end();
    }
  }

  /**
   * After a read of {@code stale} failed with {@code errno}: returns another replica to go on with,
   * which the caller releases. Null: there is none.
   */
  Replica reopen(BlockRead read, Replica stale, int errno) {
    Connection failed = stale.connection();
    boolean retry = Errno.losesFile(errno);
    if (retry) {
      cache.drop(ReplicaCache.key(read), stale);
    }
    if (Errno.losesConnection(errno)) {
      endpoint.failed(failed, errno);
      retry = true; // on a newer connection, if there is one by now
    }
    return retry ? reopenOnCurrent(read) : null;
  }

  /** A reader of the block has failed: {@link #open} refuses the block for a while. */
  void readFailed(BlockKey block, int errno) {
    holdOff.readFailed(block, Errno.name(errno));
    statistics.readFailed(Errno.name(errno));
    if (errno == Errno.EBADE) {
      LOG.warn("vread: bytes of {} changed on their way from the host that verified them", block);
    }
  }

  /** {@link #open} refuses the block for a while. */
  void hold(BlockKey block, int errno) {
    holdOff.readFailed(block, Errno.name(errno));
  }

  /**
   * Opens the same replica again, with a cursor of its own. The caller releases it. Null: failed.
   */
  Replica another(BlockRead read, Replica replica) {
    long length = replica.finalised() ? 0 : read.visibleLength;
    return openAs(replica.connection(), read, length).replica;
  }

  private Replica reopenOnCurrent(BlockRead read) {
    Connection connection = endpoint.retainCurrent();
    if (connection == null) {
      return null;
    }
    try {
      return openOn(connection, read).replica;
    } finally {
      connection.release();
    }
  }

  // ---- the share of the pool --------------------------------------------------------------------

  private Endpoint.Attempt connectSmall() {
    Endpoint.Attempt attempt = connect(share.smallBytes());
    if (attempt.connection != null) {
      share.small();
    }
    return attempt;
  }

  /**
   * Connects with the full share. If the device's pool has too little room, because many processes
   * share it, asks for half as much again and again.
   */
  private Endpoint.Attempt connectFull() {
    long pool = share.fullBytes();
    Endpoint.Attempt attempt;
    do {
      attempt = connect(pool);
      pool /= 2;
    } while (attempt.errno == Errno.ENOSPC && pool > PoolShare.SMALL_BYTES);
    return attempt;
  }

  private Endpoint.Attempt connect(long pool) {
    long pointer =
        backend.connect(
            settings.endpoint,
            pool,
            settings.timeoutMs,
            settings.readaheadBytes);
    if (pointer < 0) {
      return new Endpoint.Attempt(null, (int) pointer);
    }
    int errno = backend.ping(pointer);
    if (errno < 0) {
      backend.disconnect(pointer);
      return new Endpoint.Attempt(null, errno);
    }
    return new Endpoint.Attempt(new Connection(backend, pointer), 0);
  }

  private void grow() {
    if (moveTo(this::connectFull)) {
      share.full();
    } else {
      share.refused();
    }
  }

  /**
   * Replaces the connection. Readers move over with their next step, and the last one ends the old
   * connection. False: the old connection stays.
   */
  private boolean moveTo(Endpoint.Connector connector) {
    Connection old = endpoint.retainCurrent();
    if (old == null) {
      return false;
    }
    boolean moved = endpoint.replace(old, connector) == 0;
    if (moved) {
      cache.dropConnection(old);
    }
    old.release();
    return moved;
  }

  /**
   * Opens a finalised replica whole and caches it. A replica under construction grows, and bytes
   * behind the visible length may be incomplete: it is opened up to the visible length, and not
   * cached.
   */
  private Opened openOn(Connection connection, BlockRead read) {
    Opened whole = openAs(connection, read, 0);
    if (whole.replica == null) {
      return whole;
    }
    if (whole.replica.finalised()) {
      if (whole.replica.length() < read.visibleLength) {
        whole.replica.release();
        return refused(read.block, Errno.ERANGE);
      }
      cache.put(ReplicaCache.key(read), whole.replica, read.expiry());
      return whole;
    }
    whole.replica.release();
    return openAs(connection, read, read.visibleLength);
  }

  private Opened openAs(Connection connection, BlockRead read, long length) {
    if (!connection.usable()) {
      return Opened.refused(Errno.ENOTCONN); // it may hang; a reader waited already
    }
    long file = openAt(connection, read, length);
    if (file == Errno.EMFILE && cache.dropUnused()) {
      file = openAt(connection, read, length);
    }
    if (length == 0 && (file == Errno.EILSEQ || file == Errno.ENODATA)) {
      // Bytes of a replica under construction may be there before their checksums.
      file = openAt(connection, read, read.visibleLength);
    }
    if (file >= 0) {
      connection.retain(); // cannot fail, because the caller holds a reference
      return Opened.replica(new Replica(connection, file));
    }
    int errno = (int) file;
    if (errno == Errno.EINTR) { // says nothing about block and connection
      return Opened.refused(errno);
    }
    if (Errno.losesConnection(errno)) {
      endpoint.failed(connection, errno);
      return Opened.refused(errno);
    }
    return refused(read.block, errno);
  }

  private long openAt(Connection connection, BlockRead read, long length) {
    return backend.open(
        connection.pointer(),
        read.block,
        length,
        read.storages(),
        read.token,
        read.protection());
  }

  private Opened refused(BlockKey block, int errno) {
    holdOff.openFailed(block, Errno.name(errno));
    return Opened.refused(errno);
  }

  /** What {@link #open} returns: a replica, or the reason why there is none. */
  public static final class Opened {
    public final Replica replica;
    public final String refusal;
    final int errno; // of the refusal, for a reader that is open already

    private Opened(Replica replica, String refusal, int errno) {
      this.replica = replica;
      this.refusal = refusal;
      this.errno = errno;
    }

    static Opened replica(Replica replica) {
      return new Opened(replica, null, 0);
    }

    static Opened refused(int errno) {
      return new Opened(null, Errno.name(errno), errno);
    }

    /** The backend was not asked. */
    static Opened refused(String reason) {
      return new Opened(null, reason, Errno.ENOTCONN);
    }
  }
}
