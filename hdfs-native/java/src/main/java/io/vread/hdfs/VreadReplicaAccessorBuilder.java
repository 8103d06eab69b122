// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.NativeLibrary;
import io.vread.Settings;
import java.io.IOException;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.ReplicaAccessor;
import org.apache.hadoop.hdfs.ReplicaAccessorBuilder;
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
 * <p>Only pool, id and generation stamp name the block; the backend finds it among the storages
 * that this device may read. If tokens are on, the storage ids of the block token are passed along.
 * Otherwise none are, unless the backend asks for them because the block may be on another host:
 * they cost a call to the NameNode per file ({@link Whereabouts}).
 *
 * <p>A short program pays for all that its first block starts and loads. So nothing on the way to
 * the first byte is a lambda, which costs a new JVM more than a class with a name. Nor are classes
 * loaded that only later blocks need (StartTest).
 *
 * <p>Builders are loaded through the thread's context class loader. A thread that has none, as when
 * C code made the FileSystem (libhdfs), loads no builder; see {@link NativeThreadFileSystem}.
 */
public final class VreadReplicaAccessorBuilder extends ReplicaAccessorBuilder {
  private static final Logger LOG = LoggerFactory.getLogger(VreadReplicaAccessorBuilder.class);

  private String file;
  private String pool;
  private long blockId;
  private long generationStamp;
  private long visibleLength;
  private byte[] token;
  private boolean allowShortCircuit;
  private Configuration configuration;

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
      process.configure(settings);
      return settings.enabled() ? build(settings) : refuse("disabled");
    } catch (Throwable e) {
      LOG.debug("vread: {} blk_{}_{}", pool, blockId, generationStamp, e);
      return refuse("error");
    }
  }

  private ReplicaAccessor build(Settings settings) {
    NativeLibrary library = NativeLibrary.load(settings.libraryPath());
    if (!library.usable()) {
      return refuse(library.reason());
    }
    String socket = settings.shortCircuitSocket();
    OwnReplicas own =
        !socket.isEmpty() && OwnReplicas.possible(socket) ? OwnReplicas.OF_PROCESS : null;
    return build(settings, Client.of(settings, library), own, Duel.OF_PROCESS);
  }

  /**
   * Returns a reader, or null after counting the reason. own: null if the stock client cannot read
   * by short-circuit. Tests pass objects of their own.
   */
  ReplicaAccessor build(Settings settings, Client client, OwnReplicas own, Duel duel) {
    Statistics statistics = client.statistics();
    BlockKey block = new BlockKey(pool, blockId, generationStamp);
    if (settings.hedgeMs() >= 0 && client.running().isLate(block, settings.hedgeMs())) {
      return refuse(statistics, block, "hedge");
    }
    OfFile stock = new OfFile(configuration, file, block);
    Whereabouts where = whereabouts(settings, stock);
    boolean isOwn = own != null && allowShortCircuit && own.has(configuration, file, block);
    String stockWay = isOwn ? "short-circuit" : "slower";
    Contest contest = settings.compete() ? contest(client, block, isOwn) : null;
    Duel.Block compared = new Duel.Block(client, block, where, stock, isOwn);
    if (contest == null ? isOwn : stockWins(contest, compared, duel)) {
      return refuse(statistics, block, stockWay);
    }
    Client.Opened opened = client.open(block, visibleLength, where);
    if (opened.replica == null) {
      return refuse(statistics, block, opened.refusal);
    }
    boolean remote = opened.replica.remote();
    if (settings.compete() && contest == null) {
      contest = client.contests().of(block, remote, where.storages());
      if (stockWins(contest, compared, duel)) {
        opened.replica.release();
        return refuse(statistics, block, stockWay);
      }
    }
    if (isOwn && remote) { // it is nearer than any other host
      opened.replica.release();
      return refuse(statistics, block, stockWay);
    }
    statistics.opened();
    return new VreadReplicaAccessor(
        client,
        block,
        visibleLength,
        where,
        opened.replica,
        mayFail(block) ? null : stock,
        contest == null ? null : client.race(contest, duel, compared));
  }

  private static Contest contest(Client client, BlockKey block, boolean isOwn) {
    return isOwn ? client.contests().ofOwn(block) : client.contests().known(block);
  }

  /** True if the stock client reads the block. Begins a duel if one is due. */
  private static boolean stockWins(Contest contest, Duel.Block block, Duel duel) {
    if (contest.nextBlock()) {
      duel.begin(contest, block);
    }
    return contest.way() == Contest.Way.STOCK;
  }

  private Whereabouts whereabouts(Settings settings, OfFile ofFile) {
    return new Whereabouts(
        token, ofFile, Encryption.OF_PROCESS.of(configuration, pool, settings.protection()));
  }

  /** What the NameNode knows about a block of a file, asked for when it is needed. */
  private static final class OfFile implements Function<BlockKey, byte[][]>, StockReader.Opener {
    private final Configuration conf;
    private final String file;
    private final BlockKey block;

    OfFile(Configuration conf, String file, BlockKey block) {
      this.conf = conf;
      this.file = file;
      this.block = block;
    }

    /** The storages of a block. */
    @Override
    public byte[][] apply(BlockKey wanted) {
      return FileStorages.OF_PROCESS.of(conf, file, wanted);
    }

    @Override
    public StockReader open(long end) throws IOException {
      return StockBlock.open(conf, file, block, end);
    }
  }

  /** False for an internal block of an erasure-coded file, see {@link StockBlock}. */
  private static boolean mayFail(BlockKey block) {
    return !block.striped();
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
