// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.vread.Errno;
import io.vread.Eventually;
import io.vread.Settings;
import java.io.StringWriter;
import java.security.PrivilegedExceptionAction;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.log4j.Logger;
import org.apache.log4j.SimpleLayout;
import org.apache.log4j.WriterAppender;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.Timeout;

/** The publisher's queue, thread and link, with a backend that works and with one that fails. */
public class PublisherTest {
  private static final int IDLE_MS = 1000;
  private static final int LOOKS = 120; // attempts for a storage the backend does not know

  /** Ends a test in which a thread waits for time that the test never lets pass. */
  @Rule public final Timeout limit = Timeout.seconds(Eventually.HANG_S);

  private static List<ReplicaName> names(Bench bench, long... ids) {
    return LongStream.of(ids)
        .mapToObj(id -> new ReplicaName(FakeDataset.POOL, bench.stock.replicas.get(id)))
        .collect(Collectors.toList());
  }

  @Test
  public void finalizedIsSaidOnceFilesAndDirectoryAreOnDisk() {
    try (Bench bench = new Bench().start()) {
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.announce(7);
      bench.story.await("finalized 7_1001@DS-1");
      List<String> lines = bench.story.lines();
      int said = lines.indexOf("finalized 7_1001@DS-1");
      for (String before :
          Arrays.asList("sync blk_7", "sync blk_7_1001.meta", "sync-dir dir-DS-1")) {
        assertTrue(before + " in " + lines, lines.indexOf(before) >= 0);
        assertTrue(before + " in " + lines, lines.indexOf(before) < said);
      }
      assertTrue(lines.indexOf("sync blk_7") < lines.indexOf("sync-dir dir-DS-1"));
      bench.story.until(() -> bench.count(Event.FINALIZED) == 1, "count");
      bench.story.until(() -> bench.publisher.getPending() == 0, "empty queue");
      assertEquals(0, bench.stock.references.get());
    }
  }

  /** Replicas are published on two volumes. Each volume's two VERSION files must be synced once. */
  @Test
  public void whatSaysWhoseTheDirectoryIsIsSyncedOncePerVolumeAndPool() {
    try (Bench bench = new Bench().start()) {
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.stock.finalized(8, 1001, 5, "DS-1");
      bench.stock.finalized(9, 1001, 5, "DS-2");
      bench.announce(7);
      bench.story.await("finalized 7_1001@DS-1");
      assertEquals("of the volume and of the pool", 2, bench.story.count("sync VERSION"));
      bench.announce(8);
      bench.story.await("finalized 8_1001@DS-1");
      assertEquals(2, bench.story.count("sync VERSION"));
      bench.announce(9);
      bench.story.await("finalized 9_1001@DS-2");
      assertEquals(4, bench.story.count("sync VERSION"));
    }
  }

  @Test
  public void aBatchStartsWritingAllBeforeItWaitsForAnyAndSyncsADirectoryOnce() {
    try (Bench bench = new Bench()) {
      for (long id = 1; id <= 10; id++) {
        bench.stock.finalized(id, 1001, 5, id % 2 == 0 ? "DS-even" : "DS-odd");
        bench.announce(id);
      }
      bench.start();
      bench.story.until(() -> bench.story.count("finalized") == 10, "10 events");
      List<String> lines = bench.story.lines();
      int firstSync = lines.indexOf("begin-sync blk_1");
      for (int i = 0; i < lines.size(); i++) {
        assertFalse(lines.toString(), lines.get(i).startsWith("start") && i > firstSync);
      }
      assertEquals(1, bench.story.count("sync-dir dir-DS-even"));
      assertEquals(1, bench.story.count("sync-dir dir-DS-odd"));
    }
  }

  @Test
  public void whatCannotBeMadeDurableIsNotPublishedAndTheRestIs() {
    try (Bench bench = new Bench()) {
      bench.stock.finalized(1, 1001, 5, "DS-1");
      bench.stock.finalized(2, 1001, 5, "DS-1");
      bench.stock.finalized(3, 1001, 5, "DS-1");
      bench.stock.finalized(4, 1001, 5, "DS-bad");
      bench.disk.fail("blk_1", Errno.EIO);
      bench.disk.fail("blk_2_1001.meta", Errno.ENOSPC);
      bench.disk.fail("dir-DS-bad", Errno.EIO);
      for (long id = 1; id <= 4; id++) {
        bench.announce(id);
      }
      bench.start();
      bench.story.await("finalized 3_1001@DS-1");
      bench.story.until(() -> bench.publisher.getPending() == 0, "empty queue");
      assertEquals(1, bench.story.count("finalized"));
      assertEquals(2, bench.failed("sync-EIO"));
      assertEquals(1, bench.failed("sync-ENOSPC"));
      assertEquals(0, bench.stock.references.get());
    }
  }

  @Test
  public void aStorageTheBackendDoesNotKnowYetIsPublishedAgain() {
    try (Bench bench = new Bench().start()) {
      bench.backend.refuse(Errno.ENODEV, 2);
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.announce(7);
      bench.clock.passOnceAwaited(Bench.BACKOFF_MS);
      bench.clock.passOnceAwaited(Bench.BACKOFF_MS);
      bench.story.await("finalized 7_1001@DS-1");
      bench.story.until(() -> bench.publisher.getPending() == 0, "end");
      assertEquals(2, bench.story.count("refused finalized 7"));
      assertEquals(0, bench.failed("ENODEV"));
    }
  }

  /**
   * The backend answers ENODEV to every attempt: after LOOKS attempts the storage is given up, and
   * the next replica there must be tried once only. After an accepted event all attempts must be
   * made again.
   */
  @Test
  public void aStorageTheBackendNeverKnowsIsGivenUpUntilItDoes() {
    try (Bench bench = new Bench().start()) {
      bench.backend.answer = Errno.ENODEV;
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.stock.finalized(8, 1001, 5, "DS-1");
      bench.announce(7);
      for (int look = 1; look < LOOKS; look++) {
        bench.clock.passOnceAwaited(Bench.BACKOFF_MS);
      }
      bench.story.until(() -> bench.failed("ENODEV") == 1, "giving up");
      assertEquals(LOOKS, bench.story.count("refused finalized 7"));
      bench.announce(8);
      bench.story.until(() -> bench.failed("ENODEV") == 2, "giving up at once");
      assertEquals(1, bench.story.count("refused finalized 8"));
      bench.backend.answer = 0;
      bench.announce(8);
      bench.story.await("finalized 8_1001@DS-1");
      bench.story.until(() -> bench.publisher.getPending() == 0, "end");
      bench.backend.answer = Errno.ENODEV;
      bench.announce(7);
      for (int look = 1; look < LOOKS; look++) {
        bench.clock.passOnceAwaited(Bench.BACKOFF_MS);
      }
      bench.story.until(() -> bench.failed("ENODEV") == 3, "giving up again");
      assertEquals(2 * LOOKS, bench.story.count("refused finalized 7"));
    }
  }

  @Test
  public void replicasOfAClosedVolumeAreLeftAlone() {
    try (Bench bench = new Bench().start()) {
      bench.stock.volumesClosed = true;
      bench.stock.finalized(1, 1001, 5, "DS-1");
      bench.announce(1);
      bench.story.until(() -> bench.publisher.getPending() == 0, "empty queue");
      assertEquals(0, bench.story.count("start"));
      assertEquals(0, bench.story.count("finalized"));
    }
  }

  @Test
  public void aWithdrawalReachesWhatIsBeingMadeDurable() {
    try (Bench bench = new Bench().start()) {
      bench.disk.gate = new CountDownLatch(1);
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.announce(7);
      bench.story.await("begin-sync blk_7");
      bench.publisher.withdraw(Event.APPEND, names(bench, 7));
      assertTrue("not held up by the disk", bench.story.index("append 7_1001@DS-1") >= 0);
      bench.disk.gate.countDown();
      bench.story.until(() -> bench.publisher.getPending() == 0, "empty queue");
      assertEquals(0, bench.story.count("finalized"));
    }
  }

  @Test
  public void aWithdrawalReachesWhatWaitsToBeSent() {
    try (Bench bench = new Bench()) {
      bench.backend.gate = new CountDownLatch(1);
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.stock.finalized(8, 1001, 5, "DS-1");
      bench.announce(7);
      bench.announce(8);
      bench.start();
      bench.story.await("held up: finalized 7_1001@DS-1");
      Thread writer = new Thread(() -> bench.publisher.withdraw(Event.APPEND, names(bench, 8)));
      writer.setDaemon(true);
      writer.start();
      bench.story.until(() -> bench.clock.waits().size() == 1, "wait for the link");
      bench.backend.gate.countDown();
      bench.story.await("append 8_1001@DS-1");
      bench.story.until(() -> bench.publisher.getPending() == 0, "empty queue");
      assertEquals("" + bench.story.lines(), 0, bench.story.count("finalized 8"));
    }
  }

  @Test
  public void aWithdrawalComesAfterWhatIsBeingPublished() {
    try (Bench bench = new Bench().start()) {
      bench.backend.gate = new CountDownLatch(1);
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.announce(7);
      bench.story.await("held up: finalized 7_1001@DS-1");
      Thread writer = new Thread(() -> bench.publisher.withdraw(Event.DELETE, names(bench, 7)));
      writer.setDaemon(true);
      writer.start();
      bench.story.until(() -> bench.clock.waits().size() == 1, "wait for the link");
      bench.backend.gate.countDown();
      bench.story.await("delete 7_1001@DS-1");
      int finalized = bench.story.index("finalized 7_1001@DS-1");
      assertTrue("" + bench.story.lines(), finalized >= 0);
      assertTrue("" + bench.story.lines(), finalized < bench.story.index("delete 7_1001@DS-1"));
    }
  }

  @Test
  public void theNewestOfABlockCounts() {
    try (Bench bench = new Bench()) {
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.announce(7);
      bench.stock.finalized(7, 1002, 6, "DS-1");
      bench.announce(7);
      assertEquals(1, bench.publisher.getPending());
      bench.start();
      bench.story.await("finalized 7_1002@DS-1");
      assertEquals(1, bench.story.count("finalized"));
    }
  }

  /**
   * A watched replica keeps growing: nothing may be synced. When it stops, the block is published.
   */
  @Test
  public void whileDataComesInTheDiskIsLeftToIt() {
    try (Bench bench = Bench.delaying(20, 60_000).start()) {
      GrowingReplica writing = new GrowingReplica(8);
      bench.publisher.writingBegan(writing.replica);
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.announce(7);
      for (int looks = 0; looks < 2000; looks++) {
        bench.clock.passOnceAwaited(20);
      }
      bench.clock.awaitWait(20);
      writing.growing = false; // it stays open
      assertEquals("" + bench.story.lines(), 0, bench.story.count("start"));
      bench.clock.passOnceAwaited(20);
      bench.story.await("finalized 7_1001@DS-1");
    }
  }

  /**
   * A watched replica keeps growing. After the longest delay the block must be published anyway.
   */
  @Test
  public void butNotForEver() {
    try (Bench bench = Bench.delaying(20, 100).start()) {
      bench.publisher.writingBegan(new GrowingReplica(8).replica);
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.announce(7);
      for (int looks = 0; looks < 100 / 20; looks++) {
        assertEquals("" + bench.story.lines(), 0, bench.story.count("start"));
        bench.clock.passOnceAwaited(20);
      }
      bench.story.await("finalized 7_1001@DS-1");
    }
  }

  /** The growing replica itself is finalized: its growth must not delay the block. */
  @Test
  public void replicasThatAreFinalizedAreNotWatched() {
    try (Bench bench = Bench.delaying(20, 60_000).start()) {
      bench.publisher.writingBegan(new GrowingReplica(7).replica);
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.announce(7);
      bench.clock.passOnceAwaited(20);
      bench.story.await("finalized 7_1001@DS-1");
    }
  }

  @Test
  public void withoutABackendNothingIsSyncedAndNobodyWaits() {
    try (Bench bench = new Bench()) {
      bench.backend.absent = true;
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.publisher.start();
      bench.announce(7);
      bench.clock.passOnceAwaited(Bench.BACKOFF_MS);
      bench.clock.passOnceAwaited(2 * Bench.BACKOFF_MS);
      for (int i = 0; i < 1000; i++) {
        bench.publisher.withdraw(Event.APPEND, names(bench, 7));
      }
      assertEquals(1000, bench.failed("ENOTCONN"));
      assertEquals(0, bench.story.count("start") + bench.story.count("sync"));
    }
  }

  @Test
  public void attemptsToConnectGetRarer() {
    try (Bench bench = new Bench()) {
      bench.backend.absent = true;
      bench.publisher.start();
      int attempts = 0;
      for (long ms = Bench.BACKOFF_MS; ms < Settings.MAX_BACKOFF_MS; ms *= 2) {
        bench.clock.passOnceAwaited(ms);
        assertTrue(bench.story.count("no backend") >= ++attempts);
      }
      bench.clock.passOnceAwaited(Settings.MAX_BACKOFF_MS);
      bench.clock.passOnceAwaited(Settings.MAX_BACKOFF_MS);
    }
  }

  @Test
  public void waitingReplicasArePublishedOnceABackendIsThere() {
    try (Bench bench = new Bench()) {
      bench.backend.absent = true;
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.publisher.start();
      bench.announce(7);
      bench.story.await("no backend");
      bench.backend.absent = false;
      bench.clock.passOnceAwaited(Bench.BACKOFF_MS);
      bench.story.await("finalized 7_1001@DS-1");
    }
  }

  @Test
  public void aHungBackendCostsOneTimeout() {
    try (Bench bench = new Bench().start()) {
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.backend.hung = true;
      bench.backend.absent = true;
      long start = bench.clock.now();
      for (int i = 0; i < 100; i++) {
        bench.publisher.withdraw(Event.TRUNCATE, names(bench, 7));
      }
      assertEquals(Bench.HANG_MS, bench.clock.now() - start);
      assertEquals(1, bench.story.count("hang"));
      assertEquals(1, bench.failed("ETIME"));
      assertEquals(99, bench.failed("ENOTCONN"));
    }
  }

  /**
   * The backend takes connections and answers no event. Each event that meets it pays a timeout, so
   * there must be fewer and fewer connections, until it answers.
   */
  @Test
  public void aBackendThatHangsAgainAndAgainIsAskedRarely() {
    try (Bench bench = new Bench().start()) {
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.backend.hung = true;
      bench.clock.awaitWait(IDLE_MS);
      int hangs = 0;
      for (long pause = Bench.BACKOFF_MS; pause < Settings.MAX_BACKOFF_MS; pause *= 2) {
        bench.publisher.withdraw(Event.TRUNCATE, names(bench, 7));
        assertEquals(++hangs, bench.story.count("hang"));
        bench.publisher.withdraw(Event.TRUNCATE, names(bench, 7));
        assertEquals("the link is down", hangs, bench.story.count("hang"));
        bench.clock.awaitWait(IDLE_MS - Bench.HANG_MS); // of the thread, which then finds out
        bench.clock.pass(IDLE_MS - Bench.HANG_MS);
        bench.clock.awaitWait(pause);
        assertEquals(hangs, bench.story.count("connect"));
        bench.clock.pass(pause);
        int connects = hangs + 1;
        bench.story.until(() -> bench.story.count("connect") == connects, "another connection");
        bench.clock.awaitWait(IDLE_MS);
      }
      bench.backend.hung = false;
      bench.publisher.withdraw(Event.TRUNCATE, names(bench, 7));
      bench.story.await("truncate 7_1001@DS-1");
      bench.clock.passOnceAwaited(IDLE_MS);
      bench.clock.awaitWait(IDLE_MS);
      bench.backend.die();
      bench.clock.pass(IDLE_MS);
      bench.clock.awaitWait(Bench.BACKOFF_MS);
    }
  }

  /** One pause before each attempt: a backend that is there again must be found soon. */
  @Test
  public void aBackendThatHangsAndThenIsAway() {
    try (Bench bench = new Bench().start()) {
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.clock.awaitWait(IDLE_MS);
      bench.backend.hung = true;
      bench.backend.absent = true;
      bench.publisher.withdraw(Event.TRUNCATE, names(bench, 7));
      bench.clock.passOnceAwaited(IDLE_MS - Bench.HANG_MS);
      for (int attempts = 0; attempts < 4; attempts++) {
        bench.clock.awaitWait(Bench.BACKOFF_MS << attempts);
        assertEquals(attempts, bench.story.count("no backend"));
        bench.clock.pass(Bench.BACKOFF_MS << attempts);
      }
      bench.story.until(() -> bench.story.count("no backend") == 4, "attempt");
    }
  }

  @Test
  public void manyThreadsPayTheSameTimeout() throws InterruptedException {
    try (Bench bench = new Bench().start()) {
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.backend.hung = true;
      bench.backend.absent = true;
      bench.backend.gate = new CountDownLatch(1);
      Thread[] writers = new Thread[8];
      for (int i = 0; i < writers.length; i++) {
        writers[i] = new Thread(() -> bench.publisher.withdraw(Event.DELETE, names(bench, 7)));
        writers[i].start();
      }
      bench.story.until(
          () -> bench.clock.waits().size() == writers.length, "all but one, and its own");
      bench.backend.gate.countDown();
      for (Thread writer : writers) {
        writer.join();
      }
      assertEquals(1, bench.story.count("hang"));
    }
  }

  @Test
  public void whoWaitsForTheLinkGivesUpAfterTheTimeout() throws InterruptedException {
    try (Bench bench = new Bench().start()) {
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.backend.gate = new CountDownLatch(1);
      bench.announce(7);
      bench.story.await("held up: finalized 7_1001@DS-1");
      Thread writer = new Thread(() -> bench.publisher.withdraw(Event.DELETE, names(bench, 7)));
      writer.start();
      bench.clock.passOnceAwaited(Bench.TIMEOUT_MS);
      writer.join();
      assertEquals(1, bench.failed("ETIME"));
      bench.backend.gate.countDown();
      bench.story.await("finalized 7_1001@DS-1");
      assertEquals(0, bench.story.count("delete"));
    }
  }

  @Test
  public void aRestartedBackendIsFoundAndHearsWhatItMissed() {
    try (Bench bench = new Bench().start()) {
      bench.backend.die();
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.announce(7);
      bench.story.await("no backend");
      bench.backend.absent = false;
      bench.clock.passOnceAwaited(Bench.BACKOFF_MS);
      bench.story.await("finalized 7_1001@DS-1");
      assertEquals(2, bench.story.count("connect"));
      assertEquals(1, bench.story.count("close"));
    }
  }

  @Test
  public void anIdleLinkThatDiedIsRenewed() {
    try (Bench bench = new Bench().start()) {
      bench.backend.die();
      bench.clock.passOnceAwaited(IDLE_MS);
      bench.story.await("no backend");
      bench.backend.absent = false;
      bench.clock.passOnceAwaited(Bench.BACKOFF_MS);
      bench.story.until(() -> bench.story.count("connect") == 2, "second connection");
    }
  }

  @Test
  public void aRefusalIsCountedAndNotRepeated() {
    try (Bench bench = new Bench().start()) {
      bench.backend.answer = Errno.EACCES;
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.announce(7);
      bench.story.until(() -> bench.failed("EACCES") == 1, "refusal");
      bench.publisher.withdraw(Event.APPEND, names(bench, 7));
      assertEquals(2, bench.failed("EACCES"));
      assertEquals(1, bench.story.count("connect"));
      assertEquals(0, bench.count(Event.FINALIZED));
    }
  }

  @Test
  public void aFullQueueDropsTheOldest() {
    try (Bench bench = new Bench(Bench.TIMEOUT_MS, 0, 2000, 3)) {
      for (long id = 1; id <= 5; id++) {
        bench.stock.finalized(id, 1001, 5, "DS-1");
        bench.announce(id);
      }
      assertEquals(3, bench.publisher.getPending());
      assertEquals(2, bench.failed("overflow"));
      bench.start();
      bench.story.until(() -> bench.story.count("finalized") == 3, "3 events");
      assertTrue(bench.story.index("finalized 5_1001@DS-1") >= 0);
      assertEquals(-1, bench.story.index("finalized 1_1001@DS-1"));
    }
  }

  /**
   * If the first withdrawal takes less than the timeout, the second must be sent too. If the first
   * takes the whole timeout, the second must not be sent and counts as late.
   */
  @Test
  public void aLongListEndsWithItsTime() {
    try (Bench bench = new Bench(2000, 0, 2000, 4096).start()) {
      bench.stock.finalized(1, 1001, 5, "DS-1");
      bench.stock.finalized(2, 1001, 5, "DS-1");
      bench.backend.takesMs = 1999;
      bench.publisher.withdraw(Event.DELETE, names(bench, 1, 2));
      assertEquals(2, bench.count(Event.DELETE));
      bench.backend.takesMs = 2000;
      bench.publisher.withdraw(Event.TRUNCATE, names(bench, 1, 2));
      assertEquals(1, bench.count(Event.TRUNCATE));
      assertEquals(1, bench.failed("late"));
    }
  }

  @Test
  public void anInterruptIsKeptForTheDatanode() {
    try (Bench bench = new Bench().start()) {
      bench.stock.finalized(7, 1001, 5, "DS-1");
      Thread.currentThread().interrupt();
      try {
        bench.publisher.withdraw(Event.APPEND, names(bench, 7));
        bench.announce(7);
      } finally {
        assertTrue(Thread.interrupted());
      }
      assertEquals(1, bench.count(Event.APPEND));
      bench.story.await("finalized 7_1001@DS-1");
    }
  }

  /** The threads of this name. Those of earlier tests have ended or are about to end. */
  static void interrupt(String name) {
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().equals(name)) {
        thread.interrupt();
      }
    }
  }

  private static long warnings(String log, Throwable failure) {
    return Arrays.stream(log.split("\n"))
        .filter(line -> line.startsWith("WARN") && line.contains(failure.toString()))
        .count();
  }

  /** Connecting throws whatever there is to throw, several times. The thread must go on. */
  @Test
  public void whateverIsThrownTheThreadGoesOn() {
    StringWriter log = new StringWriter();
    WriterAppender appender = new WriterAppender(new SimpleLayout(), log);
    Logger.getLogger(PublisherStatistics.class).addAppender(appender);
    try (Bench bench = new Bench()) {
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.announce(7);
      Throwable[] failures = {
        new IllegalStateException("test"),
        new OutOfMemoryError("unable to create native thread"),
        new UnsatisfiedLinkError("an old library")
      };
      bench.backend.brokenConnect = failures[0];
      bench.publisher.start();
      int rounds = 0;
      for (int times = 1; times <= 3; times++) {
        for (Throwable failure : failures) {
          int count = times;
          bench.story.until(() -> bench.failed(failure.getClass()) == count, "failure " + failure);
          bench.clock.awaitWait(IDLE_MS);
          boolean last = ++rounds == 3 * failures.length;
          bench.backend.brokenConnect = last ? null : failures[rounds % failures.length];
          bench.clock.pass(IDLE_MS);
        }
      }
      bench.story.await("finalized 7_1001@DS-1");
      for (Throwable failure : failures) {
        assertEquals(log.toString(), 1, warnings(log.toString(), failure));
      }
    } finally {
      Logger.getLogger(PublisherStatistics.class).removeAppender(appender);
    }
  }

  @Test
  public void anInterruptDoesNotEndTheThread() {
    try (Bench bench = new Bench().start()) {
      bench.clock.awaitWait(IDLE_MS);
      interrupt("vread-publisher");
      bench.story.until(() -> bench.failed(InterruptedException.class) == 1, "interrupt");
      bench.stock.finalized(7, 1001, 5, "DS-1");
      bench.announce(7);
      bench.clock.passOnceAwaited(IDLE_MS);
      bench.story.await("finalized 7_1001@DS-1");
    }
  }

  /** A user's thread makes and starts the publisher, as in a test cluster within a program. */
  @Test
  public void theThreadsAreNoUsers() throws Exception {
    Bench[] bench = new Bench[1];
    UserGroupInformation.createRemoteUser("somebody")
        .doAs(
            (PrivilegedExceptionAction<Bench>) () -> bench[0] = new Bench().start());
    bench[0].keyClock.passOnceAwaited(KeyPublisher.PERIOD_MS);
    String login = UserGroupInformation.getLoginUser().getUserName();
    Map<String, String> expected = new HashMap<>();
    expected.put("vread-publisher", login);
    expected.put("vread-block-keys", login);
    bench[0].story.until(() -> bench[0].keys.askers.size() == 2, "both threads");
    assertEquals(expected, bench[0].keys.askers);
    bench[0].close();
  }

  @Test
  public void closingEndsTheThreadWithItsQueueUnpublished() {
    Bench bench = Bench.delaying(60_000, 60_000).start();
    bench.stock.finalized(7, 1001, 5, "DS-1");
    bench.announce(7);
    bench.close();
    assertEquals(1, bench.story.count("close"));
    assertEquals(0, bench.publisher.getPending());
    bench.announce(7);
    assertEquals(0, bench.publisher.getPending());
    bench.publisher.withdraw(Event.DELETE, names(bench, 7));
    assertEquals(0, bench.story.count("finalized") + bench.story.count("delete"));
  }

  @Test
  public void closingWaitsForASlowDiskForASecondAtMost() throws InterruptedException {
    Bench bench = new Bench().start();
    bench.disk.gate = new CountDownLatch(1);
    bench.stock.finalized(7, 1001, 5, "DS-1");
    bench.announce(7);
    bench.story.await("begin-sync blk_7");
    Thread closing = new Thread(bench::close);
    closing.start();
    bench.clock.passOnceAwaited(1000);
    closing.join();
    assertEquals(0, bench.story.count("close"));
    bench.disk.gate.countDown();
    bench.story.await("close");
  }

  @Test
  public void closingBeforeStartingIsFine() {
    new Bench().close();
    Bench bench = new Bench();
    bench.publisher.withdraw(Event.DELETE, Collections.emptyList());
    bench.close();
  }
}
