// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;

import io.vread.Errno;
import io.vread.Eventually;
import io.vread.FakeClock;
import io.vread.FakeDaemon;
import io.vread.Settings;
import io.vread.hdfs.locations.BlockKey;
import io.vread.hdfs.locations.FileSystemContext;
import io.vread.hdfs.metrics.Statistics;
import io.vread.hdfs.read.Client;
import io.vread.hdfs.read.FakeBackend;
import io.vread.hdfs.read.Reads;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.concurrent.CountDownLatch;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.ReplicaAccessor;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.Timeout;

/**
 * The second attempt of a hedged read while the first one waits for the backend: the builder must
 * leave it to the stock client. The backend's calls hang as long as the test wants.
 */
public class HedgedReadTest {
  private static final int LENGTH = 100_000;
  private static final int THRESHOLD_MS = 400;
  private static final BlockKey BLOCK = new BlockKey("nn", "BP-1", 1, 1001);

  @Rule public final Timeout hang = Timeout.seconds(Eventually.HANG_S);

  private final FakeClock clock = new FakeClock();
  private final FakeBackend backend = new FakeBackend();
  private final Statistics statistics = new Statistics();
  private final Client client =
      new Client(
          settings(new Configuration(false)),
          backend,
          new FakeDaemon(clock),
          clock,
          30_000,
          statistics);
  private final FileSystemContext context = Reads.context(clock);
  private final Configuration hedged = new Configuration(false);

  private final CountDownLatch hangs = new CountDownLatch(1);
  private final CountDownLatch answer = new CountDownLatch(1);

  public HedgedReadTest() {
    backend.blocks.put(BLOCK, new FakeBackend.Block(LENGTH));
    hedged.setInt("dfs.client.hedged.read.threadpool.size", 4);
    hedged.setLong("dfs.client.hedged.read.threshold.millis", THRESHOLD_MS);
  }

  private static Settings settings(Configuration conf) {
    return Settings.of(conf);
  }

  private ReplicaAccessor build(Configuration conf, BlockKey block, long end) {
    VreadReplicaAccessorBuilder builder = new VreadReplicaAccessorBuilder();
    LocatedBlocks answer = Reads.answer(Reads.located(block, Reads.ELSEWHERE, "DS-1"));
    context.learn(Reads.FILE, answer);
    builder
        .setFileName(Reads.FILE)
        .setBlock(block.id(), block.pool())
        .setGenerationStamp(block.generationStamp())
        .setVisibleLength(end)
        .setConfiguration(conf);
    ReplicaAccessor built = builder.build(settings(conf), context, client, false, null);
    assertEquals(1, answer.locatedBlockCount()); // is known as long as somebody has it
    return built;
  }

  private ReplicaAccessor build(Configuration conf) {
    return build(conf, BLOCK, 64);
  }

  private void hang() {
    hangs.countDown();
    try {
      answer.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A positional read on a thread of its own. It hangs until {@link #answer}. */
  private final class FirstAttempt {
    final ByteBuffer bytes = ByteBuffer.allocate(64);
    volatile Object result;
    final Thread thread = new Thread(this::run);

    FirstAttempt() throws InterruptedException {
      thread.start();
      hangs.await();
    }

    private void run() {
      try {
        ReplicaAccessor reader = build(hedged);
        result = reader.read(0, bytes);
        reader.close();
      } catch (IOException e) {
        result = e.getClass();
      }
    }

    Object end() throws InterruptedException {
      answer.countDown();
      thread.join();
      return result;
    }
  }

  private void refusedAsHedge(ReplicaAccessor reader, long times) {
    assertNull(reader);
    assertEquals(Collections.singletonMap("hedge", times), statistics.getFallbackReasons());
  }

  @Test
  public void theSecondAttemptGoesAnotherWay() throws Exception {
    backend.duringRead = this::hang;
    FirstAttempt first = new FirstAttempt();
    clock.pass(THRESHOLD_MS);
    refusedAsHedge(build(hedged), 1);
    assertEquals("it did not wait, and nothing was asked", 1, backend.preads);
    assertEquals(64, first.end());
    assertArrayEquals(
        Arrays.copyOf(backend.blocks.get(BLOCK).content, 64), first.bytes.array());
    assertNotNull("nothing is late any more", build(hedged));
  }

  /**
   * The stock client's threshold begins before the first attempt reaches the backend. The second
   * attempt must be refused nevertheless.
   */
  @Test
  public void aFirstAttemptThatBeganSlowlyIsLateToo() throws Exception {
    backend.duringRead = this::hang;
    FirstAttempt first = new FirstAttempt();
    clock.pass(THRESHOLD_MS - 20);
    refusedAsHedge(build(hedged), 1);
    first.end();
  }

  @Test
  public void anOpenThatHangsIsLateToo() throws Exception {
    backend.duringOpen = this::hang;
    FirstAttempt first = new FirstAttempt();
    clock.pass(THRESHOLD_MS);
    refusedAsHedge(build(hedged), 1);
    assertEquals(1, backend.opens);
    assertEquals(64, first.end());
  }

  /** The read that fails in the end must end the lateness, too. */
  @Test
  public void afterAFailedReadTheReasonIsTheFailure() throws Exception {
    backend.duringRead = this::hang;
    FirstAttempt first = new FirstAttempt();
    clock.pass(THRESHOLD_MS);
    refusedAsHedge(build(hedged), 1);
    backend.errnoAfterRead = Errno.EIO;
    first.end();
    assertNull(build(hedged));
    assertEquals((Long) 1L, statistics.getFallbackReasons().get("EIO"));
    assertEquals((Long) 1L, statistics.getFallbackReasons().get("hedge"));
  }

  /** Other readers of the same block, before anything is late, share the replica as always. */
  @Test
  public void aReadThatIsNotLateRefusesNobody() throws Exception {
    backend.duringRead = this::hang;
    FirstAttempt first = new FirstAttempt();
    clock.pass(THRESHOLD_MS / 2 - 1);
    assertNotNull(build(hedged));
    first.end();
    assertEquals(0, statistics.getFallbackBlocks());
  }

  @Test
  public void otherBlocksAreReadByVread() throws Exception {
    BlockKey other = new BlockKey("nn", "BP-1", 2, 1001);
    backend.blocks.put(other, new FakeBackend.Block(LENGTH));
    backend.duringRead = this::hang;
    FirstAttempt first = new FirstAttempt();
    clock.pass(THRESHOLD_MS);
    assertNotNull(build(hedged, other, 64));
    first.end();
  }

  /** A client without hedged reads has no other way in mind: it waits as before. */
  @Test
  public void withoutHedgedReadsNothingIsRefused() throws Exception {
    backend.duringRead = this::hang;
    FirstAttempt first = new FirstAttempt();
    clock.pass(100 * THRESHOLD_MS);
    assertNotNull(build(new Configuration(false)));
    first.end();
  }
}
