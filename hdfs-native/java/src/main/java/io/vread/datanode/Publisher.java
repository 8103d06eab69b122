// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.BackgroundThread;
import io.vread.Clock;
import io.vread.Errno;
import java.io.Closeable;
import java.io.File;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.hdfs.server.datanode.Replica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeReference;
import org.apache.hadoop.io.IOUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes finalized replicas to the backend once they are durable, and changes of replicas before
 * they happen. The datanode's threads call announce(), writingBegan() and withdraw().
 *
 * <p>Withdrawals are sent on the datanode's own threads. A hung backend costs such a thread one
 * timeout, once per connection. Finalized replicas are only queued: the publisher's thread makes
 * them durable, several at a time, and sends their events.
 *
 * <p>The events of a block are sent in the order in which things happened to it. A withdrawal first
 * marks the queued replicas of the block as withdrawn. The mark is checked when the thread has the
 * link, just before FINALIZED is sent.
 *
 * <p>A backend that does not know a storage may not have examined a freshly formatted disk yet. It
 * examines the disk when it is asked, so the first replicas there are published again and again for
 * a while. After that time the backend is taken not to serve the storage, until it takes an event
 * of the storage.
 *
 * <p>Without a backend nothing is made durable. A backend that comes back needs no replay: it has
 * forgotten withdrawals and judges by what the file system has committed, which includes all that
 * was durable before.
 */
final class Publisher implements PublisherMXBean {
  private static final Logger LOG = LoggerFactory.getLogger(Publisher.class);

  /**
   * Replicas made durable together: enough to share a journal commit, few enough to be done soon.
   */
  private static final int BATCH = 32;

  /** How often an idle link is checked. */
  private static final long IDLE_MS = 1000;

  private static final long JOIN_MS = 1000;

  private final PublisherLimits limits;
  private final Clock clock;
  private final Link link;
  private final Disk disk;
  private final VolumeIdentity identity;
  private final PendingQueue queue;
  private final WriteActivity activity = new WriteActivity();
  private final PublisherStatistics statistics = new PublisherStatistics();
  private final KeyPublisher keys;
  private final Set<String> unserved = new HashSet<>(); // storages; only the thread uses it
  private boolean lookedFor; // a storage, in this round; only the thread uses it
  private volatile boolean closed; // closed and ended are changed with this monitor held
  private boolean ended;
  private final Thread thread = BackgroundThread.of(this::run, "vread-publisher");

  Publisher(
      PublisherLimits limits,
      PublishChannel.Connector connector,
      Disk disk,
      KeySource keySource,
      Clock clock,
      Clock keyClock) {
    this.limits = limits;
    this.clock = clock;
    this.link = new Link(connector, limits, clock);
    this.keys = new KeyPublisher(keySource, link, statistics, keyClock);
    this.disk = disk;
    this.identity = new VolumeIdentity(disk);
    this.queue = new PendingQueue(limits.queueLimit, clock);
  }

  void start() {
    thread.start();
    keys.start();
  }

  /**
   * Ends the thread, and waits for its end up to JOIN_MS. Replicas still queued are not published:
   * the kernel writes them back all the same.
   */
  synchronized void close() {
    closed = true;
    notifyAll();
    queue.close();
    keys.close();
    clock.awaitUninterruptibly(this, JOIN_MS, () -> ended || !thread.isAlive());
  }

  /** Waits for so many milliseconds, or until the publisher is closed. True: it is closed. */
  private synchronized boolean closedWithin(long ms) throws InterruptedException {
    return clock.await(this, ms, () -> closed);
  }

  PublisherStatistics statistics() {
    return statistics;
  }

  @Override
  public boolean isConnected() {
    return link.connected();
  }

  @Override
  public long getPending() {
    return queue.size();
  }

  @Override
  public long getFinalized() {
    return statistics.count(Event.FINALIZED);
  }

  @Override
  public long getAppend() {
    return statistics.count(Event.APPEND);
  }

  @Override
  public long getTruncate() {
    return statistics.count(Event.TRUNCATE);
  }

  @Override
  public long getDelete() {
    return statistics.count(Event.DELETE);
  }

  @Override
  public long getFailed() {
    return getReasons().values().stream().mapToLong(Long::longValue).sum();
  }

  @Override
  public Map<String, Long> getReasons() {
    return statistics.reasons();
  }

  /** Queues a finalized replica to be made durable and published. Does no I/O. */
  void announce(ReplicaName name, ReplicaInfo replica) {
    activity.ended(name.blockId);
    if (!closed && !queue.add(new Pending(name, replica))) {
      statistics.failed(PublisherStatistics.OVERFLOW);
    }
  }

  /** Notes that data will be written to a replica. */
  void writingBegan(Replica replica) {
    activity.begun(replica);
  }

  /**
   * Publishes that replicas are about to change. After the timeout no further event is sent.
   * Failures are counted and not reported to the caller.
   */
  void withdraw(Event event, List<ReplicaName> replicas) {
    long deadline = clock.now() + limits.timeoutMs;
    boolean first = true;
    for (ReplicaName replica : replicas) {
      queue.withdraw(replica.block());
      if (first || clock.now() < deadline) {
        count(event, link.publish(event, replica, () -> true));
      } else {
        statistics.failed(PublisherStatistics.LATE);
      }
      first = false;
    }
  }

  private void count(Event event, int result) {
    if (result == 0) {
      statistics.published(event);
    } else if (result < 0) {
      statistics.failed(Errno.name(result));
    }
  }

  // ---- the thread ----------------------------------------------------------

  private void run() {
    try {
      while (!closed) {
        try {
          round();
        } catch (Throwable e) { // the datanode has no other thread that publishes
          failed(e);
        }
      }
      queue.close();
      link.disconnect("the datanode stops");
    } finally {
      synchronized (this) {
        ended = true;
        notifyAll();
      }
    }
  }

  /** Connects, or publishes what is waiting. */
  private void round() throws InterruptedException {
    long wait = link.connect();
    if (wait > 0) {
      closedWithin(wait);
      return;
    }
    keys.tellWhatChanged();
    if (queue.await(IDLE_MS)) {
      awaitQuiet();
      lookedFor = false;
      publishWaiting();
      if (lookedFor) {
        closedWithin(limits.backoffMs);
      }
    }
  }

  /** Counts a failure of the thread, and waits before the next round. */
  private void failed(Throwable e) {
    statistics.unexpected(e);
    try {
      closedWithin(IDLE_MS);
    } catch (InterruptedException again) {
      statistics.unexpected(again);
    }
  }

  /**
   * Waits until no data comes in for the datanode, at most {@code maxDelayMs}: if the blocks of a
   * long file were made durable at once, they would slow down the writing of those that follow.
   */
  private void awaitQuiet() throws InterruptedException {
    long deadline = clock.now() + limits.maxDelayMs;
    activity.sinceLastLook();
    boolean ends;
    do {
      ends = closedWithin(limits.delayMs);
    } while (!ends && activity.sinceLastLook() && clock.now() < deadline);
  }

  /** Publishes what is queued now. What is queued meanwhile waits for the next quiet moment. */
  private void publishWaiting() {
    for (int left = queue.size(); left > 0 && !closed; left -= BATCH) {
      publishBatch(queue.take(BATCH));
    }
  }

  private void publishBatch(List<Pending> batch) {
    try {
      for (Pending pending : makeDurable(batch)) {
        publish(pending);
      }
    } catch (RuntimeException | Error e) {
      statistics.unexpected(e);
    } finally {
      queue.done();
    }
  }

  private void publish(Pending pending) {
    int result = link.publish(Event.FINALIZED, pending.name, () -> !pending.withdrawn());
    if (Errno.losesConnection(result) && pending.mayRetry()) {
      queue.putBack(pending);
    } else if (result == Errno.ENODEV && isLookedFor(pending)) {
      lookedFor = true;
      queue.putBack(pending);
    } else {
      count(Event.FINALIZED, result);
      if (result == 0) {
        unserved.remove(pending.name.storageId);
      }
    }
  }

  private boolean isLookedFor(Pending pending) {
    String storage = pending.name.storageId;
    if (!unserved.contains(storage) && !pending.mayBeFoundYet()) {
      unserved.add(storage);
    }
    return !unserved.contains(storage);
  }

  // ---- durability ----------------------------------------------------------

  /**
   * Makes the batch durable and returns the replicas for which that succeeded. Writing is started
   * for all files before the first wait, so that it is one long run. The first wait then commits
   * the journal for all of them, and the other waits find it done.
   */
  private List<Pending> makeDurable(List<Pending> batch) {
    List<FsVolumeReference> references = new ArrayList<>();
    try {
      List<Pending> durable = new ArrayList<>(batch);
      durable.removeIf(pending -> !begin(pending, references));
      durable.removeIf(pending -> !syncFiles(pending));
      // The directories above were committed before: a journal keeps the order of changes.
      Map<File, Boolean> synced = new HashMap<>();
      durable.removeIf(
          pending ->
              !synced.computeIfAbsent(
                  pending.blockFile().getParentFile(),
                  directory -> succeeded(disk.syncDirectory(directory), directory)));
      return durable;
    } finally {
      IOUtils.cleanupWithLogger(LOG, references.toArray(new Closeable[0]));
    }
  }

  /**
   * Starts writing a replica's files. The added reference keeps the datanode from taking the volume
   * out meanwhile. False: the replica cannot be published.
   */
  private boolean begin(Pending pending, List<FsVolumeReference> references) {
    if (pending.withdrawn() || pending.blockFile() == null || pending.metaFile() == null) {
      return false;
    }
    try {
      references.add(pending.replica.getVolume().obtainReference());
    } catch (ClosedChannelException e) {
      return false;
    }
    disk.startWriting(pending.blockFile());
    disk.startWriting(pending.metaFile());
    return true;
  }

  private boolean syncFiles(Pending pending) {
    if (pending.withdrawn()) {
      return false;
    }
    for (File file : new File[] {pending.blockFile(), pending.metaFile()}) {
      int result = disk.syncData(file);
      // If it was withdrawn meanwhile, its files may have other names: an error does not count.
      if (pending.withdrawn() || !succeeded(result, file)) {
        return false;
      }
    }
    identity.makeDurable(pending.replica.getVolume(), pending.name.poolId);
    return true;
  }

  private boolean succeeded(int result, File file) {
    if (result == 0) {
      return true;
    }
    LOG.debug("vread: {} is not published: {}", file, Errno.name(result));
    statistics.failed(PublisherStatistics.SYNC + Errno.name(result));
    return false;
  }
}
