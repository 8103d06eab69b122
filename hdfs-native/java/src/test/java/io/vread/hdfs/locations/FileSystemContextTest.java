// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import io.vread.FakeClock;
import io.vread.hdfs.read.Reads;
import io.vread.hdfs.read.StockOpener;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FsServerDefaults;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;
import org.apache.hadoop.hdfs.security.token.block.DataEncryptionKey;
import org.apache.hadoop.util.DataChecksum;
import org.junit.Before;
import org.junit.Test;

/** What a {@link FileSystemContext} asks its NameNode, when, and on which thread. */
public class FileSystemContextTest {
  private static final BlockKey BLOCK = new BlockKey("nn", "BP-1", 1, 1001);
  private static final long HOUR_MS = 3_600_000;

  private final FakeClock clock = new FakeClock();
  private final Deque<Runnable> heldBack = new ArrayDeque<>();
  private final NameNodeCalls calls =
      new NameNodeCalls(heldBack::add, new ScheduledThreadPoolExecutor(0));
  private FakeClient client;

  /** A client of a NameNode that the test plays. */
  private static final class FakeClient extends DFSClient {
    LocatedBlock block;
    boolean encrypts;
    boolean down;
    int located;
    int defaults;

    FakeClient() throws IOException {
      super(URI.create("hdfs://127.0.0.1:1"), new Configuration(false), null);
    }

    @Override
    public LocatedBlocks getLocatedBlocks(String file, long start, long length)
        throws IOException {
      located++;
      check();
      return Reads.answer(block);
    }

    @Override
    public DataEncryptionKey newDataEncryptionKey() throws IOException {
      defaults++;
      check();
      return null;
    }

    @Override
    public FsServerDefaults getServerDefaults() {
      return new FsServerDefaults(
          1, 1, 1, (short) 1, 1, encrypts, 1, DataChecksum.Type.CRC32C, "");
    }

    private void check() throws IOException {
      if (down) {
        throw new IOException("the NameNode is down");
      }
    }
  }

  @Before
  public void makeClient() throws IOException {
    client = new FakeClient();
    client.block = Reads.located(BLOCK, Reads.ELSEWHERE, "DS-1");
  }

  private FileSystemContext observed() {
    FileSystemContext context = new FileSystemContext("nn", null, null, clock, calls);
    context.use(client);
    return context;
  }

  private FileSystemContext stock() {
    return new FileSystemContext("client-1", null, () -> client, clock, calls);
  }

  private void answer() {
    while (!heldBack.isEmpty()) {
      heldBack.poll().run();
    }
  }

  @Test
  public void anObservedNameNodeIsNotAsked() {
    FileSystemContext context = observed();
    LocatedBlocks seen = Reads.answer(client.block);
    context.learn("/a", seen);
    answer();
    assertSame(client.block, context.locate("/a", BLOCK).block());
    clock.pass(HOUR_MS / 2);
    assertNotNull(context.locate("/a", BLOCK));
    answer();
    assertEquals(0, client.located);
    assertEquals(1, seen.locatedBlockCount()); // is known as long as somebody has it
  }

  /** The builder alone: the reader waits for nobody, and a later one knows. */
  @Test
  public void aStockFileSystemsNameNodeIsAskedInAnotherThread() {
    FileSystemContext context = stock();
    assertNull(context.locate("/a", BLOCK));
    assertEquals("nobody has asked yet", 0, client.located);
    assertNull(context.locate("/a", BLOCK));
    assertEquals("one call at a time", 1, heldBack.size());
    answer();
    assertSame(client.block, context.locate("/a", BLOCK).block());
    answer();
    assertEquals(1, client.located);
  }

  @Test
  public void anOldAnswerHoldsWhileThereIsNoNewOne() {
    FileSystemContext context = stock();
    context.locate("/a", BLOCK);
    answer();
    clock.pass(60_000);
    client.down = true;
    assertNotNull("the old one", context.locate("/a", BLOCK));
    answer();
    assertEquals("it was asked again", 2, client.located);
    assertNotNull(context.locate("/a", BLOCK));
    client.down = false;
    client.block = Reads.located(BLOCK, Reads.ELSEWHERE, "DS-2");
    clock.pass(60_000);
    context.locate("/a", BLOCK);
    answer();
    assertSame(client.block, context.locate("/a", BLOCK).block());
  }

  @Test
  public void aNameNodeThatDoesNotKnowIsAskedOnceASecond() {
    client.down = true;
    FileSystemContext context = stock();
    for (int i = 0; i < 10; i++) {
      assertNull(context.locate("/a", BLOCK));
      answer();
    }
    assertEquals(1, client.located);
    clock.pass(1_000);
    context.locate("/a", BLOCK);
    answer();
    assertEquals(2, client.located);
  }

  @Test
  public void whatIsNotKnownOfEncryptionIsRequired() {
    FileSystemContext context = observed();
    assertTrue(context.encryptionRequired());
    context.keepServerDefaults();
    assertTrue("not answered yet", context.encryptionRequired());
    answer();
    assertFalse(context.encryptionRequired());
    client.encrypts = true;
    clock.pass(HOUR_MS);
    context.keepServerDefaults();
    answer();
    assertTrue(context.encryptionRequired());
  }

  /** As often as a stock client asks, which keeps the answer for an hour. */
  @Test
  public void serverDefaultsAreKeptForAnHour() {
    FileSystemContext context = observed();
    for (int i = 0; i < 10; i++) {
      context.keepServerDefaults();
      answer();
    }
    assertEquals(1, client.defaults);
    clock.pass(HOUR_MS);
    client.down = true;
    context.keepServerDefaults();
    answer();
    context.keepServerDefaults();
    answer();
    assertEquals("once more, in vain", 2, client.defaults);
    client.down = false;
    clock.pass(10_000);
    context.keepServerDefaults();
    answer();
    assertEquals(3, client.defaults);
  }

  @Test
  public void withoutAClientThereIsNoStockReader() {
    BlockLocation location = Reads.location(BLOCK, Reads.ELSEWHERE, "DS-1");
    Configuration conf = new Configuration(false);
    assertNull(StockOpener.of(stock(), conf, "/a", location));
    assertNull(StockOpener.of(observed(), conf, "/a", null));
    assertNull("no datanode", StockOpener.of(observed(), conf, "/a", Reads.location(BLOCK, "")));
    assertNotNull(StockOpener.of(observed(), conf, "/a", location));
  }
}
