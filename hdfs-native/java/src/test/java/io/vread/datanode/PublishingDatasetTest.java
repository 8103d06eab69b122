// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collections;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.server.datanode.ReplicaHandler;
import org.apache.hadoop.hdfs.server.datanode.ReplicaNotFoundException;
import org.apache.hadoop.hdfs.server.datanode.StorageLocation;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi.ScanInfo;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;

/**
 * Which events each method of a data set makes the publisher send, and that the caller of the
 * method notices nothing.
 */
public class PublishingDatasetTest {
  private Bench bench;
  private FakeDataset stock;
  private FsDatasetSpi<?> dataset;

  @Before
  public void start() {
    bench = new Bench().start();
    stock = bench.stock;
    dataset = bench.dataset;
  }

  @After
  public void stop() {
    bench.close();
  }

  private void assertOrder(String... lines) {
    int last = -1;
    for (String line : lines) {
      bench.story.await(line);
      int index = bench.story.index(line);
      assertTrue(line + " in its place in " + bench.story.lines(), index > last);
      last = index;
    }
  }

  private long said() {
    return Arrays.stream(Event.values()).mapToLong(bench::count).sum();
  }

  private void assertNothingSaid() {
    bench.story.until(() -> bench.publisher.getPending() == 0, "empty queue");
    assertEquals("" + bench.story.lines(), 0, said());
  }

  /**
   * Calls the method with that many arguments: versions of Hadoop differ. Null if this one has
   * none.
   */
  private Object call(String name, Object... arguments) throws Throwable {
    for (Method method : FsDatasetSpi.class.getMethods()) {
      if (method.getName().equals(name) && method.getParameterCount() == arguments.length) {
        try {
          return method.invoke(dataset, arguments);
        } catch (InvocationTargetException e) {
          throw e.getCause();
        }
      }
    }
    return null;
  }

  private static boolean has(String name, int arguments) {
    return Arrays.stream(FsDatasetSpi.class.getMethods())
        .anyMatch(m -> m.getName().equals(name) && m.getParameterCount() == arguments);
  }

  // ---- finalizing ------------------------------------------------------------

  @Test
  public void finalizeBlock() throws IOException {
    stock.beingWritten(7, 1001, 5, "DS-1");
    stock.behaviours.put(
        "finalizeBlock",
        a -> {
          stock.finalized(7, 1001, 10, "DS-1");
          return null;
        });
    dataset.finalizeBlock(Bench.block(7, 1001), false);
    assertOrder("call finalizeBlock", "sync blk_7", "finalized 7_1001@DS-1");
  }

  @Test
  public void whatIsNotFinalizedAfterwardsIsNotPublished() throws IOException {
    stock.beingWritten(7, 1001, 5, "DS-1");
    dataset.finalizeBlock(Bench.block(7, 1001), false);
    dataset.finalizeBlock(Bench.block(8, 1001), false);
    stock.finalizedInMemory(9, 1001);
    dataset.finalizeBlock(Bench.block(9, 1001), false);
    assertNothingSaid();
  }

  @Test
  public void erasureCodedBlocksHaveNegativeIds() throws IOException {
    stock.finalized(-16, 1001, 5, "DS-1");
    dataset.finalizeBlock(Bench.block(-16, 1001), false);
    bench.story.await("finalized -16_1001@DS-1");
  }

  // ---- changes -----------------------------------------------------------------

  @Test
  public void append() throws IOException {
    stock.finalized(7, 1001, 10, "DS-1");
    stock.behaviours.put(
        "append",
        a -> {
          stock.beingWritten(7, 1002, 10, "DS-1");
          return null;
        });
    dataset.append(Bench.block(7, 1001), 1002, 10);
    assertOrder("append 7_1001@DS-1", "call append");
    assertEquals(1, said());
  }

  /**
   * append fails after the withdrawal. The replica is still finalized and must be published again.
   */
  @Test
  public void aFailedAppendIsTakenBack() {
    stock.finalized(7, 1001, 10, "DS-1");
    IOException cause = new ReplicaNotFoundException("no");
    stock.behaviours.put("append", a -> raise(cause));
    try {
      dataset.append(Bench.block(7, 1001), 1002, 10);
      fail("no exception");
    } catch (IOException e) {
      assertSame(cause, e);
    }
    assertOrder("append 7_1001@DS-1", "call append", "finalized 7_1001@DS-1");
  }

  @Test
  public void recoverAppendAndRecoverClose() throws IOException {
    stock.finalized(7, 1001, 10, "DS-1");
    dataset.recoverAppend(Bench.block(7, 1000), 1002, 10);
    assertOrder("append 7_1001@DS-1", "call recoverAppend");
    stock.finalized(8, 1001, 10, "DS-2");
    stock.behaviours.put(
        "recoverClose",
        a -> {
          stock.finalized(8, 1002, 10, "DS-2");
          return stock.replicas.get(8L);
        });
    assertSame(
        dataset.recoverClose(Bench.block(8, 1001), 1002, 10), stock.replicas.get(8L));
    assertOrder("append 8_1001@DS-2", "call recoverClose", "finalized 8_1002@DS-2");
  }

  @Test
  public void recoverRbwMayTruncate() throws IOException {
    stock.beingWritten(7, 1001, 10, "DS-1");
    dataset.recoverRbw(Bench.block(7, 1001), 1002, 0, 10);
    assertOrder("truncate 7_1001@DS-1", "call recoverRbw");
    assertEquals(1, said());
  }

  @Test
  public void recoveryThatTruncates() throws IOException {
    stock.finalized(7, 1001, 10, "DS-1");
    stock.behaviours.put(
        "updateReplicaUnderRecovery",
        a -> {
          stock.finalized(7, 1005, 4, "DS-1");
          return stock.replicas.get(7L);
        });
    dataset.updateReplicaUnderRecovery(Bench.block(7, 1001), 1005, 7, 4);
    assertOrder(
        "truncate 7_1001@DS-1", "call updateReplicaUnderRecovery", "finalized 7_1005@DS-1");
  }

  @Test
  public void recoveryThatOnlyTakesANewStamp() throws IOException {
    stock.finalized(7, 1001, 10, "DS-1");
    dataset.updateReplicaUnderRecovery(Bench.block(7, 1001), 1005, 7, 10);
    assertOrder("append 7_1001@DS-1", "call updateReplicaUnderRecovery");
  }

  @Test
  public void recoveryThatTruncatesACopyLeavesTheOldOneReadable() throws IOException {
    stock.finalized(7, 1001, 10, "DS-1");
    stock.behaviours.put(
        "updateReplicaUnderRecovery",
        a -> {
          stock.finalized(8, 1005, 4, "DS-1");
          return stock.replicas.get(7L);
        });
    dataset.updateReplicaUnderRecovery(Bench.block(7, 1001), 1005, 8, 4);
    bench.story.await("finalized 8_1005@DS-1");
    assertEquals(0, bench.count(Event.TRUNCATE) + bench.count(Event.APPEND));
  }

  @Test
  public void initReplicaRecoveryChangesNothing() throws IOException {
    stock.finalized(7, 1001, 10, "DS-1");
    dataset.initReplicaRecovery(null);
    assertNothingSaid();
  }

  // ---- deleting ------------------------------------------------------------------

  @Test
  public void invalidate() throws IOException {
    stock.finalized(7, 1001, 10, "DS-1");
    stock.finalized(8, 1001, 10, "DS-2");
    stock.finalized(9, 1001, 10, "DS-2");
    Block[] blocks = {new Block(7, 10, 1001), new Block(8, 10, 1001), new Block(9, 10, 1000)};
    dataset.invalidate(FakeDataset.POOL, blocks);
    assertOrder("delete 7_1001@DS-1", "delete 8_1001@DS-2", "call invalidate");
    assertEquals("not the one with another stamp, nor what is not there", 2, said());
  }

  @Test
  public void afterAFailedInvalidateBlocksStayWithdrawn() {
    stock.finalized(7, 1001, 10, "DS-1");
    IOException cause = new IOException("no");
    stock.behaviours.put("invalidate", a -> raise(cause));
    try {
      dataset.invalidate(FakeDataset.POOL, new Block[] {new Block(7, 10, 1001)});
      fail("no exception");
    } catch (IOException e) {
      assertSame(cause, e);
    }
    assertEquals(0, bench.publisher.getPending());
    assertEquals(1, said());
  }

  @Test
  public void invalidateMissingBlock() throws Throwable {
    if (!has("invalidateMissingBlock", 2)) {
      return;
    }
    stock.finalized(7, 1001, 10, "DS-1");
    call("invalidateMissingBlock", FakeDataset.POOL, new Block(7, 10, 1001));
    assertOrder("delete 7_1001@DS-1", "call invalidateMissingBlock", "finalized 7_1001@DS-1");
  }

  @Test
  public void aTemporaryReplicaReplacesAnOlderOne() throws IOException {
    stock.finalized(7, 1001, 10, "DS-1");
    stock.behaviours.put("createTemporary", a -> stock.replicas.remove(7L) == null ? null : null);
    dataset.createTemporary(StorageType.DISK, "DS-1", Bench.block(7, 1002), true);
    assertOrder("delete 7_1001@DS-1", "call createTemporary");
    stock.finalized(8, 1002, 10, "DS-1");
    dataset.createTemporary(StorageType.DISK, "DS-1", Bench.block(8, 1002), true);
    dataset.createTemporary(StorageType.DISK, "DS-1", Bench.block(9, 1002), true);
    assertEquals("of the same stamp: it is refused", 1, said());
  }

  @Test
  public void aNewReplicaWithANewStampReplacesAnOldOne() throws Throwable {
    stock.finalized(7, 1001, 10, "DS-1");
    dataset.createRbw(StorageType.DISK, "DS-1", Bench.block(7, 1001), false);
    assertNothingSaid();
    if (has("createRbw", 5)) {
      call("createRbw", StorageType.DISK, "DS-1", Bench.block(7, 1001), false, 0L);
      assertNothingSaid();
      stock.behaviours.put("createRbw", a -> stock.replicas.remove(7L) == null ? null : null);
      bench.story.clear();
      call("createRbw", StorageType.DISK, "DS-1", Bench.block(7, 1001), false, 1002L);
      assertOrder("delete 7_1001@DS-1", "call createRbw");
    }
  }

  @Test
  public void aMovedReplicaIsPublishedWhereItHasGone() throws IOException {
    stock.finalized(7, 1001, 10, "DS-1");
    FakeDataset.Behaviour move =
        a -> {
          Object old = stock.replicas.get(7L);
          stock.finalized(7, 1001, 10, "DS-2");
          return old;
        };
    stock.behaviours.put("moveBlockAcrossStorage", move);
    dataset.moveBlockAcrossStorage(Bench.block(7, 1001), StorageType.SSD, "DS-2");
    assertOrder("delete 7_1001@DS-1", "call moveBlockAcrossStorage", "finalized 7_1001@DS-2");
    bench.story.clear();
    stock.finalized(7, 1001, 10, "DS-1");
    stock.behaviours.put("moveBlockAcrossVolumes", move);
    dataset.moveBlockAcrossVolumes(Bench.block(7, 1001), null);
    assertOrder("delete 7_1001@DS-1", "call moveBlockAcrossVolumes", "finalized 7_1001@DS-2");
  }

  @Test
  public void theDirectoryScannersFindings() throws IOException {
    stock.finalized(7, 1001, 10, "DS-1");
    ScanInfo seven = new ScanInfo(7, null, null, null, stock.volume("DS-1", false));
    dataset.checkAndUpdate(FakeDataset.POOL, seven);
    assertOrder("delete 7_1001@DS-1", "call checkAndUpdate", "finalized 7_1001@DS-1");
    bench.story.clear();
    stock.behaviours.put(
        "checkAndUpdate",
        a -> {
          stock.finalized(8, 1001, 10, "DS-1");
          return null;
        });
    ScanInfo eight = new ScanInfo(8, null, null, null, stock.volume("DS-1", false));
    dataset.checkAndUpdate(FakeDataset.POOL, eight);
    assertOrder("call checkAndUpdate", "finalized 8_1001@DS-1");
    assertEquals(1, bench.count(Event.DELETE));
  }

  @Test
  public void replicasOpenForWritingAreWatched() throws IOException {
    stop();
    bench = Bench.delaying(20, 60_000).start();
    stock = bench.stock;
    stock.finalized(7, 1001, 10, "DS-1");
    GrowingReplica writing = new GrowingReplica(8);
    ReplicaHandler handler = new ReplicaHandler(writing.replica, null);
    stock.behaviours.put("createRbw", a -> handler);
    assertSame(
        handler, bench.dataset.createRbw(StorageType.DISK, "DS-1", Bench.block(8, 1001), false));
    bench.dataset.finalizeBlock(Bench.block(7, 1001), false);
    for (int looks = 0; looks < 20; looks++) {
      bench.clock.passOnceAwaited(20);
    }
    bench.clock.awaitWait(20);
    writing.growing = false;
    assertEquals(0, bench.story.count("start"));
    bench.clock.passOnceAwaited(20);
    bench.story.await("finalized 7_1001@DS-1");
  }

  // ---- what the datanode must not notice -------------------------------------------

  private static Object raise(Throwable cause) throws Throwable {
    throw cause;
  }

  @Test
  public void exceptionsAreTheStockOnes() throws IOException {
    for (Throwable cause :
        Arrays.asList(new IllegalStateException("x"), new Error("y"), new IOException("z"))) {
      stock.behaviours.put("finalizeBlock", a -> raise(cause));
      stock.behaviours.put("getLength", a -> raise(cause));
      try {
        dataset.finalizeBlock(Bench.block(7, 1001), false);
        fail("no exception");
      } catch (Throwable t) {
        assertSame(cause, t);
      }
      try {
        dataset.getLength(Bench.block(7, 1001));
        fail("no exception");
      } catch (Throwable t) {
        assertSame(cause, t);
      }
    }
  }

  /**
   * The lookup of a replica throws. The calls must reach the stock data set, and failures be
   * counted.
   */
  @Test
  public void aLookThatFailsChangesNothing() throws IOException {
    stock.behaviours.put("getReplica", a -> raise(new IllegalStateException("no such pool")));
    dataset.append(Bench.block(7, 1001), 1002, 10);
    dataset.invalidate(FakeDataset.POOL, new Block[] {new Block(7, 10, 1001)});
    dataset.finalizeBlock(Bench.block(7, 1001), false);
    assertEquals(1, bench.story.count("call append"));
    assertEquals(1, bench.story.count("call invalidate"));
    assertEquals(1, bench.story.count("call finalizeBlock"));
    assertEquals(3, bench.failed(IllegalStateException.class));
  }

  /**
   * Publishing throws. The call must reach the stock data set, and later events must be published.
   */
  @Test
  public void anErrorOfThePublisherEndsThere() throws IOException {
    stock.finalized(7, 1001, 10, "DS-1");
    for (Throwable broken :
        new Throwable[] {new IllegalStateException("broken"), new OutOfMemoryError("broken")}) {
      bench.backend.broken = broken;
      bench.story.clear();
      dataset.append(Bench.block(7, 1001), 1002, 10);
      assertEquals(1, bench.story.count("call append"));
      bench.story.until(
          () -> bench.failed(broken.getClass()) == 2, "the event taken back failed, too");
    }
    bench.backend.broken = null;
    dataset.finalizeBlock(Bench.block(7, 1001), false);
    bench.story.await("finalized 7_1001@DS-1");
  }

  @Test
  public void everythingElsePassesThrough() throws Throwable {
    for (Method method : FsDatasetSpi.class.getMethods()) {
      if (method.getParameterCount() == 0 && !method.getName().equals("shutdown")) {
        bench.story.clear();
        method.invoke(dataset);
        assertEquals(Collections.singletonList("call " + method.getName()), bench.story.lines());
      }
    }
    stock.behaviours.put("getVolume", a -> stock.volume("DS-9", false));
    assertEquals("DS-9", dataset.getVolume(Bench.block(7, 1001)).getStorageID());
    stock.behaviours.put("toString", a -> "stock");
    stock.behaviours.put("hashCode", a -> 17);
    assertEquals("stock", dataset.toString());
    assertEquals(17, dataset.hashCode());
    assertEquals(dataset, dataset);
    stock.behaviours.put("equals", a -> a[0] == stock.spi);
    assertNotEquals(dataset, "another");
  }

  @Test
  public void shutdownEndsThePublisherFirst() {
    dataset.shutdown();
    assertOrder("close", "call shutdown");
  }

  @Test
  public void noRamDiskBesideTheProxy() throws IOException {
    try {
      dataset.addVolume(StorageLocation.parse("[RAM_DISK]file:///ram"), Collections.emptyList());
      fail("no exception");
    } catch (IOException e) {
      assertTrue(e.getMessage(), e.getMessage().contains("RAM_DISK"));
    }
    assertEquals(0, bench.story.count("call addVolume"));
    dataset.addVolume(StorageLocation.parse("[DISK]file:///disk"), Collections.emptyList());
    assertEquals(1, bench.story.count("call addVolume"));
  }

  /**
   * The datanode makes millions of such calls. Each must make one call of the stock data set, and
   * cause nothing else.
   */
  @Test
  public void aHarmlessCallIsForwardedAndNothingElse() {
    AtomicInteger calls = new AtomicInteger();
    FsDatasetSpi<?> bare =
        FakeDataset.proxy(
            FsDatasetSpi.class, (proxy, method, arguments) -> (long) calls.incrementAndGet());
    FsDatasetSpi<?> wrapped = PublishingDataset.wrap(bare, bench.publisher, () -> {});
    bench.story.clear();
    for (int i = 1; i <= 1000; i++) {
      assertEquals(i, wrapped.getNumBlocksCached());
    }
    assertEquals(1000, calls.get());
    assertEquals(0, bench.publisher.getPending());
    assertEquals(Collections.emptyList(), bench.story.lines());
  }

  /**
   * Every method of this Hadoop's FsDatasetSpi must be in one set of {@link Judged}. A method in
   * neither set is new, and nobody has thought about it.
   */
  @Test
  public void everyMethodOfTheInterfaceHasBeenJudged() {
    for (Method method : FsDatasetSpi.class.getDeclaredMethods()) {
      boolean judged =
          Judged.CHANGES.contains(method.getName()) || Judged.HARMLESS.contains(method.getName());
      assertTrue(method + " is new: does it change finalized replicas?", judged);
    }
    for (String name : Judged.CHANGES) {
      assertFalse(name, Judged.HARMLESS.contains(name));
    }
  }
}
