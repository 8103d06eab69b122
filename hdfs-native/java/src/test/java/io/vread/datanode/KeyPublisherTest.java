// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.vread.Errno;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import org.apache.hadoop.hdfs.security.token.block.BlockKey;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenSecretManager;
import org.junit.Test;

/** When the publisher sends keys to the backend, and which keys. */
public class KeyPublisherTest {
  private static final int IDLE_MS = 1000;
  private static final int DEADLINE_LOOKS = 3;

  /**
   * Waits until the publisher has checked the datanode's keys at least DEADLINE_LOOKS more times.
   */
  private static void letItLook(Bench bench) {
    for (int i = 0; i < DEADLINE_LOOKS; i++) {
      long id = 100 + bench.story.count("finalized"); // another one each time
      bench.stock.finalized(id, 1001, 5, "DS-1");
      bench.announce(id);
      bench.story.await("finalized " + id + "_1001@DS-1");
    }
  }

  @Test
  public void keysAreToldOnceAndWhenTheyChange() {
    try (Bench bench = new Bench()) {
      bench.keys.pools.put("BP-1", FakeKeys.keys(1, 2));
      bench.start();
      bench.story.await("keys BP-1@DS-1: 1 2");
      letItLook(bench);
      bench.keys.pools.put("BP-1", FakeKeys.keys(1, 2));
      letItLook(bench);
      assertEquals(1, bench.story.count("keys "));
      bench.keys.pools.put("BP-1", FakeKeys.keys(2, 3));
      bench.keyClock.passOnceAwaited(KeyPublisher.PERIOD_MS);
      bench.story.await("keys BP-1@DS-1: 2 3");
      bench.keys.pools.put("BP-2", BlockKeys.OFF);
      bench.keyClock.passOnceAwaited(KeyPublisher.PERIOD_MS);
      bench.story.await("keys BP-2@DS-1: off");
      bench.keys.pools.put("BP-2", FakeKeys.keys());
      bench.keyClock.passOnceAwaited(KeyPublisher.PERIOD_MS);
      bench.story.await("keys BP-2@DS-1:");
      letItLook(bench);
      assertEquals(4, bench.story.count("keys "));
    }
  }

  /** A NameNode uses a new key at once. The disk may need long for the replicas before it. */
  @Test
  public void keysDoNotWaitForTheDisk() {
    try (Bench bench = new Bench()) {
      bench.keys.pools.put("BP-1", FakeKeys.keys(1));
      bench.start();
      bench.story.await("keys BP-1@DS-1: 1");
      bench.disk.gate = new CountDownLatch(1);
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.announce(7);
      bench.story.await("begin-sync blk_7");
      bench.keys.pools.put("BP-1", FakeKeys.keys(1, 2));
      bench.keyClock.passOnceAwaited(KeyPublisher.PERIOD_MS);
      bench.story.await("keys BP-1@DS-1: 1 2");
      assertEquals(0, bench.story.count("finalized"));
      bench.disk.gate.countDown();
      bench.story.await("finalized 7_1001@DS-1");
    }
  }

  @Test
  public void anotherConnectionIsToldAnew() {
    try (Bench bench = new Bench()) {
      bench.keys.pools.put("BP-1", FakeKeys.keys(1));
      bench.start();
      bench.story.await("keys BP-1@DS-1: 1");
      bench.backend.die();
      bench.clock.passOnceAwaited(IDLE_MS);
      bench.story.await("no backend");
      bench.backend.absent = false;
      bench.clock.passOnceAwaited(Bench.BACKOFF_MS);
      bench.story.until(() -> bench.story.count("keys BP-1@DS-1: 1") == 2, "told again");
    }
  }

  @Test
  public void aStorageThatIsNotKnownYetIsToldAgain() {
    try (Bench bench = new Bench()) {
      bench.keys.pools.put("BP-1", FakeKeys.keys(1));
      bench.backend.keysAnswer = Errno.ENODEV;
      bench.start();
      bench.story.await("refused keys BP-1@DS-1: 1");
      bench.keyClock.passOnceAwaited(KeyPublisher.PERIOD_MS);
      bench.story.until(() -> bench.story.count("refused keys") == 2, "second attempt");
      bench.backend.keysAnswer = 0;
      bench.keyClock.passOnceAwaited(KeyPublisher.PERIOD_MS);
      bench.story.await("keys BP-1@DS-1: 1");
      assertEquals(0, bench.failed("keys-ENODEV"));
    }
  }

  /** The backend refuses keys. They must be sent once, and the failure counted once. */
  @Test
  public void aBackendThatTakesNoneIsLeftAlone() {
    try (Bench bench = new Bench()) {
      bench.keys.pools.put("BP-1", FakeKeys.keys(1));
      bench.backend.keysAnswer = Errno.EOPNOTSUPP;
      bench.start();
      bench.story.await("refused keys BP-1@DS-1: 1");
      letItLook(bench);
      assertEquals(1, bench.story.count("refused keys"));
      assertEquals(1, bench.failed("keys-EOPNOTSUPP"));
    }
  }

  /** Asking for the keys throws. Blocks must still be published, and the failure counted. */
  @Test
  public void whateverFailsThereBlocksArePublished() {
    try (Bench bench = new Bench()) {
      bench.keys.broken = new IllegalStateException("test");
      bench.start();
      letItLook(bench);
      assertTrue(bench.failed(IllegalStateException.class) > 0);
    }
  }

  /** Asking for the keys throws whatever there is to throw. Later keys must be told. */
  @Test
  public void theThreadForKeysGoesOn() {
    for (Throwable failure :
        new Throwable[] {new OutOfMemoryError("test"), new NoClassDefFoundError("test")}) {
      try (Bench bench = new Bench()) {
        bench.keys.broken = failure;
        bench.start();
        for (int i = 0; i < 3; i++) {
          bench.keyClock.passOnceAwaited(KeyPublisher.PERIOD_MS);
        }
        bench.story.until(() -> bench.failed(failure.getClass()) >= 3, "failures");
        bench.keys.pools.put("BP-1", FakeKeys.keys(1));
        bench.keys.broken = null;
        bench.keyClock.passOnceAwaited(KeyPublisher.PERIOD_MS);
        bench.story.await("keys BP-1@DS-1: 1");
      }
    }
  }

  @Test
  public void anInterruptDoesNotEndTheThreadForKeys() {
    try (Bench bench = new Bench().start()) {
      bench.keyClock.awaitWait(KeyPublisher.PERIOD_MS);
      PublisherTest.interrupt("vread-block-keys");
      bench.story.until(() -> bench.failed(InterruptedException.class) == 1, "interrupt");
      bench.keys.pools.put("BP-1", FakeKeys.keys(1));
      bench.keyClock.passOnceAwaited(KeyPublisher.PERIOD_MS);
      bench.story.await("keys BP-1@DS-1: 1");
    }
  }

  @Test
  public void keysAreCompared() {
    assertTrue(FakeKeys.keys(1, 2).sameAs(FakeKeys.keys(1, 2)));
    assertFalse(FakeKeys.keys(1, 2).sameAs(FakeKeys.keys(1)));
    assertFalse(FakeKeys.keys(1, 2).sameAs(FakeKeys.keys(1, 3)));
    assertFalse(FakeKeys.keys().sameAs(BlockKeys.OFF));
    assertFalse(FakeKeys.keys().sameAs(null));
    for (BlockKey other :
        Arrays.asList(
            new BlockKey(1, 1001, new byte[] {1}), new BlockKey(1, 1000, new byte[] {2}))) {
      assertFalse(FakeKeys.keys(1).sameAs(BlockKeys.on(Arrays.asList(other))));
    }
  }

  /**
   * A datanode's secret manager gets keys from its NameNode's. {@link DatanodeKeys} must find all
   * of them there, with expiry and algorithm.
   */
  @Test
  public void theKeysOfAStockSecretManager() throws Exception {
    BlockTokenSecretManager master =
        new BlockTokenSecretManager(60_000, 60_000, 0, 1, "BP-1", null, true);
    BlockTokenSecretManager slave =
        new BlockTokenSecretManager(60_000, 60_000, "BP-1", null, true);
    DatanodeKeys source = new DatanodeKeys(null, null);
    assertEquals(0, source.keysOf(slave).keys.size());
    slave.addKeys(master.exportKeys());
    Map<Integer, BlockKey> expected = new TreeMap<>();
    for (BlockKey key : master.exportKeys().getAllKeys()) {
      expected.put(key.getKeyId(), key);
    }
    BlockKeys keys = source.keysOf(slave);
    assertTrue(keys.tokens);
    assertTrue(expected.size() >= 2);
    assertEquals(new ArrayList<>(expected.values()), keys.keys);
    keys.keys.forEach(key -> assertEquals(1, BlockKeys.algorithm(key)));
    assertEquals(keys.keys.size() + " keys", keys.toString());
  }
}
