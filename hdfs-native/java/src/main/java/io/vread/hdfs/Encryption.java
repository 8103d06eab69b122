// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.Clock;
import io.vread.Protection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.security.PrivilegedAction;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.security.UserGroupInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether bytes of other hosts must come encrypted: the cluster's dfs.encrypt.data.transfer. {@link
 * Client} asks when it has opened the first block of another host.
 *
 * <p>Only the NameNode needs that property; stock clients ask the NameNode, and keep the answer for
 * an hour. So does this class, once per pool and process. A reader waits for the answer for a short
 * time, and only if nobody has waited for it before. Without an answer bytes come encrypted: by
 * TLS, which is slower than RDMA and never wrong.
 */
final class Encryption {
  private static final Logger LOG = LoggerFactory.getLogger(Encryption.class);
  private static final long KEPT_MS = 3_600_000; // as DFSClient keeps the NameNode's defaults
  private static final long PAUSE_MS = 60_000;
  private static final long WAIT_MS = 2_000;

  private static final NameNodeThread THREAD = new NameNodeThread();
  static final Encryption OF_PROCESS = new Encryption(Clock.SYSTEM, THREAD, THREAD);

  /** Asks the NameNodes of the configuration. */
  interface Source {
    boolean required(Configuration conf) throws IOException;
  }

  /** What the readers of a pool need to know. */
  interface OfPool {
    OfPool NOT_NEEDED =
        new OfPool() {
          @Override
          public Protection known() {
            return Protection.AUTHENTICATION;
          }

          @Override
          public boolean required() {
            return false;
          }
        };

    /** What is known to be needed. Asks nobody. */
    Protection known();

    /** True unless bytes need no encryption. May wait for the NameNode, once. */
    boolean required();
  }

  private static final class Answer {
    boolean known;
    boolean required;
    boolean asking;
    boolean asked;
    long askedAt;

    boolean isDue(long now) {
      return !asking && (!asked || now - askedAt >= (known ? KEPT_MS : PAUSE_MS));
    }
  }

  private final Clock clock;
  private final Executor executor;
  private final Source source;
  private final Map<String, Answer> answers = new ConcurrentHashMap<>();

  Encryption(Clock clock, Executor executor, Source source) {
    this.clock = clock;
    this.executor = executor;
    this.source = source;
  }

  /** configured: what the client's own configuration wants, whatever the NameNode says. */
  OfPool of(Configuration conf, String pool, Protection configured) {
    return new OfPool() {
      @Override
      public Protection known() {
        return isKnown(pool) ? Protection.PRIVACY : configured;
      }

      @Override
      public boolean required() {
        return configured == Protection.PRIVACY || isRequired(conf, pool);
      }
    };
  }

  private boolean isKnown(String pool) {
    Answer answer = answers.get(pool);
    if (answer == null) {
      return false;
    }
    synchronized (answer) {
      return answer.known && answer.required;
    }
  }

  private boolean isRequired(Configuration conf, String pool) {
    Answer answer = answers.computeIfAbsent(pool, key -> new Answer());
    synchronized (answer) {
      if (answer.isDue(clock.now())) {
        begin(conf, answer);
      }
      await(answer);
      return !answer.known || answer.required;
    }
  }

  private void begin(Configuration conf, Answer answer) {
    answer.asked = true;
    answer.askedAt = clock.now();
    try {
      answer.asking = true;
      executor.execute(() -> ask(conf, answer));
    } catch (RuntimeException e) {
      answer.asking = false;
      LOG.debug("vread: the NameNode cannot be asked whether bytes must be encrypted", e);
    }
  }

  /** Waits for the first answer, at most until WAIT_MS after it was asked for. */
  private void await(Answer answer) {
    long deadline = answer.askedAt + WAIT_MS;
    try {
      while (!answer.known && answer.asking && clock.now() < deadline) {
        clock.waitUntil(answer, deadline);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void ask(Configuration conf, Answer answer) {
    boolean required = true;
    boolean known = false;
    try {
      required = source.required(conf);
      known = true;
    } catch (IOException | RuntimeException e) { // neither may reach a reader
      LOG.debug("vread: no NameNode says whether bytes must be encrypted: they are", e);
    }
    synchronized (answer) {
      answer.asking = false;
      if (known) { // else an older answer holds
        answer.known = true;
        answer.required = required;
      }
      answer.notifyAll();
    }
  }

  /** Asks the NameNodes in a thread of its own. */
  private static final class NameNodeThread implements Executor, Source {
    @Override
    public void execute(Runnable task) {
      inThread(task);
    }

    @Override
    public boolean required(Configuration conf) throws IOException {
      return askNameNodes(conf);
    }
  }

  /** Runs the task as the calling thread's user. */
  private static void inThread(Runnable task) {
    UserGroupInformation user;
    try {
      user = UserGroupInformation.getCurrentUser();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Thread thread = new Thread(() -> user.doAs(action(task)), "vread-encryption");
    thread.setDaemon(true);
    thread.setContextClassLoader(Encryption.class.getClassLoader());
    thread.start();
  }

  private static PrivilegedAction<Void> action(Runnable task) {
    return () -> {
      task.run();
      return null;
    };
  }

  /**
   * True if one of them wants encryption: which of them the pool is of is not known. Fails if one
   * does not answer.
   */
  private static boolean askNameNodes(Configuration conf) throws IOException {
    Set<URI> nameNodes = NameNodes.of(conf);
    if (nameNodes.isEmpty()) {
      throw new IOException("no NameNode is configured");
    }
    for (URI nameNode : nameNodes) {
      DFSClient client = new DFSClient(nameNode, conf);
      try {
        if (client.getServerDefaults().getEncryptDataTransfer()) {
          return true;
        }
      } finally {
        client.close();
      }
    }
    return false;
  }
}
