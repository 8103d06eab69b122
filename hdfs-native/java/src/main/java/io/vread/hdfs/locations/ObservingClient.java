// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import io.vread.hdfs.VreadReplicaAccessorBuilder;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.client.HdfsClientConfigKeys;
import org.apache.hadoop.hdfs.protocol.HdfsLocatedFileStatus;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;

/**
 * A DFSClient that shows the block locations in each answer of its NameNode to its {@link
 * FileSystemContext}. It asks nothing by itself, and changes no answer.
 *
 * <p>The stock client hands its Configuration object to each replica accessor builder. This client
 * has one of its own ({@link OwnConfiguration}), which carries the context. So a builder knows the
 * file system for which it reads, without a guess.
 *
 * <p>Not final, because DFSClient is not: tests of programs spy on the client of their file system.
 */
public class ObservingClient extends DFSClient {
  private static final String BUILDERS =
      HdfsClientConfigKeys.REPLICA_ACCESSOR_BUILDER_CLASSES_KEY;

  /** The configuration of one client, which has vRead's builder unless another one is named. */
  static final class OwnConfiguration extends ConfigurationCopy {
    private final FileSystemContext context;

    OwnConfiguration(Configuration conf, FileSystemContext context) {
      super(conf);
      this.context = context;
      if (getTrimmed(BUILDERS, "").isEmpty()) {
        set(BUILDERS, VreadReplicaAccessorBuilder.class.getName());
      }
    }

    FileSystemContext context() {
      return context;
    }
  }

  private final FileSystemContext context;

  private ObservingClient(
      URI nameNode, OwnConfiguration conf, FileSystem.Statistics statistics)
      throws IOException {
    super(nameNode, conf, statistics);
    context = conf.context();
  }

  public static DFSClient make(URI nameNode, Configuration conf, FileSystem.Statistics statistics)
      throws IOException {
    FileSystemContext context = FileSystemContext.ofCurrentUser(nameNode);
    ObservingClient client =
        new ObservingClient(nameNode, new OwnConfiguration(conf, context), statistics);
    context.keepDefaultsFor(conf);
    context.use(client);
    return client;
  }

  /** The application opens the file with locations that it has. */
  public void learn(String file, LocatedBlocks blocks) {
    context.learn(file, blocks);
  }

  @Override
  public LocatedBlocks getLocatedBlocks(String file, long start, long length)
      throws IOException {
    LocatedBlocks blocks = super.getLocatedBlocks(file, start, length);
    context.learn(file, blocks);
    return blocks;
  }

  /** An open by path handle has its locations from this answer. */
  @Override
  public HdfsLocatedFileStatus getLocatedFileInfo(String file, boolean needBlockToken)
      throws IOException {
    HdfsLocatedFileStatus status = super.getLocatedFileInfo(file, needBlockToken);
    if (status != null) {
      context.learn(file, status.getLocatedBlocks());
    }
    return status;
  }
}
