// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.FakeClock;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;

/**
 * A publisher between a fake data set and a fake backend, for the tests of this package. Its time
 * passes only when a test says so.
 */
final class Bench implements AutoCloseable {
  /** How long a hung backend keeps its caller waiting. */
  static final int HANG_MS = 200;

  static final int BACKOFF_MS = 20;

  static final int TIMEOUT_MS = 10_000;

  final FakeClock clock = new FakeClock();
  final FakeClock keyClock = new FakeClock(); // of the thread that looks for new keys
  final Story story = new Story();
  final FakeBackend backend = new FakeBackend(story, clock);
  final FakeDisk disk = new FakeDisk(story);
  final FakeDataset stock = new FakeDataset(story);
  final FakeKeys keys = new FakeKeys();
  final Publisher publisher;
  final FsDatasetSpi<?> dataset;

  Bench() {
    this(TIMEOUT_MS, 0, 2000, 4096);
  }

  Bench(long timeoutMs, long delayMs, long maxDelayMs, int queueLimit) {
    PublisherLimits limits =
        new PublisherLimits(timeoutMs, delayMs, maxDelayMs, queueLimit, BACKOFF_MS);
    publisher = new Publisher(limits, backend, disk, keys, clock, keyClock);
    dataset = PublishingDataset.wrap(stock.spi, publisher, publisher::close);
  }

  /** Data that comes in delays publishing. */
  static Bench delaying(long delayMs, long maxDelayMs) {
    return new Bench(TIMEOUT_MS, delayMs, maxDelayMs, 4096);
  }

  /** Starts the publisher, and waits until it is connected. */
  Bench start() {
    publisher.start();
    story.until(publisher::isConnected, "connection");
    return this;
  }

  void announce(long id) {
    publisher.announce(
        new ReplicaName(FakeDataset.POOL, stock.replicas.get(id)), stock.replicas.get(id));
  }

  static ExtendedBlock block(long id, long stamp) {
    return new ExtendedBlock(FakeDataset.POOL, id, 10, stamp);
  }

  long count(Event event) {
    return publisher.statistics().count(event);
  }

  long failed(String reason) {
    return publisher.statistics().reasons().getOrDefault(reason, 0L);
  }

  /** Failures of this class that nothing foresaw. */
  long failed(Class<? extends Throwable> unexpected) {
    return failed(PublisherStatistics.INTERNAL + unexpected.getSimpleName());
  }

  @Override
  public void close() {
    publisher.close();
  }
}
