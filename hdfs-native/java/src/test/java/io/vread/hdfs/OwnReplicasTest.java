// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import io.vread.Eventually;
import io.vread.FakeClock;
import io.vread.Settings;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.ReplicaAccessor;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.Timeout;

/**
 * How {@link OwnReplicas} asks the NameNode, for whom it makes readers wait, and what the builder
 * does with the answer.
 */
public class OwnReplicasTest {
  private static final BlockKey OWN = new BlockKey("BP-1", 1, 1001);
  private static final BlockKey OTHER = new BlockKey("BP-1", 2, 1001);
  private static final int LENGTH = 1000;

  @Rule public final Timeout hang = Timeout.seconds(Eventually.HANG_S);

  private final FakeClock clock = new FakeClock();
  private final Map<Long, Boolean> known = new HashMap<>();
  private final Deque<Runnable> questions = new ArrayDeque<>();
  private volatile Executor executor = Runnable::run;
  private int asked;
  private IOException failure;
  private final OwnReplicas own =
      new OwnReplicas(
          clock,
          task -> executor.execute(task),
          (conf, file, block) -> {
            asked++;
            if (failure != null) {
              throw failure;
            }
            return new HashMap<>(known);
          });

  public OwnReplicasTest() {
    known.put(OWN.id(), true);
    known.put(OTHER.id(), false);
  }

  private boolean has(String file, BlockKey block) {
    return own.has(null, file, block);
  }

  @Test
  public void oneQuestionForAllBlocksOfAFile() {
    for (int i = 0; i < 1000; i++) {
      assertTrue(has("/a", OWN));
      assertFalse(has("/a", OTHER));
    }
    assertEquals(1, asked);
    assertTrue(has("/b", OWN));
    assertEquals(2, asked);
    assertTrue(has("/a", new BlockKey("BP-2", OWN.id(), 1001)));
    assertEquals("another cluster's file", 3, asked);
  }

  /** A file that has grown. */
  @Test
  public void aNewBlockIsAskedForAfterASecond() {
    BlockKey grown = new BlockKey("BP-1", 3, 1001);
    assertFalse(has("/a", grown));
    known.put(3L, true);
    assertFalse(has("/a", grown));
    assertEquals(1, asked);
    clock.pass(1000);
    assertTrue(has("/a", grown));
    assertEquals(2, asked);
  }

  /** The NameNode hangs when the answer is a minute old. Nobody may wait for the next answer. */
  @Test
  public void anOldAnswerHoldsWithoutAWait() {
    assertTrue(has("/a", OWN));
    executor = questions::add;
    clock.pass(60_000);
    assertTrue(has("/a", OWN)); // here it would hang
    assertTrue(has("/a", OWN));
    assertEquals("one question at a time", 1, questions.size());
    known.put(OWN.id(), false);
    questions.remove().run();
    assertFalse(has("/a", OWN));
  }

  /** The first reader waits for a moment. While the NameNode is slow no other reader waits. */
  @Test
  public void aSlowNameNodeIsWaitedForOnce() throws Exception {
    executor = questions::add;
    boolean[] result = {true};
    Thread reader = new Thread(() -> result[0] = has("/a", OWN));
    reader.start();
    clock.passOnceAwaited(100);
    reader.join();
    assertFalse(result[0]);
    assertFalse(has("/b", OWN)); // here it would hang
    assertFalse(has("/a", OWN));
    questions.forEach(Runnable::run);
    assertTrue(has("/a", OWN));
    assertTrue(has("/b", OWN));
    assertEquals(2, asked);
  }

  @Test
  public void failuresAreNoAnswer() {
    failure = new IOException("no NameNode");
    assertFalse(has("/a", OWN));
    assertFalse(has("/a", OWN));
    assertEquals(1, asked);
    failure = null;
    clock.pass(1000);
    assertTrue(has("/a", OWN));
    failure = new IOException("no NameNode");
    clock.pass(60_000);
    assertTrue("the older answer holds", has("/a", OWN));
    assertEquals(3, asked);
    executor =
        task -> {
          throw new RejectedExecutionException("too many questions");
        };
    assertFalse(has("/b", OWN));
  }

  @Test
  public void withoutASocketThereIsNoShortCircuit() {
    assertFalse(OwnReplicas.possible(""));
    assertFalse(OwnReplicas.possible("/nonexistent/dn.sock"));
    assertFalse(OwnReplicas.possible("/nonexistent/dn._PORT"));
  }

  // ---- the builder ------------------------------------------------------------------------------

  private final FakeBackend backend = new FakeBackend();
  private final Statistics statistics = new Statistics();
  private final Configuration conf = new Configuration(false);
  private final Client client =
      new Client(Settings.of(conf), backend, new FakeDaemon(clock), clock, statistics);

  private ReplicaAccessor build(BlockKey block, boolean allowShortCircuit, OwnReplicas replicas) {
    backend.blocks.put(block, new FakeBackend.Block(LENGTH));
    VreadReplicaAccessorBuilder builder = new VreadReplicaAccessorBuilder();
    builder
        .setFileName("/a")
        .setBlock(block.id(), block.pool())
        .setGenerationStamp(block.generationStamp())
        .setVisibleLength(LENGTH)
        .setAllowShortCircuitReads(allowShortCircuit)
        .setConfiguration(conf);
    return builder.build(Settings.of(conf), client, replicas, null);
  }

  @Test
  public void aBlockOfThisMachineIsLeftToShortCircuit() {
    assertNull(build(OWN, true, own));
    assertEquals(
        Collections.singletonMap("short-circuit", 1L), statistics.fallbackReasons());
    assertEquals("vRead was not even asked", 0, backend.connects);
    assertNotNull(build(OTHER, true, own));
  }

  /** Without short-circuit the stock client would read such a block by TCP. */
  @Test
  public void otherwiseVreadReadsIt() {
    assertNotNull(build(OWN, false, own));
    assertNotNull(build(OWN, true, null));
    assertEquals(0, statistics.fallbackBlocks());
  }
}
