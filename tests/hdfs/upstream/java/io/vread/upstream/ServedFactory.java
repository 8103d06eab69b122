// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.upstream;

import io.vread.datanode.TestTools;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.DataStorage;
import org.apache.hadoop.hdfs.server.datanode.StorageLocation;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;

/**
 * vRead's publisher, but first vreadd is told of the datanode: Hadoop's tests make data directories
 * in folders with random names. This class does what an operator would do: a section in vread.conf,
 * and a reload. A datanode whose directories are not on the image is not served.
 */
public final class ServedFactory extends FsDatasetSpi.Factory<FsDatasetSpi<?>> {
  private static final String PREFIX = "io.vread.upstream.";
  private static final Set<String> KNOWN = new HashSet<>();

  @Override
  public FsDatasetSpi<?> newInstance(DataNode datanode, DataStorage storage, Configuration conf)
      throws IOException {
    serve(conf);
    return TestTools.quickFactory().newInstance(datanode, storage, conf);
  }

  private static void serve(Configuration conf) throws IOException {
    Path mountPoint = Paths.get(conf.get(PREFIX + "mount-point"));
    List<String> fresh = new ArrayList<>();
    synchronized (KNOWN) {
      for (StorageLocation location : DataNode.getStorageLocations(conf)) {
        Path path = Paths.get(location.getUri().getPath());
        if (path.startsWith(mountPoint) && KNOWN.add(path.toString())) {
          fresh.add("/" + mountPoint.relativize(path));
        }
      }
      if (!fresh.isEmpty()) {
        configure(conf, fresh);
      }
    }
  }

  private static void configure(Configuration conf, List<String> dataDirs) throws IOException {
    String section =
        String.format(
            "[datanode dn%d]\nimage = %s\ndata-dirs = %s\n",
            KNOWN.size(), conf.get(PREFIX + "image"), String.join(" ", dataDirs));
    Path config = Paths.get(conf.get(PREFIX + "config"));
    Files.write(config, section.getBytes(StandardCharsets.UTF_8), StandardOpenOption.APPEND);
    reload(Paths.get(conf.get(PREFIX + "control-socket")));
  }

  private static void reload(Path controlSocket) throws IOException {
    StringBuilder answer = new StringBuilder();
    try (SocketChannel socket = SocketChannel.open(UnixDomainSocketAddress.of(controlSocket))) {
      socket.write(ByteBuffer.wrap("{\"command\":\"reload\"}\n".getBytes(StandardCharsets.UTF_8)));
      ByteBuffer piece = ByteBuffer.allocate(4096);
      while (socket.read(piece) >= 0) {
        answer.append(StandardCharsets.UTF_8.decode(piece.flip()));
        piece.clear();
      }
    }
    if (answer.indexOf("\"error\"") >= 0) {
      throw new IOException("vreadd: reload: " + answer);
    }
  }
}
