// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.Clock;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSUtilClient;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.net.unix.DomainSocket;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells which blocks have a replica that the stock client can read by short-circuit: a replica on a
 * datanode of this machine. {@link VreadReplicaAccessorBuilder} leaves such blocks to the stock
 * client.
 *
 * <p>Only the NameNode knows where a replica is. It is asked only on a machine with a datanode's
 * socket, once for all blocks of a file, in another thread. A reader waits for the first
 * answer about its file, but not for long, and not at all while the NameNode is slow. A reader that
 * has no answer reads through vRead. Old answers hold until there is a new one: nobody waits for
 * that one.
 */
final class OwnReplicas {
  private static final Logger LOG = LoggerFactory.getLogger(OwnReplicas.class);
  private static final int FILES = 1024;
  private static final long KEPT_MS = 60_000;
  private static final long PAUSE_MS = 1_000;
  private static final long WAIT_MS = 100;

  /** A NameNode that hangs keeps so many threads and questions, and no more. */
  private static final int THREADS = 2;

  private static final int QUESTIONS = 64;

  static final OwnReplicas OF_PROCESS =
      new OwnReplicas(
          Clock.SYSTEM,
          new UserThreads("vread-own-replicas", THREADS, QUESTIONS),
          OwnReplicas::locate);

  /** Asks the NameNode which blocks of a file have a replica on this machine, by block id. */
  interface Source {
    Map<Long, Boolean> own(Configuration conf, String file, BlockKey block) throws IOException;
  }

  private static final class Answer {
    boolean asking;
    boolean asked;
    long askedAt;
    Map<Long, Boolean> own = Collections.emptyMap();
  }

  private final Clock clock;
  private final Executor executor;
  private final Source source;
  private volatile long slowUntil = Long.MIN_VALUE;
  private final Map<String, Answer> answers =
      new LinkedHashMap<String, Answer>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Answer> eldest) {
          return size() > FILES;
        }
      };

  OwnReplicas(Clock clock, Executor executor, Source source) {
    this.clock = clock;
    this.executor = executor;
    this.source = source;
  }

  /**
   * True if a datanode of this machine may give its files to this process. socketPath:
   * dfs.domain.socket.path, empty if short-circuit reads are not configured.
   */
  static boolean possible(String socketPath) {
    if (socketPath.isEmpty() || DomainSocket.getLoadingFailureReason() != null) {
      return false;
    }
    File socket = new File(socketPath);
    // Of a path with a port in it only the folder is known.
    return (socketPath.contains("_PORT") ? socket.getParentFile() : socket).exists();
  }

  /** True if the block is known to have a replica on this machine. */
  boolean has(Configuration conf, String file, BlockKey block) {
    Answer answer;
    synchronized (answers) {
      // A path alone may be that of another cluster, whose block ids begin with the same number.
      answer = answers.computeIfAbsent(block.pool() + ":" + file, key -> new Answer());
    }
    synchronized (answer) {
      if (isDue(answer, block)) {
        begin(answer, conf, file, block);
      }
      await(answer, block);
      return answer.own.getOrDefault(block.id(), false);
    }
  }

  private boolean isDue(Answer answer, BlockKey block) {
    if (answer.asking) {
      return false;
    }
    long keptMs = answer.own.containsKey(block.id()) ? KEPT_MS : PAUSE_MS;
    return !answer.asked || clock.now() - answer.askedAt >= keptMs;
  }

  private void begin(Answer answer, Configuration conf, String file, BlockKey block) {
    answer.asked = true;
    answer.askedAt = clock.now();
    answer.asking = true;
    try {
      executor.execute(() -> ask(answer, conf, file, block));
    } catch (RuntimeException e) {
      answer.asking = false;
      LOG.debug("vread: {}: the NameNode cannot be asked where it is", block, e);
    }
  }

  private void await(Answer answer, BlockKey block) {
    long deadline = answer.askedAt + WAIT_MS;
    try {
      while (answer.asking
          && !answer.own.containsKey(block.id())
          && clock.now() < deadline
          && clock.now() >= slowUntil) {
        clock.waitUntil(answer, deadline);
        if (answer.asking && clock.now() >= deadline) {
          slowUntil = clock.now() + KEPT_MS;
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void ask(Answer answer, Configuration conf, String file, BlockKey block) {
    Map<Long, Boolean> own = null;
    try {
      own = source.own(conf, file, block);
    } catch (IOException | RuntimeException e) { // neither may reach a reader
      LOG.debug("vread: {} of {}: the NameNode does not say where it is", block, file, e);
    }
    synchronized (answer) {
      answer.asking = false;
      if (own != null) { // else an older answer holds
        answer.own = own;
      }
      answer.notifyAll();
    }
  }

  private static Map<Long, Boolean> locate(Configuration conf, String file, BlockKey block)
      throws IOException {
    Map<Long, Boolean> result = new HashMap<>();
    for (LocatedBlock each : FileStorages.blocks(conf, file, block)) {
      result.put(each.getBlock().getBlockId(), isOwn(each));
    }
    return result;
  }

  private static boolean isOwn(LocatedBlock block) throws IOException {
    for (DatanodeInfo datanode : block.getLocations()) {
      InetSocketAddress address =
          new InetSocketAddress(datanode.getIpAddr(), datanode.getXferPort());
      if (!address.isUnresolved() && DFSUtilClient.isLocalAddress(address)) {
        return true;
      }
    }
    return false;
  }
}
