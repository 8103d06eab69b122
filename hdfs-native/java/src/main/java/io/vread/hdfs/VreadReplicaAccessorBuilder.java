// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.NativeLibrary;
import io.vread.Settings;
import io.vread.hdfs.locations.BlockKey;
import io.vread.hdfs.locations.BlockLocation;
import io.vread.hdfs.locations.FileSystemContext;
import io.vread.hdfs.metrics.ClientProcess;
import io.vread.hdfs.metrics.Statistics;
import io.vread.hdfs.read.BlockRead;
import io.vread.hdfs.read.Client;
import io.vread.hdfs.read.StockOpener;
import io.vread.hdfs.read.VreadReplicaAccessor;
import io.vread.hdfs.select.PathProbe;
import io.vread.hdfs.select.PathSelector;
import io.vread.hdfs.select.SlowReadDetector;
import java.io.File;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.ReplicaAccessor;
import org.apache.hadoop.hdfs.ReplicaAccessorBuilder;
import org.apache.hadoop.net.unix.DomainSocket;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The entry of the client plug-in. The stock client makes a builder for each block it is about to
 * read if {@code dfs.client.replica.accessor.builder.classes} names this class. If {@link #build}
 * returns null, the stock client reads the block by itself.
 *
 * <p>If vRead cannot read the block, for whatever reason, build() counts the reason and returns
 * null. It never throws: the stock client would log a stack trace for each block.
 *
 * <p>A block is read only from the storages that the file's own NameNode named for it. They come
 * from the block token or from what the stock client was told ({@link FileSystemContext}). Without
 * them the stock client reads the block ({@code no-locations}). Nobody is asked while a reader
 * waits.
 *
 * <p>A short program pays for all that its first block starts and loads. So nothing on the way to
 * the first byte is a lambda, which costs a new JVM more than a class with a name. Nor are classes
 * loaded that only later blocks need (StartTest).
 *
 * <p>Builders are loaded through the thread's context class loader. A thread that has none, as when
 * C code made the FileSystem (libhdfs), loads no builder; see {@link VreadFileSystem}.
 */
public final class VreadReplicaAccessorBuilder extends ReplicaAccessorBuilder {
  private static final Logger LOG = LoggerFactory.getLogger(VreadReplicaAccessorBuilder.class);

  private static final AtomicBoolean TOLD = new AtomicBoolean(); // how to get locations

  private String file;
  private String pool;
  private long blockId;
  private long generationStamp;
  private long visibleLength;
  private byte[] token;
  private boolean allowShortCircuit;
  private Configuration configuration;
  private String clientName;

  @Override
  public ReplicaAccessorBuilder setFileName(String name) {
    file = name;
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setBlock(long id, String poolId) {
    blockId = id;
    pool = poolId;
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setGenerationStamp(long stamp) {
    generationStamp = stamp;
    return this;
  }

  /** Ignored: bytes from vRead are always verified. */
  @Override
  public ReplicaAccessorBuilder setVerifyChecksum(boolean verify) {
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setClientName(String name) {
    clientName = name;
    return this;
  }

  /** The stock client does not read blocks under construction by short-circuit. */
  @Override
  public ReplicaAccessorBuilder setAllowShortCircuitReads(boolean allow) {
    allowShortCircuit = allow;
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setVisibleLength(long length) {
    visibleLength = length;
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setConfiguration(Configuration conf) {
    configuration = conf;
    return this;
  }

  @Override
  public ReplicaAccessorBuilder setBlockAccessToken(byte[] bytes) {
    token = bytes;
    return this;
  }

  @Override
  public ReplicaAccessor build() {
    try {
      ClientProcess process = ClientProcess.get();
      Settings settings = Settings.of(configuration);
      process.use(settings);
      return settings.enabled ? build(settings) : refuse("disabled");
    } catch (Throwable e) {
      LOG.debug("vread: {} blk_{}_{}", pool, blockId, generationStamp, e);
      return refuse("error");
    }
  }

  private ReplicaAccessor build(Settings settings) throws IOException {
    NativeLibrary library = NativeLibrary.load(settings.libraryPath);
    if (!library.usable()) {
      return refuse(library.reason());
    }
    if (Thread.currentThread().isInterrupted()) {
      return refuse("interrupted");
    }
    FileSystemContext context = FileSystemContext.of(configuration, clientName);
    String socket = settings.shortCircuitSocket;
    boolean shortCircuit = allowShortCircuit && isThere(socket);
    Client client = Client.of(settings, library);
    return build(settings, context, client, shortCircuit, PathProbe.OF_PROCESS);
  }

  /**
   * Returns a reader, or null after counting the reason. shortCircuit: the stock client reads
   * blocks of this machine by short-circuit. Tests pass objects of their own.
   */
  public ReplicaAccessor build(
      Settings settings,
      FileSystemContext context,
      Client client,
      boolean shortCircuit,
      PathProbe probe) {
    Statistics statistics = client.statistics();
    BlockKey block = new BlockKey(context.cluster(), pool, blockId, generationStamp);
    if (settings.hedgeMs >= 0 && client.inFlight().isLate(block, settings.hedgeMs)) {
      return refuse(statistics, block, "hedge");
    }
    context.keepServerDefaults();
    BlockLocation location = context.locate(file, block);
    BlockRead read =
        new BlockRead(
            context,
            block,
            visibleLength,
            token,
            location,
            StockOpener.of(context, configuration, file, location),
            shortCircuit,
            settings.protection);
    if (read.storages().length == 0 || block.mayBeStriped() && !read.canOpenStock()) {
      tellOnce(context);
      return refuse(statistics, block, "no-locations");
    }
    boolean isOwn = read.isShortCircuit();
    String stockWay = isOwn ? "short-circuit" : "slower";
    PathSelector selector = settings.compete ? selector(client, block, isOwn) : null;
    if (selector == null ? isOwn : stockWins(selector, client, read, probe)) {
      return refuse(statistics, block, stockWay);
    }
    Client.Opened opened = client.open(read);
    if (opened.replica == null) {
      return refuse(statistics, block, opened.refusal);
    }
    boolean remote = opened.replica.remote();
    if (settings.compete && selector == null) {
      selector = client.selectors().of(block, remote, read.storages());
      if (stockWins(selector, client, read, probe)) {
        opened.replica.release();
        return refuse(statistics, block, stockWay);
      }
    }
    if (isOwn && remote) { // it is nearer than any other host
      opened.replica.release();
      return refuse(statistics, block, stockWay);
    }
    statistics.opened();
    SlowReadDetector detector = selector == null ? null : client.detector(selector, probe, read);
    return new VreadReplicaAccessor(client, read, opened.replica, detector);
  }

  private static PathSelector selector(Client client, BlockKey block, boolean isOwn) {
    return isOwn ? client.selectors().ofOwn(block) : client.selectors().known(block);
  }

  /** True if the stock client reads the block. Begins a probe if one is due. */
  private static boolean stockWins(
      PathSelector selector, Client client, BlockRead read, PathProbe probe) {
    if (selector.nextBlock()) {
      probe.begin(selector, client, read, !client.isOpen(read));
    }
    return selector.way() == PathSelector.Way.STOCK;
  }

  /** True if a datanode of this machine may give its files to this process. */
  private static boolean isThere(String socketPath) {
    if (socketPath.isEmpty() || DomainSocket.getLoadingFailureReason() != null) {
      return false;
    }
    File socket = new File(socketPath);
    // Of a path with a port in it only the folder is known.
    return (socketPath.contains("_PORT") ? socket.getParentFile() : socket).exists();
  }

  private static void tellOnce(FileSystemContext context) {
    if (!context.observed() && TOLD.compareAndSet(false, true)) {
      LOG.warn(
          "vread: it is not known where blocks are: they are read over TCP; set fs.hdfs.impl to {}",
          VreadFileSystem.class.getName());
    }
  }

  private static ReplicaAccessor refuse(Statistics statistics, BlockKey block, String reason) {
    LOG.debug("vread: {}: {}, the stock client reads the block", block, reason);
    statistics.refused(reason);
    return null;
  }

  /** Counts the reason. Catches everything, because counting may be what failed before. */
  private static ReplicaAccessor refuse(String reason) {
    try {
      ClientProcess.get().statistics().refused(reason);
    } catch (Throwable e) {
      LOG.debug("vread: cannot count {}", reason, e);
    }
    return null;
  }
}
