// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.Clock;
import io.vread.Settings;
import io.vread.hdfs.locations.BlockKey;
import io.vread.hdfs.locations.FileSystemContext;
import io.vread.hdfs.locations.NameNodeCalls;
import io.vread.hdfs.metrics.ClientProcess;
import io.vread.hdfs.read.Client;
import io.vread.hdfs.read.FakeBackend;
import io.vread.hdfs.read.Reads;
import io.vread.hdfs.select.PathProbe;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.ReplicaAccessor;
import org.apache.hadoop.hdfs.client.impl.DfsClientConf;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;

/**
 * A program that reads one block through the plug-in, as its first read. {@link StartTest} runs it
 * in a JVM of its own. The program prints what it finds, a line each, and ends its JVM at once, so
 * that the JVM does nothing more than the first read.
 */
final class StartProgram {
  private static final int LENGTH = 64 << 10;
  /** Longer than any read on a busy machine. */
  private static final long HOUR_MS = 3_600_000;

  private static final BlockKey BLOCK = new BlockKey("nn", "BP-1", 1, 1001);

  private StartProgram() {}

  public static void main(String[] arguments) throws Exception {
    ClientProcess.tickMs = HOUR_MS;
    Configuration conf = new Configuration(false);
    conf.set(
        "dfs.client.replica.accessor.builder.classes",
        VreadReplicaAccessorBuilder.class.getName());
    say("builders: " + new DfsClientConf(conf).getReplicaAccessorBuilderClasses().size());
    VreadReplicaAccessorBuilder builder = builder(conf);
    say("threads before: " + threads());
    say("without a library: " + builder.build());
    Settings settings = Settings.of(conf);
    ClientProcess process = ClientProcess.get();
    FakeBackend backend = new FakeBackend();
    backend.blocks.put(BLOCK, new FakeBackend.Block(LENGTH));
    Client client =
        new Client(settings, backend, process.daemon(), Clock.SYSTEM, 30_000, process.statistics());
    FileSystemContext context =
        new FileSystemContext("nn", null, null, Clock.SYSTEM, NameNodeCalls.ofProcess());
    LocatedBlocks answer = Reads.answer(Reads.located(BLOCK, Reads.ELSEWHERE, "DS-1"));
    context.learn("/file", answer);
    ReplicaAccessor reader = builder.build(settings, context, client, false, PathProbe.OF_PROCESS);
    say("locations: " + answer.locatedBlockCount()); // they are known as long as somebody has them
    byte[] read = new byte[LENGTH];
    say("bytes: " + reader.read(0, read, 0, LENGTH));
    say("right: " + Arrays.equals(new FakeBackend.Block(LENGTH).content, read));
    say("threads after: " + threads());
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  private static VreadReplicaAccessorBuilder builder(Configuration conf) {
    VreadReplicaAccessorBuilder builder = new VreadReplicaAccessorBuilder();
    builder
        .setFileName("/file")
        .setBlock(BLOCK.id(), BLOCK.pool())
        .setGenerationStamp(BLOCK.generationStamp())
        .setVisibleLength(LENGTH)
        .setBlockAccessToken(new byte[4])
        .setAllowShortCircuitReads(true)
        .setConfiguration(conf);
    return builder;
  }

  private static void say(String line) {
    System.out.println("\nstart: " + line);
  }

  private static Set<String> threads() {
    Set<String> names = new TreeSet<>();
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().startsWith("vread")) {
        names.add(thread.getName());
      }
    }
    return names;
  }
}
